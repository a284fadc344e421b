// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/rows.h"

#include "abi/info/info.h"
#include "abi/llvm/attached_places.h"
#include "abi/llvm/compilers.h"
#include "abi/llvm/sections.h"
#include "counted.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace omptool::llvm {
namespace {

constexpr FlagOfBit<std::int64_t> kTranslation[] = {
    {kTypeTo, kTo},         {kTypeFrom, kFrom},       {kTypeAlways, kAlways},
    {kTypeDelete, kDelete}, {kTypePresent, kPresent}, {kTypeImplicit, kImplicit},
    {kTypeHold, kHold},     {kTypeClose, kClose},     {kTypeNullify, kNullIfAbsent},
};

std::uint32_t flags_of(std::int64_t type) {
  return flags_of(type, kTranslation) | kSection | (type & kTypeMemberOf ? 0U : kCounts);
}

// Returns the element that a member is part of, counted from 1; 0: of none.
std::size_t parent_of(std::int64_t type) {
  return static_cast<std::uint64_t>(type & kTypeMemberOf) >> 48;
}

// Returns whether a row only reserves memory for the parts of a struct. A row with `present` reserves none.
bool is_struct(const Arrays& arrays, std::size_t index) {
  constexpr std::int64_t kEnclosing = kTypeParameter | kTypeHold;
  const std::int64_t* const types = arrays.type;
  return !(types[index] & ~kEnclosing) && arrays.begin[index] &&
         std::any_of(types + index + 1, types + arrays.count,
                     [&](std::int64_t type) { return parent_of(type) == index + 1; });
}

// Returns the size that a row reserves. With parts in a base class and in the derived class clang 14 may mistake the
// last part for the first; then the row reserves nothing.
std::int64_t size_of(const Arrays& arrays, std::size_t index) {
  return arrays.size[index] < 0 && is_struct(arrays, index) ? 0 : arrays.size[index];
}

// Returns whether a member of `parent` measures the struct: it is named from the struct's own address. Pointer cells,
// which also lie in other structs, count only if nothing else does: if an array's elements have only their pointers
// mapped.
bool is_measure(const Arrays& arrays, std::size_t parent, std::size_t index, bool cells) {
  constexpr std::int64_t kNoPart = kTypePrivate | kTypeLiteral | kTypeAttach | kTypeNonContiguous;
  const std::int64_t type = arrays.type[index];
  if (parent_of(type) != parent + 1 || (type & kNoPart) || arrays.size[index] <= 0)
    return false;
  return type & kTypePointerAndObject ? cells : arrays.base[index] == arrays.base[parent];
}

// Tells if `part` is no part of the struct of `parent` but the pointer by which the program finds that.
bool leads_there(const Arrays& arrays, std::size_t parent, HostRange part) {
  const auto base = reinterpret_cast<std::uintptr_t>(arrays.base[parent]);
  const auto begin = reinterpret_cast<std::uintptr_t>(arrays.begin[parent]);
  if (part.begin != base || part.size() != sizeof(void*))
    return false;
  const std::uintptr_t pointee = *static_cast<const std::uintptr_t*>(part.address());
  return begin < base || (base < pointee && pointee <= begin);
}

// Adds room where clang measures a struct by too few of its mapped parts: parts of a nested struct, of
// an array's elements or of a base class may lie outside of what it reserves for all (clang 14 to 21; of
// base classes clang 22, too). The kernel finds every part from one address, so one object should have
// them all (decision 30).
void add_reserve(const Arrays& arrays, std::size_t parent, RowList& rows) {
  if (!is_struct(arrays, parent))
    return;
  bool cells = true;
  for (std::size_t i = parent + 1; i < arrays.count; ++i)
    cells = cells && !is_measure(arrays, parent, i, false);
  const HostRange reserved = HostRange::of(arrays.begin[parent], size_of(arrays, parent));
  for (std::size_t i = parent + 1; i < arrays.count; ++i) {
    if (!is_measure(arrays, parent, i, cells))
      continue;
    const HostRange part = arrays.type[i] & kTypePointerAndObject ? HostRange::of(arrays.base[i], sizeof(void*))
                                                                  : HostRange::of(arrays.begin[i], arrays.size[i]);
    if (part.begin < part.end && !reserved.contains(part) && arrays.base[parent] <= part.address() &&
        !leads_there(arrays, parent, part))
      rows.add({arrays.base[parent], part.address(), part.size(), kReserve, nullptr});
  }
}

// Returns whether LIBOMPTARGET_TREAT_ATTACH_AUTO_AS_ALWAYS asks to set each mapped pointer anew, as LLVM 24 does.
bool attaches_always() {
  static const bool always = [] {
    const char* const value = ::secure_getenv("LIBOMPTARGET_TREAT_ATTACH_AUTO_AS_ALWAYS");
    const std::string_view word = value ? value : "";
    return word == "1" || word == "true" || word == "TRUE" || word == "yes" || word == "on";
  }();
  return always;
}

class Translator {
public:
  Translator(Action action, RowList& rows, const void* caller) : action_(action), rows_(rows), caller_(caller) {}

