// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closes unwritten parts of objects, of 64 KiB at least, when a kernel is launched: most objects are copied to the
// device before, and then cost nothing. The first write to a part opens it, and counts as a write of the whole part,
// because a fault for each byte would be too slow.
#include "check/full/guarded.h"

#include "check/findings.h"

#include <algorithm>
#include <cstdio>
#include <pthread.h>
#include <string>
#include <sys/mman.h>

namespace omptool::check {
namespace {

constinit Slots slots;
// Objects with parts that may have to be closed.
constinit std::atomic<GuardedObject*> waiting{nullptr};

// Opened pages beside objects, which a fault has made accessible, and which are to be closed again. A page beyond this
// capacity stays open.
constinit std::array<std::atomic<std::byte*>, 256> opened{};

// Overrun: the last page beyond an object that an instruction used. Such an instruction continues through the pages
// that follow, and past objects there.
struct Overrun {
  std::atomic<const void*> code{nullptr};
  std::atomic<const GuardedObject*> object{nullptr};
  std::atomic<const std::byte*> page{nullptr};
};
constinit std::array<Overrun, 64> overruns{};
constinit std::atomic<std::size_t> next_overrun{0};

void let_wait(GuardedObject& object) {
  if (object.waits.exchange(true))
    return;
  object.next_waiting = waiting.load();
  while (!waiting.compare_exchange_weak(object.next_waiting, &object)) {
  }
}

bool set_access(const GuardedObject& object, std::size_t first, std::size_t end, int access) {
  std::byte* const begin = object.pages + first * object.part;
  const std::size_t size = std::min((end - first) * object.part, object.room - first * object.part);
  return ::mprotect(begin, size, access) == 0;
}

// Opens parts that are closed.
bool open_parts(GuardedObject& object, std::size_t first, std::size_t end) {
  if (!set_access(object, first, end, PROT_READ | PROT_WRITE) &&
      !set_access(object, 0, object.parts(), PROT_READ | PROT_WRITE)) // the system has no more mappings: join them
    return false;
  for (; first < end; ++first)
    object.closed.remove(first);
  return true;
}

// Finds the end of the open, unwritten parts from `first` on, and marks them as closed. Returns the index behind the
// last one.
std::size_t end_of_unwritten(GuardedObject& object, std::size_t first) {
  while (first < object.parts() && !object.written.has(first) && object.closed.add(first))
    ++first;
  return first;
}

void close_parts(GuardedObject& object) {
  for (std::size_t first = 0; first < object.parts(); ++first) {
    const std::size_t end = end_of_unwritten(object, first);
    if (end == first)
      continue;
    if (!set_access(object, first, end, PROT_NONE))
      open_parts(object, first, end);
    for (std::size_t part = first; part < end; ++part)
      if (object.written.has(part)) // meanwhile
        open_parts(object, part, part + 1);
    first = end;
  }
}

// Uses the parts of an object that contain some bytes, on behalf of the runtime.
void use_parts(GuardedObject& object, const std::byte* begin, std::size_t size, bool writes) {
  const std::byte* const last = std::min<const std::byte*>(begin + size, object.pages + object.room) - 1;
  const std::size_t first = object.part_of(begin), end = object.part_of(last) + 1;
  bool any_closed = false;
  for (std::size_t part = first; part < end; ++part) {
    if (writes)
      object.written.add(part);
    any_closed = any_closed || object.closed.has(part);
  }
  if (!any_closed)
    return;
  open_parts(object, first, end);
  if (!writes)
    let_wait(object);
}

void close_opened() {
  for (std::atomic<std::byte*>& one : opened)
    if (std::byte* const page = one.load() ? one.exchange(nullptr) : nullptr; page && !slots.at(page)->has_page(page))
      ::mprotect(page, slots.page(), PROT_NONE);
}

// ---- findings ----

Finding finding_of(Code code, const GuardedObject* object, const KernelPlace& kernel, std::string_view message) {
  Finding finding{code, message};
  finding.entry = kernel.entry;
  finding.kernel = kernel.code;
  if (object) {
    finding.variable = object->name.data();
    finding.device = object->device;
    finding.host = object->host;
    finding.size = object->size;
  }
  return finding;
}

// Records each reason once, because later objects add nothing.
void record_refusal(Refusal why) {
  static constinit std::array<std::atomic<bool>, 3> recorded{};
  constexpr std::array<const char*, 3> kReasons{"the limit on its addresses (ulimit -v) leaves this process too few",
                                                "they are larger than the addresses that this process has for them",
                                                "more objects of one size live at once than the checker has room for"};
  const auto reason = static_cast<std::size_t>(why);
  if (!recorded[reason].exchange(true))
    record({Code::kNotChecked, std::string("objects of a device have no guarded memory, and nobody checks what kernels "
                                           "do with them, nor what is copied: ") +
                                   kReasons[reason]});
}

// Returns the page behind one, or before it, without those of a live object between.
const std::byte* next_page(const std::byte* page, bool is_behind) {
  const auto size = static_cast<std::ptrdiff_t>(slots.page());
  const std::byte* const next = page + (is_behind ? size : -size);
  const GuardedObject* const object = slots.at(next);
  if (!object || !object->has_page(next))
    return next;
  return is_behind ? object->pages + object->room : object->pages - size;
}

// Returns the object that an access is beyond: that of the same instruction's last access, or of one that ended where
// this one goes on, as of a loop that has been unrolled; else the nearest.
const GuardedObject* overrun_object(const Access& access) {
  const std::byte* const page = access.address - reinterpret_cast<std::uintptr_t>(access.address) % slots.page();
  for (Overrun& one : overruns) {
    const GuardedObject* const object = one.object.load(std::memory_order_acquire);
    const std::byte* const last = one.page.load(std::memory_order_relaxed);
    if (!object || !object->is_live || !last)
      continue;
    const bool is_next = page == last || page == next_page(last, true) || page == next_page(last, false);
    if (one.code != access.kernel.code && !is_next)
      continue;
    one.page = page;
    return object;
  }
  const GuardedObject* const object = slots.nearest(access.address);
  Overrun& fresh = overruns[next_overrun++ % overruns.size()];
  fresh.object = nullptr;
  fresh.code = access.kernel.code;
  fresh.page = page;
  fresh.object.store(object, std::memory_order_release);
  return object;
}

void forget_overruns() {
  for (Overrun& one : overruns)
    one.object = nullptr;
}

void record_beyond(const Access& access) {
  const GuardedObject* const object = overrun_object(access);
  const char* const verb = access.writes ? "writes to" : "reads";
  char message[200];
  if (object)
    std::snprintf(message, sizeof message, "the kernel %s byte %td of an object of %zu bytes", verb,
                  access.address - object->begin, object->size);
  else
    std::snprintf(message, sizeof message, "the kernel %s device memory that belongs to no object", verb);
  record(finding_of(Code::kBeyondObject, object, access.kernel, message));
}

bool allow_beyond(const Access& access) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(access.address) % slots.page();
  std::byte* const page = access.address - offset;
  if (access.kernel.code)
    record_beyond(access);
  if (::mprotect(page, slots.page(), PROT_READ | PROT_WRITE) != 0)
    return false;
  for (std::atomic<std::byte*>& one : opened) {
    std::byte* none = nullptr;
    if (one.load() == page || one.compare_exchange_strong(none, page))
      break;
  }
  return true;
}

// Checks the bytes beside an object when it is released: a write there that touched no other page did not fault.
void check_edges(const GuardedObject& object) {
  if (!object.has_edges)
    return;
  for (const std::span<std::byte> edge : object.edges())
    if (!edge.empty() && !object.closed.has(object.part_of(edge.data())) &&
        !std::all_of(edge.begin(), edge.end(), [](std::byte one) { return one == kEdge; })) {
      char message[200];
      std::snprintf(message, sizeof message, "a kernel writes right %s an object of %zu bytes",
                    edge.data() < object.begin ? "before the beginning of" : "behind the end of", object.size);
      record(finding_of(Code::kBeyondObject, &object, last_kernel(), message));
    }
}

bool allow_unwritten(GuardedObject& object, const Access& access) {
  const std::size_t part = object.part_of(access.address);
  if (!access.writes && !access.kernel.code) // of a copy to the host: it says nothing
    let_wait(object);
  else if (object.written.add(part) && access.kernel.code && access.reads)
    record(
        finding_of(Code::kUnwritten, &object, access.kernel, "the kernel reads device memory that nobody has written"));
  if (access.kernel.code && access.writes)
    object.kernel_wrote = true;
  return open_parts(object, part, part + 1);
}

} // namespace

