#!/usr/bin/env bash
# Tries `make demo`, the quick tests and the wheel in dist/ on machines that have nothing else: Debian 12, 13 and sid, each
# in a folder of build/distributions, which the next run uses again. It needs root, debootstrap, and the Debian mirror
# and the package index that apt and pip have here.
# Usage: test_distributions.sh [SUITE...]
set -euo pipefail
cd "$(dirname "$0")/.."
home=build/distributions
suites=("$@")
[ $# -gt 0 ] || suites=(bookworm trixie sid)
mkdir -p $home
summary=()
failed=0

lacks() { echo "Error: make test-distributions $1" >&2; exit 3; }
[ "$(id -u)" -eq 0 ] || lacks 'needs root: it mounts, and changes its root folder'
command -v debootstrap >/dev/null || lacks 'needs debootstrap: apt-get install debootstrap'
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sed -n 1p)
[ -n "$mirror" ] || lacks 'needs a Debian mirror: apt knows none (or apt-get update has not run)'

# What is already here of this machine's pip: its settings, and the files and local indexes that these name.
settings=(/etc/resolv.conf)
while read -r path; do
  [ ! -e "$path" ] || settings+=("$path")
done < <(
  pip config debug | sed -n 's/^ *\(.*\), exists: True$/\1/p'
  pip config list | grep -oE "(file://)?/[^ ']+" | sed 's,^file://,,; s,/simple$,,'
)

fresh() {  # fresh SUITE: a folder with what a newcomer has, and the sources as they are here
  local root=$home/$1
  if [ ! -e "$root/.complete" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates,g++,make,python3-venv "$1" "$root" "$mirror"
    # A mirror may be a copy of some weeks ago, and sid's lists are valid for one.
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/valid-until"
    touch "$root/.complete"
  fi
  mkdir -p "$root/omptool/dist"
  find "$root/omptool" -mindepth 1 -maxdepth 1 ! -name .venv ! -name build -exec rm -rf {} +
  git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$root/omptool"
  cp -r dist "$root/omptool/"
}

inside() {  # inside SUITE COMMAND: in the sources there, with nothing of this machine's environment but what is pip's
  local variables=() name
  for name in $(compgen -e PIP_); do variables+=("$name=${!name}"); done
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 command=$2 count=$3
    shift 3
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    for path in "${@:1:count}"; do
      mkdir -p "$root$(dirname "$path")"
      if [ -d "$path" ]; then mkdir -p "$root$path"; else touch "$root$path"; fi
      mount --bind "$path" "$root$path"
    done
    exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin "${@:count+1}" \
      bash -c "cd /omptool && $command"' \
    bash "$PWD/$home/$1" "$2" ${#settings[@]} "${settings[@]}" "${variables[@]}"
}

try() {  # try SUITE NAME COMMAND: its output is in a log
  local log=$home/$1-$2.log start=$SECONDS verdict=passed
  printf '== %s: %s\n' "$1" "$2"
  inside "$1" "$3" >"$log" 2>&1 </dev/null || { verdict=FAILED; failed=1; tail -n 40 "$log"; }
  summary+=("$(printf '%-10s %-12s %-7s %5d s  %s' "$1" "$2" $verdict $((SECONDS - start)) \
    "$(grep -oE '^[0-9]+ (passed|failed).* in ' "$log" | sed 's/ in $//' || true)")")
}

for suite in "${suites[@]}"; do
  fresh "$suite" >"$home/$suite-fresh.log" 2>&1 || { cat "$home/$suite-fresh.log"; lacks "got no Debian $suite"; }
  try "$suite" demo 'make demo'
  try "$suite" wheel 'python3 -m venv /wheel && /wheel/bin/pip install --quiet dist/*_$(uname -m).whl && PATH=/wheel/bin:$PATH scripts/demo.sh'
  try "$suite" quick-tests 'make quick'
done
printf '\n== each distribution; logs are in %s\n' $home
printf '%s\n' "${summary[@]}"
exit $failed
