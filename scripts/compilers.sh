#!/usr/bin/env bash
# Unpacks older clangs under build/compilers for tests/test_openmp.py: their packages cannot be
# installed beside clang-19. Where the distribution has none, says so; the tests then skip them.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/compilers

unpack() {  # unpack VERSION
  local version=$1 into=$folder/$1 packages debs
  [ -x "$into/usr/lib/llvm-$version/bin/clang" ] && return
  packages=(clang-"$version" clang-tools-"$version" libclang-common-"$version"-dev libclang-cpp"$version"
    libllvm"$version" libomp-"$version"-dev libomp5-"$version")
  debs=$(mktemp -d)
  if ! (cd "$debs" && apt-get download -qq "${packages[@]}" >log 2>&1); then
    echo "clang-$version is not tested: $(grep -m1 '^E:' "$debs/log" || echo 'no apt-get here')"
    rm -rf "$debs"
    return
  fi
  echo "unpacking: clang-$version"
  rm -rf "$into"
  mkdir -p "$into"
  for deb in "$debs"/*.deb; do
    dpkg -x "$deb" "$into"
  done
  rm -rf "$debs"
}

for version in 14 16; do
  unpack "$version"
done
