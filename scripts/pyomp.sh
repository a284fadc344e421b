#!/usr/bin/env bash
# Installs PyOMP, OpenMP in Python, with what it needs at pinned versions into a virtual environment of its own, build/pyomp.
# What cannot be had is named in a line, and the tests skip it; in CI (CI=true) that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/pyomp
python=$PWD/.venv/bin/python
# NumPy 2.4 and later are for Python 3.11 and later.
packages=(pyomp==0.6.0 numba==0.67.0 llvmlite==0.49.0 cffi==2.1.1 lark==1.3.1 pycparser==3.12 setuptools==84.2.1
  'numpy==2.4.6; python_version >= "3.11"' 'numpy==2.2.6; python_version < "3.11"')
wanted=$("$python" -V && printf '%s\n' "${packages[@]}")

install() {
  # Without ensurepip, which distributions package apart: pip is that of .venv.
  "$python" -m venv --clear --without-pip "$folder" &&
    "$python" -m pip --python "$folder/bin/python" install --quiet --disable-pip-version-check --no-cache-dir \
      --no-deps --only-binary :all: "${packages[@]}"
}

mkdir -p build
exec 9>build/.pyomp.lock
flock 9
[ "$(cat "$folder/.complete" 2>/dev/null)" != "$wanted" ] || exit 0
echo 'installing: PyOMP'
if log=$(install 2>&1); then
  echo "$wanted" >"$folder/.complete"
  exit 0
fi
rm -rf "$folder"
echo "PyOMP is not tested: $(grep -m1 -i '^ERROR:' <<<"$log" || tail -n 1 <<<"$log")"
[ "${CI:-}" != true ]
