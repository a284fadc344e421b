// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/full/instruction.h"

namespace omptool::check {

#if defined(__x86_64__)

namespace {

bool is_prefix(std::uint8_t byte) {
  switch (byte) {
  case 0x26: // segments
  case 0x2e:
  case 0x36:
  case 0x3e:
  case 0x64:
  case 0x65:
  case 0x66: // sizes
  case 0x67:
  case 0xf0: // lock
  case 0xf2: // repeat
  case 0xf3:
    return true;
  default:
    return byte >= 0x40 && byte <= 0x4f; // REX
  }
}

// Returns whether a long opcode, behind 0x0f, uses memory.
bool long_opcode_uses(const std::uint8_t* code) {
  const unsigned field = code[1] >> 3 & 7U;
  switch (code[0]) {
  case 0xa4: // shld
  case 0xa5:
  case 0xab: // bts
  case 0xac: // shrd
  case 0xad:
  case 0xb0: // cmpxchg
  case 0xb1:
  case 0xb3: // btr
  case 0xbb: // btc
  case 0xc0: // xadd
  case 0xc1:
    return true;
  case 0xba: // bts, btr and btc with a number
    return field >= 5;
  case 0xc7: // cmpxchg8b
    return field == 1;
  default:
    return false;
  }
}

} // namespace

// Returns whether an instruction also uses the memory that it writes (Intel's manual, volume 2, appendix A).
bool uses_what_it_writes(const std::uint8_t* code) {
  while (is_prefix(*code))
    ++code;
  const unsigned field = code[1] >> 3 & 7U; // the rest of the opcode, where it has one
  switch (code[0]) {
  case 0x0f:
    return long_opcode_uses(code + 1);
  case 0x80: // arithmetic with a number
  case 0x81:
  case 0x83:
  case 0xc0: // shifts
  case 0xc1:
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3:
    return true;
  case 0xf6: // not, neg
  case 0xf7:
    return field == 2 || field == 3;
  case 0xfe: // inc, dec
  case 0xff:
    return field < 2;
  default: // arithmetic with a register
    return code[0] < 0x32 && (code[0] & 7U) < 2;
  }
}

#else

// Loads and stores are instructions of their own.
bool uses_what_it_writes(const std::uint8_t*) {
  return false;
}

#endif

} // namespace omptool::check
