// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/descriptor.h"

#include "abi/llvm/compilers.h"
#include "process/loaded_object.h"
#include "process/message.h"
#include "process/own_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace omptool::llvm {
namespace {

struct Record32 {
  void* address;
  const char* name;
  std::uint64_t size;
  std::uint32_t flags;
  std::uint32_t data;
};
static_assert(sizeof(Record32) == 32);

struct Record56 {
  std::uint64_t reserved;
  std::uint16_t version;
  std::uint16_t kind;
  std::uint32_t flags;
  void* address;
  const char* name;
  std::uint64_t size;
  std::uint64_t data;
  void* auxiliary;
};
static_assert(sizeof(Record56) == 56);

constexpr std::uint16_t kOpenMP = 1;

// Flags of an OpenMP entry.
constexpr std::uint32_t kLink = 0x1, kConstructorFlag = 0x2, kDestructorFlag = 0x4, kIndirectFlag = 0x8,
                        kRequiresFlag = 0x10, kVirtualTable = 0x20;

struct Descriptor {
  std::int32_t image_count;
  const __tgt_device_image* images;
  const std::byte* entries_begin;
  const std::byte* entries_end;
};
static_assert(sizeof(Descriptor) == sizeof(__tgt_bin_desc));

constexpr std::uint16_t kEntryVersion = 1;

// Returns whether a record begins like those of LLVM 20 and later, in any version.
bool has_version(const Record56& record) {
  constexpr std::array<std::uint16_t, 5> kKinds{1, 2, 3, 4, 8};
  return record.reserved == 0 && std::find(kKinds.begin(), kKinds.end(), record.kind) != kKinds.end() &&
         record.flags < 0x100;
}

// Returns a version of entries newer than this library, or 0. The length of such records is not known either.
std::uint16_t newer_version(Bytes table) {
  const std::optional<Record56> first = read<Record56>(table, 0);
  return first && has_version(*first) && first->version > kEntryVersion ? first->version : 0;
}

// Reads an entry as the 32 bytes that both kinds of records share, or nothing for another language's entry. Entries
// with requirements use low bits of their data.
std::optional<Record32> entry_at(Bytes table, std::size_t record, std::uint64_t at) {
  if (record == sizeof(Record32))
    return read<Record32>(table, at);
  const Record56 entry = *read<Record56>(table, at);
  if (entry.kind != kOpenMP)
    return std::nullopt;
  return Record32{entry.address, entry.name, entry.size, entry.flags, static_cast<std::uint32_t>(entry.data)};
}

// Returns whether the entry only states a requirement of its translation unit. Address and size distinguish it from the
// documents' records.
bool is_requirement(const Record32& entry) {
  return entry.flags == kRequiresFlag && !entry.address && entry.size == 0;
}

EntryKind kind_of(const Record32& entry, bool host_memory) {
  constexpr std::string_view kReference = "_decl_tgt_ref_ptr";
  if (entry.flags & (kIndirectFlag | kVirtualTable))
    return EntryKind::kIndirect;
  if (entry.flags & kConstructorFlag)
    return EntryKind::kConstructor;
  if (entry.flags & kDestructorFlag)
    return EntryKind::kDestructor;
  // Reference variable: with unified shared memory the device reaches each such variable through a pointer.
  const bool reference = entry.name && std::string_view(entry.name).ends_with(kReference);
  if (host_memory && reference && entry.size == sizeof(void*))
    return EntryKind::kHostPointer;
  if (entry.flags & kLink)
    return EntryKind::kOwnPointer;
  return entry.size == 0 ? EntryKind::kKernel : EntryKind::kGlobal;
}

// Bits of `requires` clauses, as in __tgt_register_requires and in entries. kUnifiedSharedMemory is the one that the
// core uses.
constexpr std::int64_t kUnifiedSharedMemory = 0x8;
constexpr struct {
  std::int64_t bit;
  const char* clause;
} kClauses[] = {{0x2, "reverse_offload"},
                {0x4, "unified_address"},
                {kUnifiedSharedMemory, "unified_shared_memory"},
                {0x10, "dynamic_allocators"}};
std::atomic<std::int64_t> the_requirements{0}; // 0: nobody has said

// Finds the compiler of an image. Kernels of LLVM 15 to 17 have no environment, although those of LLVM 18, whose
// arguments have the same version, do. LLVM 15 to 17 wrap images; if a later clang links them, the wrapper still names
// their compiler.
ImageOrigin origin_of(Bytes image, bool wrapped) {
  const Clangs clangs = clangs_in(compilers_of(image));
  return {form_of(clangs), wrapped || clangs.is_before_18(), clangs.name()};
}

// Header of LLVM's image container.
struct Header {
  std::uint32_t magic, version;
  std::uint64_t size, entries;
  std::uint64_t entry_size; // version 1; later ones count the entries here
};

struct ImageEntry {
  std::uint16_t image_kind, offload_kind;
  std::uint32_t flags;
  std::uint64_t string_offset, string_count, image_offset, image_size;
};

// Returns whether images overlap, which is damage. Images follow each other, and need not be aligned.
bool overlap(std::vector<Bytes> images) {
  std::erase_if(images, [](Bytes image) { return image.empty(); });
  std::sort(images.begin(), images.end(), [](Bytes a, Bytes b) { return a.data() < b.data(); });
  return std::adjacent_find(images.begin(), images.end(),
                            [](Bytes a, Bytes b) { return a.data() + a.size() > b.data(); }) != images.end();
}

bool is_wrapped(Bytes bytes) {
  constexpr std::array<unsigned char, 4> kMagic{0x10, 0xff, 0x10, 0xad};
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

// Adds what an image of the descriptor is: one, or those in a container. Returns what is wrong with that, or "".
std::string add_images(Bytes bytes, LibraryContents& contents) {
  std::vector<Bytes> images;
  bool is_newer = false;
  if (std::string fault = unwrap(bytes, images, is_newer); !fault.empty()) {
    contents.explain = is_newer ? of_newer_compiler : nullptr;
    return fault;
  }
  for (const Bytes image : images) {
    auto* const at = const_cast<std::byte*>(image.data());
    contents.images.push_back({at, at + image.size(), origin_of(image, is_wrapped(bytes))});
  }
  return {};
}

// Returns kThere if every name can be read and ends within 4 KiB (decision 27).
StringAt names_in(Bytes table, std::size_t record) {
  constexpr std::size_t kLongestName = 4096;
  const std::size_t name_at = record == sizeof(Record56) ? offsetof(Record56, name) : offsetof(Record32, name);
  static_assert(offsetof(Record32, name) == offsetof(__tgt_offload_entry, name));
  for (std::uint64_t at = 0; at < table.size(); at += record)
    if (const StringAt name = string_at(*read<const char*>(table, at + name_at), kLongestName);
        name != StringAt::kThere)
      return name;
  return StringAt::kThere;
}

// Returns whether the table can only be LLVM's. In a table of 24-byte records that is read as if they had 32, the
// second record's flags are a name's address.
bool is_unmistakable(Bytes table, std::size_t record) {
  for (std::uint64_t at = 0; record == sizeof(Record32) && at < table.size(); at += record)
    if (const Record32 entry = *read<Record32>(table, at);
        entry.flags >= 0x100 || (entry.data != 0 && !(entry.flags & kRequiresFlag)))
      return false;
  return record != 0;
}

std::string read_entries(Bytes table, std::size_t record, LibraryContents& contents) {
  for (RegisteredImage& image : contents.images)
    image.origin.is_since_20 = record == sizeof(Record56);
  contents.host_memory = the_requirements.load(std::memory_order_relaxed) & kUnifiedSharedMemory;
  contents.globals_required = true;
  for (std::uint64_t at = 0; at < table.size(); at += record) {
    const std::optional<Record32> entry = entry_at(table, record, at);
    if (!entry || is_requirement(*entry))
      continue;
    if (entry->size > INT64_MAX)
      return "an entry's size is impossible";
    const EntryKind kind = kind_of(*entry, contents.host_memory);
    const std::int64_t bytes = static_cast<std::int64_t>(entry->size);
    const std::int64_t size = kind == EntryKind::kIndirect ? static_cast<std::int64_t>(sizeof(void*)) : bytes;
    // Size of the variable behind a host pointer: the entry does not have it.
    const std::int64_t extent = kind != EntryKind::kHostPointer ? bytes : entry->flags & kLink ? 0 : 1;
    contents.table.add({entry->address, entry->name, size, kind, extent});
  }
  return {};
}

// Reads entries of a host that was written from the documents alone, names no version, and so calls LLVM's function.
std::string read_documents_entries(Bytes table, LibraryContents& contents) {
  for (std::uint64_t at = 0; at < table.size(); at += sizeof(__tgt_offload_entry))
    contents.table.add(*read<__tgt_offload_entry>(table, at));
  for (RegisteredImage& image : contents.images)
    image.origin = {};
  contents.remark = "registers entries of 24 bytes, as omptarget.h declares them, by a function without a symbol "
                    "version: include omptarget.h, which names the version";
  return {};
}

} // namespace

std::string unwrap(Bytes bytes, std::vector<Bytes>& images, bool& is_newer) {
  if (!is_wrapped(bytes)) {
    images.push_back(bytes);
    return {};
  }
  const std::optional<Header> header = read<Header>(bytes, 0);
  if (!header || header->version == 0)
    return "an image's OffloadBinary is damaged: its header";
  is_newer = header->version > kNewestGeneration.container_version;
  if (is_newer)
    return "OffloadBinary " + std::to_string(header->version) + " is unknown";
  // Since version 3 the header is followed by the size of the compressed part, which is 0 without compression.
  if (header->version >= 3 && read<std::uint64_t>(bytes, sizeof(Header)).value_or(0) != 0)
    return "an image's OffloadBinary is compressed, which no compiler registers";
  const bool has_one = header->version == 1;
  const std::uint64_t count = has_one ? 1 : header->entry_size;
  if (header->size > bytes.size() || (has_one && header->entry_size < sizeof(ImageEntry)) || count > kMostImages)
    return "an image's OffloadBinary is damaged: its header";
  const Bytes blob = bytes.first(header->size);
  std::vector<Bytes> inside;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::optional<ImageEntry> entry = read_nth<ImageEntry>(blob, header->entries, i);
    if (!entry)
      return "an image's OffloadBinary is damaged: its entries run past the end";
    if (entry->image_offset > blob.size() || entry->image_size > blob.size() - entry->image_offset)
      return "an image's OffloadBinary is damaged: an image runs past the end";
    inside.push_back(blob.subspan(entry->image_offset, entry->image_size));
  }
  if (overlap(inside))
    return "an image's OffloadBinary is damaged: two images overlap";
  images.insert(images.end(), inside.begin(), inside.end());
  return {};
}