std::byte* allocate_guarded(const observe::MemoryRequest& request) {
  [[maybe_unused]] static const bool watched = [] {
    ::pthread_atfork([] { slots.lock(); }, [] { slots.unlock(); }, [] { slots.unlock(); });
    return true;
  }();
  Refusal why{};
  GuardedObject* const object = slots.take(request, why);
  if (!object) {
    record_refusal(why);
    return nullptr;
  }
  let_wait(*object);
  return object->begin;
}

bool release_guarded(void* memory) {
  GuardedObject* const object = guarded_object(memory);
  if (object) {
    check_edges(*object);
    slots.give_back(*object);
  }
  return object;
}

void note_use(const void* there, std::size_t size, bool writes) {
  if (GuardedObject* const object = guarded_object(there); object && size > 0)
    use_parts(*object, static_cast<const std::byte*>(there), size, writes);
}

void close_unwritten() {
  close_opened();
  forget_overruns();
  for (GuardedObject* object = waiting.exchange(nullptr); object;) {
    GuardedObject* const next = object->next_waiting;
    object->waits = false;
    if (object->is_live)
      close_parts(*object);
    object = next;
  }
}

GuardedObject* guarded_object(const void* there) {
  GuardedObject* const object = slots.at(there);
  return object && object->has_page(static_cast<const std::byte*>(there)) ? object : nullptr;
}

bool is_guarded(const void* address) {
  return slots.at(address) != nullptr;
}

bool allow_access(const Access& access) {
  GuardedObject* const object = slots.at(access.address);
  if (!object)
    return false;
  if (!object->has_page(access.address))
    return allow_beyond(access);
  const std::size_t part = object->part_of(access.address);
  if (object->written.has(part)) // another thread was first
    return open_parts(*object, part, part + 1);
  return allow_unwritten(*object, access);
}

} // namespace omptool::check
