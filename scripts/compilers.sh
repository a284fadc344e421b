#!/usr/bin/env bash
# Unpacks other clangs, with their runtimes, under build/compilers for tests and benchmarks: their
# packages cannot be installed beside clang-19. And GCC's compiler for AMD's GPUs (gcn), which every
# gcc would use if it were installed. Where the distribution has none, says so; the tests then skip
# them (in CI they fail).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/compilers

packages_of() {  # packages_of VERSION
  local common=(clang-"$1" clang-tools-"$1" libclang-common-"$1"-dev libclang-cpp"$1" libllvm"$1" libomp-"$1"-dev)
  case $1 in
    22) echo "${common[@]}" llvm-22 llvm-22-linker-tools liboffload-22 liboffload-22-dev libomp5-19 ;;
    14) echo "${common[@]}" libomp5-14 llvm-14 ;;
    gcn) echo gcc-12-offload-amdgcn libgomp-plugin-amdgcn1 ;;
    *) echo "${common[@]}" libomp5-"$1" ;;
  esac
}

download() {  # download FOLDER PACKAGE...: what apt-get says is in FOLDER/log
  (cd "$1" && apt-get download -qq "${@:2}" >log 2>&1)
}

unpack() {  # unpack VERSION; package lists of long ago, or none, are renewed
  local version=$1 into=$folder/$1 packages debs
  read -ra packages <<<"$(packages_of "$version")"
  [ "$(cat "$into/.complete" 2>/dev/null)" = "${packages[*]}" ] && return
  debs=$(mktemp -d)
  if ! download "$debs" "${packages[@]}" && ! { apt-get update -qq 2>/dev/null && download "$debs" "${packages[@]}"; }; then
    echo "compiler $version is not tested: $(grep -m1 '^E:' "$debs/log" || echo 'no apt-get here')"
    rm -rf "$debs"
    return
  fi
  echo "unpacking: compiler $version"
  rm -rf "$into"
  mkdir -p "$into"
  for deb in "$debs"/*.deb; do
    dpkg -x "$deb" "$into"
  done
  echo "${packages[*]}" >"$into/.complete"
  rm -rf "$debs"
}

link_amd_tools() {  # what amdgcn-tools links to LLVM 13's; later assemblers than 14's refuse GCC 12's code
  local bin=$folder/gcn/usr/amdgcn-amdhsa/bin tool
  mkdir -p "$bin"
  ln -sf /usr/lib/llvm-19/bin/lld "$bin/ld"
  for tool in as:llvm-mc ar:llvm-ar nm:llvm-nm ranlib:llvm-ranlib; do
    ln -sf "../../../../14/usr/lib/llvm-14/bin/${tool#*:}" "$bin/${tool%:*}"
  done
}

for version in 14 16 22 gcn; do
  unpack "$version"
done
link_amd_tools
