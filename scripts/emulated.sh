#!/usr/bin/env bash
# Runs a command where the system starts AArch64's programs by qemu, those that a program starts as well: in a namespace
# of its own, for which Linux 6.7 or later is needed; nothing outside it changes. QEMU_PAGESIZE sets the size of pages.
# Usage: scripts/emulated.sh COMMAND...   (exits with its code, or 3 where the system or this qemu does not allow this)
set -euo pipefail
export QEMU_LD_PREFIX=${QEMU_LD_PREFIX-/usr/aarch64-linux-gnu}
# qemu 7.2 leaves the rest of the last page of the loader unmapped, where glibc has thread-local memory if it fits.
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=131072
if [ "${1-}" != --inside ]; then
  qemu=$(command -v qemu-aarch64) || { echo 'Error: qemu-aarch64 is not here; Debian has it in qemu-user' >&2; exit 3; }
  if [ -n "${QEMU_PAGESIZE-}" ] && "$qemu" --version 2>&1 | grep -q 'cannot change host page size'; then
    echo "Error: this release of qemu has no pages of $QEMU_PAGESIZE bytes; Debian 12's 7.2 does" >&2
    exit 3
  fi
  exec unshare --user --map-root-user --mount "$0" --inside "$qemu" "$@"
fi
qemu=$2
shift 2
formats=/proc/sys/fs/binfmt_misc
elf='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
if ! mount -t binfmt_misc none $formats || ! echo ":aarch64:M::$elf:$mask:$qemu:" >$formats/register; then
  echo 'Error: this system registers no emulator in a namespace; Linux 6.7 and later do' >&2
  exit 3
fi
exec "$@"
