#!/usr/bin/env bash
# Installs the Debian packages that `make demo` or `make test` lacks where it may, and otherwise names what is missing.
# Usage: packages.sh demo|test   (test: what packages.txt lists, too)
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}

has() { command -v "$1" >/dev/null; }

# Not only Debian's: other compilers and Pythons do as well.
missing=()
has "${CXX:-c++}" || has g++ || has clang++ || missing+=(g++)
has cc || missing+=(gcc)
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if [ "$1" = test ]; then
  while read -r package; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done < <(grep -v '^#' packages.txt)
  has ld.gold || missing+=(binutils-gold)  # a part of binutils up to Debian 12
fi

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ] || ! has apt-get; then
    echo "Error: make $1 lacks Debian packages; install them as root: apt-get install ${missing[*]}" >&2
    exit 3
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  packages=()
  for package in "${missing[@]}"; do
    if apt-get install --simulate -qq "$package" >/dev/null 2>&1; then
      packages+=("$package")
    else
      echo "this distribution has no package $package: what needs it is not tested"
    fi
  done
  [ ${#packages[@]} -eq 0 ] || echo "installing: ${packages[*]}"
  apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  echo "Error: omptool needs Python 3.10 or later, and $python is $("$python" -V); make PYTHON=… names another" >&2
  exit 3
fi
