#!/usr/bin/env bash
# The checks of `make check`, `quick`, `test` and `test-all`: stages, of phases that run at once so that every
# core is busy. All run, so that one report names all faults; the last lines say where the time went.
# Usage: test.sh check|quick|test|all   (quick: check without lint; all: the exhaustive sweeps too)
set -uo pipefail
cd "$(dirname "$0")/.."
what=${1:-test}
cores=$(nproc)
at_once=$((cores + 1))  # tests: many of them sleep for a while
bin=$PWD/.venv/bin
logs=build/logs
export PATH=$bin:$PATH TIMEFORMAT='%R %U %S'
# The tests start Python a thousand times: without bytecode each compiles its modules anew.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$PWD/build/bytecode
summary=()
stage=()
every=()
failed=0

timed() {  # timed NAME COMMAND...: its output on stdout; its times beside its log
  local log=$logs/$1
  shift
  { time "$@" 2>&1; } 2>"$log.time"
}

begin() {  # begin NAME COMMAND...: a phase of this stage
  timed "$@" >"$logs/$1.log" &
  stage+=("$1=$!")
}

finish() {  # waits for the stage, and shows what each of its phases said
  local phase
  for phase in "${stage[@]}"; do
    wait "${phase#*=}"
    record "${phase%=*}" $? "$logs/${phase%=*}.log"
  done
  stage=()
}

only() {  # only NAME COMMAND...: a stage of one phase
  begin "$@"
  finish
}

alone() {  # alone NAME COMMAND...: a stage of one phase, whose output is shown at once
  printf '\n== %s\n' "$1"
  timed "$@"
  record "$1" $?
}

record() {  # record NAME STATUS [LOG]
  local verdict=passed wall user system
  [ "$2" -eq 0 ] || { verdict=FAILED; failed=1; }
  [ $# -eq 2 ] || { printf '\n== %s\n' "$1"; cat "$3"; }
  read -r wall user system <"$logs/$1.time"
  summary+=("$(awk -v name="$1" -v verdict=$verdict -v wall="$wall" -v cpu="$user $system" 'BEGIN {
    split(cpu, used); printf "%-32s %-7s %6.0f s %6.0f s", name, verdict, wall, used[1] + used[2] }')")
}

formatted() {
  git ls-files 'runtime/*.cpp' 'runtime/*.h' | xargs clang-format-19 --dry-run -Werror
}

lint() {  # begins a stage
  begin 'ruff' ruff check .
  begin 'ruff format' ruff format --check .
  begin 'codespell' codespell
  begin 'mypy --strict' mypy
  begin 'clang-format' formatted
  begin 'import directions' lint-imports
  begin 'include directions' python scripts/include_directions.py
  begin 'figures of style' python scripts/style_figures.py
}

# The plain runtime is built where the package's is (pyproject.toml), and so compiled once.
plain() { cmake -S . -B build/package -DOMPTOOL_TESTS=ON; }
sanitized() { cmake -S runtime -B "build/$1" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DOMPTOOL_TESTS=ON -DOMPTOOL_SANITIZE="$2"; }

compile() {  # compile FOLDER CONFIGURE...
  local folder=$1 log=$logs/compile-${1##*/}
  shift
  { "$@" && cmake --build "$folder" --target runtime_checks --parallel "$cores"; } >"$log" 2>&1 ||
    { tail -n 40 "$log"; return 1; }
}

crossed() {  # crossed TARGET...: the runtime for AArch64, on which pytest runs programs by qemu, and tests of it
  local log=$logs/compile-aarch64
  { cmake -S runtime -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/scripts/aarch64.cmake" \
      -DOMPTOOL_TESTS=ON -DOMPTOOL_QUICK=ON &&
    cmake --build build/aarch64 --target omptarget omptool_observe omptarget_rtl_host omptool_devicertl_bitcode "$@" \
      --parallel "$cores"; } >"$log" 2>&1 ||
    { tail -n 40 "$log"; return 1; }
}

emulated() {  # emulated PAGE REGEX: tests of the runtime for AArch64, by their names, at pages of so many bytes
  local folder=build/aarch64/pages-$1  # ctest's files of this run
  export QEMU_PAGESIZE=$1
  if [ -z "${CI:-}" ] && ! scripts/emulated.sh true; then
    echo 'not run'
    return
  fi
  mkdir -p "$folder" && echo "subdirs(\"$PWD/build/aarch64\")" >"$folder/CTestTestfile.cmake"
  scripts/emulated.sh ctest --test-dir "$folder" -R "$2" --no-tests=error --output-on-failure --parallel "$cores"
}

units_alone() {  # what needs an include that another unit, or a precompiled header, had for it
  cmake -S runtime -B build/alone -G Ninja -DOMPTOOL_UNITS_ALONE=ON && cmake --build build/alone --parallel "$cores"
}

runtime_tests() {  # runtime_tests FOLDER
  ctest --test-dir "$1" --output-on-failure --parallel $((at_once + 1))
}

rooms=(tests/{packager,omptool,support} tests/test_*.py)
mkdir -p $logs
case $what in
  check | quick)
    [ "$what" = quick ] || lint
    begin 'compile runtime' compile build/package plain
    finish
    begin 'runtime' runtime_tests build/package/runtime
    begin 'quick tests' pytest -n "$cores" -m 'not slow and not exhaustive and not queued' --durations=5 "${rooms[@]}"
    finish
    ;;
  test | all)
    lint
    begin 'compile runtime' compile build/package plain
    finish
    begin 'compile, address + undefined' compile build/asan sanitized asan address,undefined
    begin 'compile, thread' compile build/tsan sanitized tsan thread
    finish
    only 'compile, aarch64' crossed core_tests conformance_tests image_conformance
    # One after the other: each keeps all cores busy, and kernels that wait for others spin.
    only 'runtime' runtime_tests build/package/runtime
    only 'runtime, address + undefined' runtime_tests build/asan
    only 'runtime, thread' runtime_tests build/tsan
    begin 'runtime, aarch64, 4 KiB pages' emulated 4096 '^(core.*|plugin\.host)$'
    begin 'runtime, aarch64, 64 KiB pages' emulated 65536 '^(core.*|plugin\.host)$'
    finish
    if [ "$what" = all ]; then
      only 'compile, units alone' units_alone
      only 'compile, all of aarch64' crossed runtime_checks
      only 'all of aarch64, 4 KiB pages' emulated 4096 '.*'
      only 'all of aarch64, 64 KiB pages' emulated 65536 '.*'
      every=(-m 'not field')
      alone 'long fuzzing' build/asan/tests/wire_fuzzer -max_total_time=120 -artifact_prefix=build/logs/ -verbosity=0
      alone 'long stress' env OMPTOOL_STRESS_PROGRAMS=1000 OMPTOOL_MANY_IMAGES=10000 ctest --test-dir build/package/runtime -R '^stress'
    fi
    alone 'pytest' pytest -n "$at_once" --dist worksteal "${every[@]}"
    ;;
esac

printf '\n== where the time went: on the clock, and of all cores\n'
printf '%s\n' "${summary[@]}" "$(printf '%-32s %-7s %6d s' total '' $SECONDS)"
exit $failed
