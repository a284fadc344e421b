#!/usr/bin/env bash
# Every comparison of bench/, one after the other. bench/README.md keeps their figures.
set -euo pipefail
cd "$(dirname "$0")/.."
for bench in bench/[a-z]*.py; do
  [ "$bench" = bench/measure.py ] && continue
  printf '\n== %s\n' "$bench"
  python "$bench"
done