  // Bits of map types that have been passed over.
  std::int64_t unknown_bits() const { return unknown_bits_; }

  // Returns what is wrong with the element, or null.
  const char* add(const Component& element, void** slot) {
    const std::int64_t type = element.type;
    unknown_bits_ |= type & ~known_types(type);
    const bool maps_in = is_region() || action_ == Action::kEnterData;
    if (type & kTypeLiteral) {
      if (is_argument(type))
        rows_.add({element.base, element.begin, 0, kValue | kArgument, nullptr});
      else if (is_region() && (type & kTypePointerAndObject)) // what a lambda captures by reference
        rows_.add({element.base, element.begin, sizeof(void*), kAttach | kAlways | kSection, nullptr});
      return nullptr;
    }
    if (element.size < 0)
      return "has a negative size";
    if (type & kTypePrivate) {
      if (is_argument(type))
        add_private(element);
      return nullptr;
    }
    if (type & kTypeAttach) {
      if (maps_in)
        rows_.add({element.base, element.begin, element.size,
                   (flags_of(type) & kAlways) | (attaches_always() ? kAlways : 0U) | kAttach | kSection, nullptr});
      return nullptr;
    }
    if (type & kTypeNonContiguous)
      return action_ == Action::kUpdate ? add_sections(element) : "is not contiguous, which only updates may be";
    return add_object(element, slot);
  }

  // Adds the components of an element from its user-defined mapper. The kernel's argument and the result of
  // use_device_ptr are the address of the element itself.
  const char* add_mapped(const Component& element, void* mapper, void** slot) {
    using Mapper = void (*)(void* handle, void* base, void* begin, std::int64_t size, std::int64_t type, void* name);
    Components components;
    reinterpret_cast<Mapper>(mapper)(&components, element.base, element.begin, element.size, element.type, nullptr);
    const AttachedPlaces places(components, HostRange::of(element.begin, element.size));
    const bool maps_in = is_region() || action_ == Action::kEnterData;
    const bool returns = slot && (element.type & kTypeReturn);
    for (Component component : components) {
      if (returns && is_place(element) && component.base == element.base)
        leave_place_out(component);
      component.type &= ~(kTypeParameter | kTypeReturn);
      // Mappers combine the clause's direction with their own, but pass on no modifier (OpenMP 5.2, 5.8.3).
      component.type |= element.type & (kTypeAlways | kTypeDelete);
      if (const char* fault = add(component, nullptr))
        return fault;
      if (maps_in)
        for (void* const place : places.beside(component))
          rows_.add({component.base, place, sizeof(void*), kReserve, nullptr});
      if (observe::heard()) [[unlikely]]
        info::name_rows(Rows(rows_).size(), static_cast<const char*>(component.name));
    }
    if (is_argument(element.type))
      add_lookup(element, argument_base(element), nullptr);
    else if (returns && action_ == Action::kEnterData)
      add_lookup(element, argument_base(element), slot);
    return nullptr;
  }

private:
  bool is_region() const { return action_ == Action::kRegion; }
  bool is_argument(std::int64_t type) const { return is_region() && (type & kTypeParameter); }

  void add_private(const Component& element) {
    if (element.type & kTypeAttach) { // a private pointer to what is mapped
      rows_.add({element.base, element.base, element.size, kPrivate | kArgument | kTo, nullptr});
      rows_.add({element.base, element.begin, element.size, kAttach | kAlways | kSection, nullptr});
      return;
    }
    const std::uint32_t to = element.type & kTypeTo ? kTo : 0U;
    rows_.add({element.base, element.begin, element.size, kPrivate | kArgument | to, nullptr});
  }

  // Tells if the base is the place of a pointer, as clang 21 and older pass it for pointers outside of functions.
  static bool is_place(const Component& element) { return (element.type & kTypePointerAndObject) && element.base; }

  // Returns the host address that the kernel's argument stands for.
  static void* argument_base(const Component& element) {
    return is_place(element) ? *static_cast<void**>(element.base) : element.base;
  }

  // Makes the component a section without a pointer. At the end of `target data` the base is no place of a pointer but
  // the device address that use_device_addr has returned.
  static void leave_place_out(Component& component) {
    component.base = component.begin;
    component.type &= ~kTypePointerAndObject;
  }

