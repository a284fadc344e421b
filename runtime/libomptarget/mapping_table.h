// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which host memory has a copy on one device. The table knows nothing of copies or of threads: its
// user holds a lock, and decides what moves.
#pragma once

#include "device_memory.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace omptool {

struct HostRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0; // one past the last byte

  static HostRange of(const void* address, std::int64_t size) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address);
    return {begin, begin + static_cast<std::uintptr_t>(size)};
  }
  std::int64_t size() const { return static_cast<std::int64_t>(end - begin); }
  void* address() const { return reinterpret_cast<void*>(begin); }
  bool contains(HostRange other) const { return begin <= other.begin && other.end <= end; }
  bool overlaps(HostRange other) const { return begin < other.end && other.begin < end; }
};

// A pointer inside a mapped object whose device value is an address of the device. Copies of the
// object in either direction leave it alone.
struct AttachedPointer {
  std::uintptr_t cell = 0;      // host address of the pointer
  void* device_value = nullptr; // what the device's copy holds
  std::uintptr_t pointee = 0;   // the host value at the time
  bool arrived = true;          // false: the device did not take it
};

struct Mapping {
  // An object appears when its first reference does, is filled by the call that created it, and
  // goes when the call that drops the last reference has copied it back.
  enum class State { kCreating, kReady, kLeaving };

  Mapping(HostRange range, std::byte* device_begin, const DeviceMemory* memory)
      : host(range), device(device_begin), owner(memory), base(range.begin) {}
  ~Mapping() {
    if (owner && device)
      owner->release(device - padding, host.address(), host.size(), released_by);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* at(std::uintptr_t address) const { return device + (address - host.begin); }

  const HostRange host;
  std::byte* device;          // null: the device had no memory for it, host only
  const DeviceMemory* owner;  // null: somebody else's memory (globals, omp_target_associate_ptr)
  std::ptrdiff_t padding = 0; // device memory before `device`, so that members are aligned as on the host
  std::uintptr_t base;        // what the program's pointer to the object was: host.begin or before it
  std::int64_t references = 0;
  std::int64_t holds = 0; // references that only their own construct gives up
  bool infinite = false;  // never released by counting
  bool own_value = false; // the device's copy holds something else than the host's: nothing is copied
  State state = State::kReady;
  const void* creator = nullptr;         // while kCreating: the call that fills it
  bool unusable = false;                 // no region that names it can run on the device
  bool host_current = false;             // a region fell back: the host's copy is the newer one
  bool written = false;                  // the host's data has been copied to the device
  std::uint64_t born = 0;                // the device's activity when it was created
  std::string name;                      // of a global variable
  std::string released_by;               // the region that dropped the last reference, if a region did
  std::vector<AttachedPointer> pointers; // by cell
  bool hull = false;                     // memory around the mapped parts of a struct; the holes hold nothing
  std::vector<HostRange> parts;          // of a hull: what the program maps
};

enum class Overlap { kNone, kWhole, kPartial };

struct Lookup {
  Overlap overlap = Overlap::kNone;
  std::shared_ptr<Mapping> mapping; // for kPartial: one of those it overlaps
};

class MappingTable {
public:
  // How an object of at least one byte lies to what is mapped.
  Lookup find(HostRange wanted) const;
  // The mapping that holds the byte at `address`, or null.
  std::shared_ptr<Mapping> find(const void* address) const;
  // The mapping that a section of no bytes at `address` belongs to: the one that holds the byte, or
  // the next one if the address is a base pointer of it. Null: neither.
  std::shared_ptr<Mapping> find_section(const void* address) const;
  // Every mapping that shares a byte with `range`, by address.
  std::vector<std::shared_ptr<Mapping>> overlapping(HostRange range) const;
  struct DeviceRange {
    std::uintptr_t begin;
    std::size_t size;
  };
  // Every mapping whose device memory shares a byte with `range`; looks at all of them.
  std::vector<std::shared_ptr<Mapping>> on_device(DeviceRange range) const;
  // The caller has made sure that nothing overlaps it.
  void insert(const std::shared_ptr<Mapping>& mapping) { by_begin_.emplace(mapping->host.begin, mapping); }
  void erase(const Mapping& mapping) { by_begin_.erase(mapping.host.begin); }
  std::size_t size() const { return by_begin_.size(); }

private:
  std::map<std::uintptr_t, std::shared_ptr<Mapping>> by_begin_;
};

} // namespace omptool
