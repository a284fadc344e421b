// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region on its way through a device: its position among the constructs, its copies, its arguments and its kernel,
// its end.
#pragma once

#include "offload/mapping.h"

#include <iterator>
#include <memory>
#include <string>

namespace omptool {

// Maps, runs the resolved kernel, unmaps, and waits for it all. False, and why: the region has to run on the host, and
// nothing of it is left on the device. Ends the program when the device fails once the kernel is running.
[[nodiscard]] bool run_on_device(Device& device, const Kernel& kernel, const Resolved& there, Rows rows,
                                 const AskedShape& shape, std::string& reason);

// The arguments of a launch, in the form in which its kernel takes them. They stay until the kernel has ended.
class Arguments {
public:
  // Of at most `rows`.
  Arguments(Passing how, std::size_t rows) : how_(how) {
    const std::size_t wanted = 2 * rows + 3; // as an array: the most
    if (wanted > std::size(room_)) [[unlikely]]
      words_ = (large_ = std::make_unique<void*[]>(wanted)).get();
    first_ = last_ = words_ + 1;
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  void*& add() { return *last_++; }
  // After the last one.
  void complete() {
    if (how_ == Passing::kPlain)
      return;
    void* const nothing = reinterpret_cast<void*>(~std::uintptr_t{0}); // no environment, as LLVM says it
    if (how_ == Passing::kFirst)
      *--first_ = nothing;
    else
      *last_++ = nothing;
    if (how_ == Passing::kArray)
      make_array();
  }
  // Return what the plugin is given.
  void** data() const { return first_; }
  std::int32_t count() const { return static_cast<std::int32_t>(last_ - first_); }

private:
  // The addresses come behind the words, and theirs is all that is passed.
  void make_array() {
    void** const addresses = last_;
    for (void** word = first_; word != addresses; ++word)
      *last_++ = word;
    words_[0] = addresses;
    first_ = words_;
    last_ = words_ + 1;
  }

  const Passing how_;
  void* room_[34]; // one word before the arguments, and one behind them; as many addresses
  std::unique_ptr<void*[]> large_;
  void** words_ = room_;
  void** first_;
  void** last_; // behind it
};

class Region final : public MappingConstruct {
public:
  // All that is named here has to live as long as this. Of a call that returns before (kLater), the region's objects
  // are released when it is placed, though they are used until finish().
  Region(Device& device, const Kernel& kernel, const Resolved& there, Rows rows, const AskedShape& shape, Waits waits)
      : MappingConstruct(device, rows, waits, &kernel.name), kernel_(kernel), there_(there), shape_(shape),
        copies_(mapped_.flags & kPrivate ? rows.size() : 0), arguments_(there.how.how, rows.size()) {}
  ~Region() override { release_private(); }

  bool resolve(const Placed&, std::string& reason) override;
  std::optional<HandedOver> hand_over(Placed, std::string& reason) override;
  void abandon(Placed) override;
  void finish(HandedOver) override;
  bool fail(HandedOver, const std::string& failure, std::string& reason) override;
  std::string name() const override { return "region " + kernel_.title(); }

private:
  std::vector<HostRange> globals() const override { return kernel_.globals(); }
  bool fill(std::string& reason);
  bool run(std::string& reason);
  bool bring_up_to_date(std::uint64_t noted, std::string& reason);
  bool take_back(std::int32_t result, std::uint64_t noted, std::string& reason);
  bool resolve_arguments(std::string& reason);
  bool allocate_private(std::size_t index, void*& argument);
  bool fill_private(std::string& reason);
  void* pointee(const Row& row, const Argument& argument) const;
  bool attach_private(const void* cell, void* value);
  [[gnu::always_inline]] void release_private() {
    if (copies_.size() != 0)
      release_all_private();
  }
  void release_all_private();
  void leave();

  const Kernel& kernel_;
  const Resolved& there_;
  const AskedShape& shape_;
  // Device memory of a kPrivate row.
  struct PrivateCopy {
    std::byte* device;
    const void* host;
    std::int64_t size;
  };
  PerRow<PrivateCopy> copies_; // of each row, if there are any
  Arguments arguments_;
  bool is_resolved_ = false;
};

} // namespace omptool
