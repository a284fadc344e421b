// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The three binary interfaces that MPIs have: of Open MPI 4 and 5, of MPICH (and Intel MPI, MVAPICH, Cray's), and the
// standard one of MPI 5. They differ in their handles, in the layout of a status, and in constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

namespace omptool::mpi {

// OpenMPI: its handles are addresses of objects in the library.
struct OpenMpi {
  using Handle = void*;
  struct Status {
    int source, tag, error, cancelled;
    std::size_t count;
  };
  static constexpr int kAnySource = -1, kAppnum = 4;
  static constexpr std::array<int, 4> kLevels{0, 1, 2, 3};
  static constexpr std::uintptr_t kIgnored = 0;

  Handle world = nullptr, self = nullptr, byte = nullptr, errors_return = nullptr;
  bool find(void* library) {
    world = ::dlsym(library, "ompi_mpi_comm_world");
    self = ::dlsym(library, "ompi_mpi_comm_self");
    byte = ::dlsym(library, "ompi_mpi_byte");
    errors_return = ::dlsym(library, "ompi_mpi_errors_return");
    return world && self && byte && errors_return;
  }
};

struct Mpich {
  using Handle = int;
  struct Status {
    int count_low, count_high, source, tag, error;
  };
  static constexpr int kAnySource = -2, kAppnum = 0x6440000d;
  static constexpr std::array<int, 4> kLevels{0, 1, 2, 3};
  static constexpr std::uintptr_t kIgnored = 1;

  Handle world = 0x44000000, self = 0x44000001, byte = 0x4c00010d, errors_return = 0x54000001;
  bool find(void*) { return true; }
};

struct Standard {
  using Handle = void*;
  struct Status {
    int source, tag, error, internal[5];
  };
  static constexpr int kAnySource = -1, kAppnum = 505;
  static constexpr std::array<int, 4> kLevels{0, 1024, 2048, 4096};
  static constexpr std::uintptr_t kIgnored = 0;

  Handle world = handle(0x101), self = handle(0x102), byte = handle(0x247), errors_return = handle(0x143);
  bool find(void*) { return true; }

private:
  static Handle handle(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }
};

} // namespace omptool::mpi
