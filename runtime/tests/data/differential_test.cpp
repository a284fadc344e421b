// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random sequences of data calls and regions beside a model of decision 8: which bytes are present, how
// often they are referenced, and what each side holds. The calls find objects in two ways, by where they
// begin and by what they overlap, and the model knows nothing of that.
#include "llvm_calls.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <doctest/doctest.h>
#include <iterator>
#include <map>
#include <random>
#include <string>

using namespace llvm_abi;

namespace {

constexpr std::size_t kBytes = 256;
#if defined(RACES_ARE_SOUGHT)
constexpr unsigned kWalks = 20;
#elif defined(SANITIZED)
constexpr unsigned kWalks = 200;
#else
constexpr unsigned kWalks = 600;
#endif
using Memory = std::array<unsigned char, kBytes>;

alignas(4096) Memory host_memory;

void* mapped(std::size_t offset) {
  using Routine = void* (*)(const void*, int);
  static const Routine routine = reinterpret_cast<Routine>(versioned("omp_get_mapped_ptr"));
  return routine(&host_memory[offset], 0);
}

// A row in offsets of host_memory.
struct Part {
  std::size_t begin, size;
  std::int64_t type;
  bool has(std::int64_t bits) const { return (type & bits) == bits; }
  bool counts() const { return type < kMemberOfFirst; }
  std::size_t end() const { return begin + size; }
};

std::string text_of(const char* call, const std::vector<Part>& parts) {
  std::string text = "\n";
  text += call;
  for (const Part& part : parts) {
    char one[64];
    std::snprintf(one, sizeof one, " [%zu+%zu %llx]", part.begin, part.size,
                  static_cast<unsigned long long>(part.type));
    text += one;
  }
  return text;
}

std::string about(const char* what, std::size_t at) {
  std::string text = what;
  return text += std::to_string(at);
}

class Model {
public:
  struct Object {
    std::size_t begin, end;
    long references = 0, holds = 0;
    bool infinite = false;
    std::map<std::size_t, unsigned char> bytes = {}; // that the device is known to hold
  };
  using Objects = std::map<std::size_t, Object>;

  // The object that holds all of the part, or end(). The present bytes of an implicit part suffice. An empty part
  // belongs to the object around it, or to one that begins there.
  Objects::iterator find(const Part& part) {
    auto at = objects.upper_bound(part.begin);
    const bool inside = at != objects.begin() && part.begin < std::prev(at)->second.end;
    if (inside)
      --at;
    else if (at == objects.end() || part.end() <= at->first)
      return objects.end();
    return part.has(kImplicit) || (inside && part.end() <= at->second.end) ? at : objects.end();
  }
  bool overlaps(const Part& part) const {
    return std::any_of(objects.begin(), objects.end(),
                       [&](const auto& one) { return one.first < part.end() && part.begin < one.second.end; });
  }

  using Bound = std::vector<Object*>;

  Bound begin(const std::vector<Part>& parts) {
    Bound bound(parts.size()), fresh;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].counts())
        continue;
      bound[i] = found(parts[i]);
      if (!bound[i] && parts[i].size > 0) {
        bound[i] = &objects.emplace(parts[i].begin, Object{parts[i].begin, parts[i].end()}).first->second;
        fresh.push_back(bound[i]);
      }
      if (bound[i])
        ++(parts[i].has(kHold) ? bound[i]->holds : bound[i]->references);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].counts())
        bound[i] = found(parts[i]);
      const bool is_new = std::find(fresh.begin(), fresh.end(), bound[i]) != fresh.end();
      if (bound[i] && parts[i].has(kTo) && (is_new || parts[i].has(kAlways)))
        to_device(*bound[i], parts[i]);
    }
    return bound;
  }

  void end(const std::vector<Part>& parts) {
    Bound bound;
    for (const Part& part : parts)
      bound.push_back(found(part));
    end(parts, bound);
  }

  void end(const std::vector<Part>& parts, const Bound& bound) {
    for (std::size_t i = parts.size(); i-- > 0;) {
      if (!bound[i] || (bound[i]->infinite && !parts[i].has(kHold)))
        continue;
      long& count = parts[i].has(kHold) ? bound[i]->holds : bound[i]->references;
      if (parts[i].has(kDelete))
        count = 0;
      else if (parts[i].counts() && count > 0)
        --count;
    }
    const auto leaves = [](const Object& object) {
      return !object.infinite && object.references == 0 && object.holds == 0;
    };
    for (std::size_t i = parts.size(); i-- > 0;)
      if (bound[i] && parts[i].has(kFrom) && (parts[i].has(kAlways) || leaves(*bound[i])))
        to_host(*bound[i], parts[i]);
    std::erase_if(objects, [&](const auto& one) { return leaves(one.second); });
  }

  void update(const std::vector<Part>& parts) {
    for (const Part& part : parts)
      if (const auto at = find(part); at != objects.end()) {
        if (part.has(kTo))
          to_device(at->second, part);
        if (part.has(kFrom))
          to_host(at->second, part);
      }
  }

  Objects objects;
  Memory host{};
  std::array<bool, kBytes> known = all_true(); // false: it came from device memory that nobody has written to

