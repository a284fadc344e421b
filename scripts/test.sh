#!/usr/bin/env bash
# Every check of `make test`, each a phase with its time. All run, so that one report names all faults.
# Usage: test.sh [all]   (all: the exhaustive sweeps too)
set -uo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
export PATH=$bin:$PATH
every=()
[ "${1:-}" = all ] && every=(-m '')  # what pyproject.toml leaves out
summary=()
failed=0

phase() {  # phase NAME COMMAND...
  local name=$1 start=$SECONDS verdict=passed
  shift
  printf '\n== %s\n' "$name"
  "$@" || { verdict=FAILED; failed=1; }
  summary+=("$(printf '%-34s %-7s %4d s' "$name" "$verdict" $((SECONDS - start)))")
}

runtime_tests() {  # runtime_tests NAME [CMAKE_OPTION...]
  local build=build/test-$1
  shift
  cmake -S runtime -B "$build" -G Ninja -DOMPTOOL_TESTS=ON "$@" >"$build.log" 2>&1 &&
    cmake --build "$build" >>"$build.log" 2>&1 || { tail -n 40 "$build.log"; return 1; }
  ctest --test-dir "$build" --output-on-failure
}

mkdir -p build
phase 'ruff' ruff check .
phase 'ruff format' ruff format --check .
phase 'mypy --strict' mypy
phase 'clang-format' bash -c 'git ls-files "runtime/*.cpp" "runtime/*.h" | xargs clang-format-19 --dry-run -Werror'
phase 'runtime' runtime_tests plain
phase 'runtime, address + undefined' runtime_tests asan -DOMPTOOL_SANITIZE=address,undefined -DCMAKE_CXX_COMPILER=clang++-19
phase 'runtime, thread' runtime_tests tsan -DOMPTOOL_SANITIZE=thread -DCMAKE_CXX_COMPILER=clang++-19
phase 'pytest' pytest "${every[@]}"

printf '\n== where the time went\n'
printf '%s\n' "${summary[@]}"
exit $failed