  // Looks up the object of another row, for the kernel or for `slot`.
  void add_lookup(const Component& element, void* base, void** slot) {
    const std::uint32_t what = slot ? kReturn : kMappedArgument;
    const std::uint32_t if_absent = slot && (element.type & kTypeNullify) ? kNullIfAbsent : 0U;
    rows_.add({base, element.begin, element.size, kSection | kImplicit | what | if_absent, slot});
  }

  const char* add_object(const Component& element, void** slot) {
    const std::int64_t type = element.type;
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(element.begin);
    // At NULL nothing is mapped, and nothing is to be unmapped or updated: the program has cleared its pointer.
    const bool may_be_null = action_ == Action::kExitData || action_ == Action::kUpdate;
    if (element.size > 0 && ((begin == 0 && !may_be_null) || begin + static_cast<std::uintptr_t>(element.size) < begin))
      return "names memory that cannot exist";
    std::uint32_t flags = flags_of(type);
    if (type & kTypeImplicit)
      flags = implicit_flags(flags, begin);
    const bool returns = slot && (type & kTypeReturn);
    if (!(type & kTypePointerAndObject)) {
      if (is_argument(type))
        flags |= kMappedArgument;
      if (returns && action_ == Action::kEnterData)
        flags |= kReturn;
      rows_.add({element.base, element.begin, element.size, flags, slot});
      return nullptr;
    }
    if (action_ == Action::kUpdate || (returns && action_ == Action::kExitData)) {
      // The pointer's own place is not meant; use_device_ptr has put something else there.
      rows_.add({element.begin, element.begin, element.size, flags | kCounts, nullptr});
      return nullptr;
    }
    if (!element.base)
      return "has a pointer and no place for it";
    void* const pointee = *static_cast<void**>(element.base);
    rows_.add({element.base, element.begin, element.size, flags | kPointer, nullptr});
    if (is_argument(type))
      add_lookup(element, pointee, nullptr);
    if (returns && action_ == Action::kEnterData)
      add_lookup(element, pointee, slot);
    return nullptr;
  }

  // `size` counts dimensions, which `begin` points to. One row for each contiguous piece.
  const char* add_sections(const Component& element) {
    constexpr std::int64_t kMostDimensions = 64;
    if (element.size < 1 || element.size > kMostDimensions || !element.begin || !element.base)
      return "has an impossible number of dimensions";
    const Dimensions dimensions(static_cast<const Dimension*>(element.begin), static_cast<std::size_t>(element.size));
    const std::optional<Pieces> pieces = pieces_of(dimensions, [this] { return is_surely_of_23(caller_); });
    if (!pieces)
      return "names memory that cannot exist";
    for (std::uint64_t number = 0; number < pieces->count; ++number) {
      void* const at = static_cast<std::byte*>(element.base) + pieces->offset_of(number);
      rows_.add({at, at, static_cast<std::int64_t>(pieces->size), flags_of(element.type), nullptr});
    }
    return nullptr;
  }

  const Action action_;
  RowList& rows_;
  const void* const caller_;
  std::int64_t unknown_bits_ = 0;
};

} // namespace

RowFault add_other_rows(const Arrays& arrays, std::size_t index, Action action, RowList& rows, const void* caller,
                        std::int64_t& unknown_bits) {
  Translator translator(action, rows, caller);
  const Component element{arrays.base[index], arrays.begin[index], size_of(arrays, index), arrays.type[index]};
  void* const mapper = arrays.mappers ? arrays.mappers[index] : nullptr;
  const char* const fault = mapper ? translator.add_mapped(element, mapper, &arrays.base[index])
                                   : translator.add(element, &arrays.base[index]);
  unknown_bits |= translator.unknown_bits();
  if (!mapper && (action == Action::kRegion || action == Action::kEnterData))
    add_reserve(arrays, index, rows);
  if (observe::heard()) [[unlikely]]
    info::name_rows(Rows(rows).size(), arrays.names ? static_cast<const char*>(arrays.names[index]) : nullptr);
  rows.reserve(arrays.count - index - 1);
  if (!fault)
    return {};
  return {"argument " + std::to_string(index) + " " +
          describe_fault(fault, element.begin, element.size, static_cast<std::uint64_t>(element.type))};
}

RowFault fault_of_arrays(const Arrays& arrays) {
  if (arrays.count > INT32_MAX)
    return {there_are(static_cast<std::int32_t>(arrays.count), "argument")};
  return {there_are(arrays.count, "argument") + ", but not all four arrays"};
}

RowFault fault_of_bits(std::int64_t unknown, const void* caller) {
  char text[64];
  std::snprintf(text, sizeof text, "map-type bits 0x%llx are unknown", static_cast<unsigned long long>(unknown));
  return {of_newer_compiler(text, caller), true};
}

} // namespace omptool::llvm