private:
  Object* found(const Part& part) {
    const auto at = find(part);
    return at == objects.end() ? nullptr : &at->second;
  }
  static std::array<bool, kBytes> all_true() {
    std::array<bool, kBytes> all;
    all.fill(true);
    return all;
  }
  void to_device(Object& object, const Part& part) {
    for (std::size_t at = std::max(part.begin, object.begin); at < std::min(part.end(), object.end); ++at)
      if (known[at])
        object.bytes[at] = host[at];
      else
        object.bytes.erase(at);
  }
  void to_host(const Object& object, const Part& part) {
    for (std::size_t at = std::max(part.begin, object.begin); at < std::min(part.end(), object.end); ++at) {
      const auto byte = object.bytes.find(at);
      known[at] = byte != object.bytes.end();
      if (known[at])
        host[at] = byte->second;
    }
  }
};

class Walk {
public:
  explicit Walk(unsigned seed) : random_(seed) {
    for (std::size_t at = 0; at < kBytes; ++at)
      host_memory[at] = model_.host[at] = static_cast<unsigned char>(random_());
  }
  ~Walk() {
    for (const auto& [begin, memory] : associated_)
      disassociate(begin);
    for (const auto& one : Model::Objects(model_.objects))
      call("__tgt_target_data_end_mapper", {{one.first, one.second.end - one.first, kDelete},
                                            {one.first, one.second.end - one.first, kDelete | kHold}});
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // Makes one step and returns what does not hold after it, or "".
  std::string step() {
    write_some();
    switch (below(8)) {
    case 0:
    case 1:
      data_begin();
      break;
    case 2:
    case 3:
      data_end();
      break;
    case 4:
      update();
      break;
    case 5:
      associate();
      break;
    default:
      region();
    }
    std::string fault = compare();
    if (!fault.empty())
      fault += history_;
    return fault;
  }

private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t count) { return below(count) == 0; }

  void write_some() {
    for (std::size_t i = below(4); i > 0; --i) {
      const std::size_t at = below(kBytes);
      host_memory[at] = model_.host[at] = static_cast<unsigned char>(random_());
    }
  }