std::size_t record_size(Bytes table) {
  // Records written by hand may leave the version 0, because LLVM's runtime does not read it.
  bool is_56 = table.size() % sizeof(Record56) == 0 && !table.empty();
  for (std::uint64_t at = 0; is_56 && at < table.size(); at += sizeof(Record56))
    if (const Record56 record = *read<Record56>(table, at); !has_version(record) || record.version > kEntryVersion)
      is_56 = false;
  if (is_56)
    return sizeof(Record56);
  return table.size() % sizeof(Record32) == 0 ? sizeof(Record32) : 0;
}

void require(std::int64_t mask, const void* where) {
  std::int64_t first = 0;
  constexpr std::int64_t kSaid = 1; // LLVM's bit for no requirement, here in any case
  if (the_requirements.compare_exchange_strong(first, mask | kSaid))
    return;
  for (const auto& [bit, clause] : kClauses)
    if ((first & bit) != (mask & bit)) {
      die_at("", 2,
             "'#pragma omp requires %s' not used consistently! The clause is %s in %s, and %s in the code that "
             "registered before",
             clause, mask & bit ? "present" : "absent", loaded_object_of(where).name().c_str(),
             mask & bit ? "absent" : "present");
    }
}

void require_entries_of(const void* address) {
  const Descriptor& descriptor = *static_cast<const Descriptor*>(address);
  if (!is_range(descriptor.entries_begin, descriptor.entries_end))
    return;
  const Bytes table(descriptor.entries_begin, descriptor.entries_end);
  const std::size_t record = record_size(table);
  for (std::uint64_t at = 0; record != 0 && at < table.size(); at += record)
    if (const std::optional<Record32> entry = entry_at(table, record, at); entry && is_requirement(*entry))
      require(entry->data, address);
}

