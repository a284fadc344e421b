#!/usr/bin/env bash
# The first commands of README, on a program by clang, if there is one. Then the main job, end to end: lower two kernels
# for two targets, bundle, link, dump, verify, run. Then the kernels of fixtures/portable on every device of this machine.
set -euo pipefail
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bold='' plain=''
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] && bold=$'\033[1m' plain=$'\033[0m'
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; "$@"; }
step() { printf '\n== %s\n' "$*"; }

clang=$(compgen -c | grep -xE 'clang(-[0-9]+)?' | sort -uV | tail -n 1)
if [ -n "$clang" ]; then
  step "A program by $clang whose second region is compiled for the host alone, and what is to be done: ten seconds."
  mkdir heat
  cd heat
  cp "$fixtures"/heat/* .
  say "$clang" -g -O2 -fopenmp -c norm.c
  say omptool cc "$clang" -g -O2 heat.c norm.o -o app
  say omptool doctor --run -- ./app || [ $? = 1 ]
  say omptool cc "$clang" -g -O2 heat.c norm.c -o app
  say omptool doctor --run -- ./app
  say omptool dump app
  say omptool verify app
  say omptool run --summary ./app
  say omptool run --check ./app
  say omptool run --trace trace.json ./app
  say omptool stats trace.json
  say omptool timeline trace.json -o timeline.html
  cd ..
else
  step 'No clang: README has a program by it.'
fi

step 'From LLVM IR to a program that runs on a device: some ten seconds.'
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

step 'Portable kernels, one executable, every device of this machine: some ten seconds more.'
cp "$fixtures"/portable/kernels.ll "$fixtures"/portable/host.c .
# In the order of the plugins' names, as `omptool devices` numbers their devices.
images=()
for target in nvptx64-nvidia-cuda:sm_75 x86_64-pc-linux-gnu spirv64-unknown-unknown; do
  triple=${target%%:*}
  [ "$triple" = "$target" ] && cpu=() || cpu=(--cpu "${target#*:}")
  say omptool lower kernels.ll --triple "$triple" "${cpu[@]}" -o "$triple.image"
  images+=(--image "$target=$triple.image")
done
say cc -O2 -I"$(omptool config --includedir)" -c host.c -o host.o
say omptool bundle host.o "${images[@]}" -o bundled.o
say cc bundled.o -L"$(omptool config --libdir)" -lomptarget -lm -o portable

devices() {  # devices: a line for each, of its number, its plugin and its name
  omptool devices --json | python3 -c '
import json, sys
for plugin in json.load(sys.stdin)["plugins"]:
    for device in plugin["devices"]:
        print(device["number"], plugin["name"], device["name"] or "without a name")'
}
only_host=yes
while read -r number plugin name; do
  printf '\n%s$ omptool run --mandatory --device %s ./portable%s\n' "$bold" "$number" "$plain"
  output=$(omptool run --mandatory --device "$number" ./portable)
  printf 'device %s (%s, %s): %s kernels right\n' "$number" "$plugin" "$name" "$(grep -c '5 of 5 shapes right' <<<"$output")"
  [ "$plugin" = host ] || only_host=
done < <(devices)
[ -z "$only_host" ] || printf '%s\n' 'No GPU, and no driver of OpenCL. One for this CPU:' \
  '  pip install intel-opencl-rt intel-cmplr-lib-rt   # and what docs/plugins.md says of its loader'
