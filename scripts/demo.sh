#!/usr/bin/env bash
# The main job, end to end: lower two kernels for two targets, bundle, link, dump, verify, run.
set -euo pipefail
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bold='' plain=''
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] && bold=$'\033[1m' plain=$'\033[0m'
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; "$@"; }

cp "$fixtures"/two_images/kernels.ll "$fixtures"/two_images/host.c .
say omptool lower kernels.ll --triple x86_64-pc-linux-gnu -o kernels.so
say omptool lower kernels.ll --triple nvptx64-nvidia-cuda --cpu sm_75 -o kernels.ptx
say cc -O2 -I"$(omptool config --includedir)" -c host.c -o host.o
say omptool bundle host.o --image x86_64-pc-linux-gnu=kernels.so \
  --image nvptx64-nvidia-cuda:sm_75=kernels.ptx -o bundled.o
say cc bundled.o -L"$(omptool config --libdir)" -lomptarget -lm -o app
say omptool dump app
say omptool verify app
say omptool run --mandatory --plugin host ./app
