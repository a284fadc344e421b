// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps numbers to values, for tables of what comes and goes with each operation: all lie in one array, so that nothing
// is allocated and freed for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace omptool {

// Takes numbers other than 0. The pointers and references that it returns are good until the next call that is not
// const.
template <typename T> class NumberMap {
public:
  // Finds the value of a number. Returns null if there is none.
  const T* find(std::uintptr_t number) const {
    const Place& place = places_[place_of(number)];
    return number != 0 && place.number == number ? &place.value : nullptr;
  }
  // Adds a value where it has none.
  T& operator[](std::uintptr_t number) {
    if (2 * (count_ + 1) > places_.size())
      grow();
    Place& place = places_[place_of(number)];
    if (place.number == 0)
      ++count_;
    place.number = number;
    return place.value;
  }
  // Returns the value, which is not in the map any more; or a value of none.
  T take(std::uintptr_t number) {
    std::size_t hole = place_of(number);
    if (number == 0 || places_[hole].number != number)
      return {};
    T taken = std::move(places_[hole].value);
    for (std::size_t at = next(hole); places_[at].number != 0; at = next(at))
      if (distance(first_place(places_[at].number), at) >= distance(hole, at)) { // it would not be found behind a hole
        places_[hole] = std::move(places_[at]);
        hole = at;
      }
    places_[hole] = {};
    --count_;
    return taken;
  }

private:
  struct Place {
    std::uintptr_t number = 0; // 0: it is free
    T value = {};
  };

  static constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;
  static constexpr unsigned kFirstBits = 6;

  // Numbers that are equally far apart, as counted ones and addresses are, lie evenly apart here.
  std::size_t first_place(std::uintptr_t number) const {
    return static_cast<std::size_t>((number * kGoldenRatio) >> shift_);
  }
  std::size_t next(std::size_t place) const { return (place + 1) & (places_.size() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const { return (to - from) & (places_.size() - 1); }
  // Returns the place of the number, or the place to insert it.
  std::size_t place_of(std::uintptr_t number) const {
    std::size_t at = first_place(number);
    while (places_[at].number != 0 && places_[at].number != number)
      at = next(at);
    return at;
  }
  void grow() {
    --shift_;
    std::vector<Place> before(2 * places_.size());
    before.swap(places_);
    for (Place& place : before)
      if (place.number != 0)
        places_[place_of(place.number)] = std::move(place);
  }

  std::vector<Place> places_ = std::vector<Place>(std::size_t{1} << kFirstBits); // a power of two; half are free
  unsigned shift_ = 64 - kFirstBits;                                             // its logarithm less than 64
  std::size_t count_ = 0;
};

} // namespace omptool