std::string read_library(const void* address, LibraryContents& contents) {
  const Descriptor& descriptor = *static_cast<const Descriptor*>(address);
  if (!is_range(descriptor.entries_begin, descriptor.entries_end))
    return "its entry table ends before it begins";
  std::vector<RegisteredImage> listed;
  std::string fault = read_images(descriptor.image_count, descriptor.images, listed);
  for (std::size_t i = 0; i < listed.size() && fault.empty(); ++i)
    fault = add_images(listed[i].bytes(), contents);
  if (!fault.empty())
    return fault;
  const Bytes table(descriptor.entries_begin, descriptor.entries_end);
  if (const std::uint16_t version = newer_version(table); version) {
    contents.explain = of_newer_compiler;
    return "entries of version " + std::to_string(version) + " are unknown";
  }
  const std::size_t record = record_size(table);
  const bool may_be_documents = table.size() % sizeof(__tgt_offload_entry) == 0;
  if (record == 0 && !may_be_documents)
    return "its entry table does not end where an entry ends";
  using enum StringAt;
  const StringAt name = record ? names_in(table, record) : kNotThere;
  if (name == kThere || (name == kForbidden && is_unmistakable(table, record)))
    return read_entries(table, record, contents);
  const StringAt other = may_be_documents ? names_in(table, sizeof(__tgt_offload_entry)) : kNotThere;
  if (other == kThere)
    return read_documents_entries(table, contents);
  return name == kForbidden || other == kForbidden
             ? "its entries may be LLVM's or omptarget.h's: to tell them apart needs process_vm_readv, which is "
               "forbidden"
             : "its entries are neither LLVM's nor those of omptarget.h";
}

} // namespace omptool::llvm