  // Of an object mostly: programs name the same memory again and again.
  Part anywhere() {
    Part part{kWord * below(kBytes / kWord - 1), 0, 0};
    part.size = std::min(kWord * (1 + below(8)), kBytes - part.begin);
    if (one_in(2))
      part = {64 * below(kBytes / 64), 32, 0};
    if (!model_.objects.empty() && !one_in(4)) {
      auto at = model_.objects.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(model_.objects.size())));
      part.begin = at->first;
      part.size = at->second.end - at->first;
      if (one_in(3)) {
        part.begin += kWord * below(part.size / kWord);
        part.size = std::min(part.size, at->second.end - part.begin);
      }
      if (one_in(4))
        part.size = kWord * (1 + below(part.size / kWord));
    }
    if (one_in(10))
      part.size = 0;
    return part;
  }

  // A struct's member lies in what is reserved for it; abi/llvm/mapping_test.cpp has others.
  static bool may_be_member(const std::vector<Part>& parts, const Part& part) {
    return parts.empty() || part.begin != parts.front().begin || part.end() <= parts.front().end();
  }

  // Parts that a call may map: each is part of what is there or of an earlier part, or overlaps nothing.
  std::vector<Part> mappable(std::int64_t (Walk::*type)(const Part&)) {
    Model then = model_;
    std::vector<Part> parts;
    for (std::size_t i = 1 + below(4); i > 0; --i) {
      Part part = parts.empty() || !one_in(3) ? anywhere() : parts[below(parts.size())];
      part.type = (this->*type)(part) | (one_in(4) ? std::int64_t{kImplicit} : 0);
      const bool known = then.find(part) != then.objects.end();
      if (!known && then.overlaps(part))
        continue;
      if (known && one_in(6))
        part.type |= kPresent;
      if (known && part.size > 0 && one_in(5) && may_be_member(parts, part))
        part.type |= kMemberOfFirst;
      if (!known && part.size > 0)
        then.objects.emplace(part.begin, Model::Object{part.begin, part.end(), 1});
      parts.push_back(part);
    }
    return parts;
  }
  std::int64_t direction(const Part&) {
    constexpr std::int64_t kChoice[] = {kTofrom,           kTofrom,        kTo, kFrom, 0, kTo | kAlways,
                                        kTofrom | kAlways, kFrom | kAlways};
    return kChoice[below(std::size(kChoice))];
  }
  std::int64_t direction_or_hold(const Part& part) { return direction(part) | (one_in(6) ? kHold : std::int64_t{0}); }

  void data_begin() {
    const std::vector<Part> parts = mappable(&Walk::direction_or_hold);
    call("__tgt_target_data_begin_mapper", parts);
    model_.begin(parts);
  }

  void data_end() {
    std::vector<Part> parts;
    for (std::size_t i = 1 + below(4); i > 0; --i) {
      Part part = parts.empty() || !one_in(4) ? anywhere() : parts[below(parts.size())];
      part.type = direction_or_hold(part) & ~kTo;
      if (one_in(6))
        part.type |= kDelete;
      if (one_in(6))
        part.type |= kImplicit;
      if (one_in(8) && may_be_member(parts, part))
        part.type |= kMemberOfFirst;
      parts.push_back(part);
    }
    call("__tgt_target_data_end_mapper", parts);
    model_.end(parts);
  }

  void update() {
    std::vector<Part> parts;
    for (std::size_t i = 1 + below(3); i > 0; --i) {
      Part part = anywhere();
      part.type = (one_in(2) ? kTo : kFrom) | (one_in(4) ? std::int64_t{kImplicit} : 0);
      parts.push_back(part);
    }
    call("__tgt_target_data_update_mapper", parts);
    model_.update(parts);
  }

  void associate() {
    if (!associated_.empty() && one_in(2)) {
      disassociate(associated_.begin()->first);
      associated_.erase(associated_.begin());
      return;
    }
    const Part part = anywhere();
    if (part.size == 0 || model_.overlaps(part))
      return;
    void* const memory = omp_target_alloc(part.size, 0);
    history_ += text_of("associate", {part});
    CHECK(omp_target_associate_ptr(&host_memory[part.begin], memory, part.size, 0, 0) == 0);
    associated_[part.begin] = memory;
    model_.objects.emplace(part.begin, Model::Object{part.begin, part.end(), 0, 0, true});
  }
  void disassociate(std::size_t begin) {
    history_ += about("\ndisassociate ", begin);
    if (const Model::Object& held = model_.objects.at(begin); held.holds != 0) {
      CHECK(omp_target_disassociate_ptr(&host_memory[begin], 0) == -1);
      call("__tgt_target_data_end_mapper", {{begin, held.end - begin, kDelete | kHold}});
    }
    CHECK(omp_target_disassociate_ptr(&host_memory[begin], 0) == 0);
    omp_target_free(associated_[begin], 0);
    model_.objects.erase(begin);
  }

  // Adds one to the first word of the first part.
  void region() {
    std::vector<Part> parts = mappable(&Walk::direction);
    if (parts.empty() || parts.front().size == 0)
      return;
    parts.front().type = (parts.front().type | kParameter) & ~kImplicit; // the kernel needs all of it
    Model then = model_;
    if (then.find(parts.front()) == then.objects.end() && then.overlaps(parts.front()))
      return;
    std::vector<Element> elements = elements_of(parts);
    elements.push_back(literal(1));
    history_ += text_of("region", parts);
    CHECK(launch(&host::add_one, elements) == 0);
    const Model::Bound bound = model_.begin(parts);
    add_one(*bound.front(), parts.front().begin);
    model_.end(parts, bound);
  }
  static void add_one(Model::Object& object, std::size_t begin) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < kWord; ++i)
      if (const auto byte = object.bytes.find(begin + i); byte != object.bytes.end())
        word |= std::uint32_t{byte->second} << (8 * i);
      else
        return forget(object, begin);
    ++word;
    for (std::size_t i = 0; i < kWord; ++i)
      object.bytes[begin + i] = static_cast<unsigned char>(word >> (8 * i));
  }
  static void forget(Model::Object& object, std::size_t begin) {
    for (std::size_t i = 0; i < kWord; ++i)
      object.bytes.erase(begin + i);
  }

  static std::vector<Element> elements_of(const std::vector<Part>& parts) {
    std::vector<Element> elements;
    for (const Part& part : parts)
      elements.push_back(
          {&host_memory[part.begin], &host_memory[part.begin], static_cast<std::int64_t>(part.size), part.type});
    return elements;
  }
  void call(const char* name, const std::vector<Part>& parts) {
    history_ += text_of(name, parts);
    data(name, elements_of(parts));
  }

  std::string compare() {
    for (std::size_t at = 0; at < kBytes; ++at) {
      if (model_.known[at] && host_memory[at] != model_.host[at])
        return about("the host's byte differs at ", at);
      if (!model_.known[at]) // the program writes there
        model_.host[at] = host_memory[at] = static_cast<unsigned char>(random_());
      model_.known[at] = true;
    }
    std::size_t present = 0;
    for (const auto& [begin, object] : model_.objects) {
      const auto* const there = static_cast<const unsigned char*>(mapped(begin));
      if (!there)
        return about("no object is at ", begin);
      for (const auto& [at, value] : object.bytes)
        if (there[at - begin] != value)
          return about("the device's byte differs at ", at);
      present += object.end - begin;
    }
    for (std::size_t at = 0; at < kBytes; at += kWord)
      if (omp_target_is_present(&host_memory[at], 0))
        present -= kWord;
    return present == 0 ? "" : "another number of bytes is present";
  }

  static constexpr std::size_t kWord = 4;
  std::mt19937 random_;
  Model model_;
  std::map<std::size_t, void*> associated_;
  std::string history_;
};

void walk(unsigned first, unsigned count) {
  constexpr int kSteps = 60;
  for (unsigned seed = first; seed < first + count; ++seed) {
    Walk one(seed);
    for (int i = 0; i < kSteps; ++i)
      if (const std::string fault = one.step(); !fault.empty()) {
        FAIL_CHECK("seed " << seed << ": " << fault);
        return;
      }
  }
}

} // namespace

TEST_CASE("random data calls and regions do what a plain model of them does") {
  use_main();
  walk(1, kWalks);
}

TEST_CASE("they do so while an object is newer on the host") {
  use_main();
  static int other[2] = {1, 2};
  Rows{row(other, TOFROM | REF)}.begin();
  Rows{row(other, TO | ALWAYS | REF)}.begin(); // the device's copy counts
  Rows{row(other, REF)}.end();
  REQUIRE(Rows({row(other, TOFROM | REF), value(2)}).region(&host::absent) != 0);
  other[0] = 7;
  walk(1001, kWalks);
  Rows{row(other, FROM | REF)}.end();
  CHECK(other[0] == 7);
}
