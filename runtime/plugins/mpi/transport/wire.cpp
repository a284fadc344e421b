// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wire.h"

#include <climits>
#include <cstring>

namespace omptool::mpi {
namespace {

constexpr std::size_t kAlignment = 8;

std::size_t padded(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// Operation head: the fixed part of a record. The spans follow in the order of their counts.
struct OperationHead {
  std::uint32_t kind;
  std::int32_t device;
  std::uint64_t id, target, source, size;
  std::int32_t value, tag;
  std::uint32_t has_shape, after, arguments, unknown;
  std::uint64_t bytes;
};
static_assert(sizeof(OperationHead) % kAlignment == 0 && sizeof(tgt_launch_shape) % kAlignment == 0);
struct AnswerHead {
  std::uint64_t id;
  std::int32_t result, tag;
  std::uint64_t bytes;
  Span ran;
};

template <typename Head> Head take_head(Reader& message, const char* what) {
  static_assert(sizeof(Head) % kAlignment == 0);
  return *static_cast<const Head*>(message.raw(sizeof(Head), what));
}
std::span<const std::uint64_t> take_numbers(Reader& message, std::uint32_t count, const char* what) {
  const std::size_t size = std::size_t{count} * sizeof(std::uint64_t);
  return {static_cast<const std::uint64_t*>(message.raw(size, what)), count};
}
View take_bytes(Reader& message, std::uint64_t size, const char* what) {
  return {static_cast<const std::byte*>(message.raw(size, what)), size};
}

} // namespace

void Writer::raw(const void* begin, std::size_t size) {
  if (size == 0)
    return;
  const auto* const bytes = static_cast<const std::byte*>(begin);
  to_.insert(to_.end(), bytes, bytes + size);
  to_.resize(padded(to_.size()));
}

void Writer::bytes(View bytes) {
  number(bytes.size());
  raw(bytes.data(), bytes.size());
}

const void* Reader::raw(std::size_t size, const char* what) {
  if (size > rest_.size() || padded(size) > rest_.size())
    throw Malformed(std::string("a message ends within ") + what + ", of " + std::to_string(size) + " bytes, after " +
                    std::to_string(rest_.size()));
  const void* const begin = rest_.data();
  rest_ = rest_.subspan(padded(size));
  return begin;
}

std::uint64_t Reader::number_up_to(std::uint64_t most, const char* what) {
  const std::uint64_t value = number(what);
  if (value > most)
    throw Malformed(std::string("a message has ") + std::to_string(value) + " for " + what + "; " +
                    std::to_string(most) + " is the most");
  return value;
}

std::size_t Reader::count(std::size_t each, const char* what) {
  return number_up_to(each == 0 ? rest_.size() : rest_.size() / each, what);
}

View Reader::bytes(const char* what) {
  return take_bytes(*this, number(what), what);
}

std::string Reader::text(const char* what) {
  const View found = bytes(what);
  return {reinterpret_cast<const char*>(found.data()), found.size()};
}

void Reader::end(const char* what) const {
  if (!at_end())
    throw Malformed(std::string(what) + " has " + std::to_string(rest_.size()) + " bytes too many");
}

// ---- operations ----

void write(Buffer& message, const Operation& operation) {
  const OperationHead head{static_cast<std::uint32_t>(operation.kind),
                           operation.device,
                           operation.id,
                           operation.target,
                           operation.source,
                           operation.size,
                           operation.value,
                           operation.tag,
                           operation.has_shape,
                           static_cast<std::uint32_t>(operation.after.size()),
                           static_cast<std::uint32_t>(operation.arguments.size()),
                           operation.unknown,
                           operation.bytes.size()};
  const std::size_t shape_size = operation.has_shape ? sizeof operation.shape : 0;
  const std::size_t begin = message.size();
  message.resize(begin + sizeof head + shape_size + operation.after.size_bytes() + operation.arguments.size_bytes());
  std::byte* to = message.data() + begin;
  const auto put = [&](const void* from, std::size_t size) { // needs no padding
    if (size != 0)
      std::memcpy(to, from, size);
    to += size;
  };
  put(&head, sizeof head);
  put(&operation.shape, shape_size);
  put(operation.after.data(), operation.after.size_bytes());
  put(operation.arguments.data(), operation.arguments.size_bytes());
  Writer(message).raw(operation.bytes.data(), operation.bytes.size());
}

Operation read_operation(Reader& message) {
  const auto head = take_head<OperationHead>(message, "an operation");
  if (head.kind > kLastKind)
    throw Malformed("a message has an operation of kind " + std::to_string(head.kind) + "; " +
                    std::to_string(kLastKind) + " is the last");
  if (is_operation(static_cast<Kind>(head.kind)) ? head.id == 0 : head.id != 0)
    throw Malformed("a message has an operation of kind " + std::to_string(head.kind) + " with the number " +
                    std::to_string(head.id));
  if (head.has_shape > 1 || head.tag < 0 || head.device < 0)
    throw Malformed("a message has an operation with the mark " + std::to_string(head.has_shape) + ", tag " +
                    std::to_string(head.tag) + " and device " + std::to_string(head.device));
  Operation read{
      static_cast<Kind>(head.kind), head.device, head.id, head.target, head.source, head.size, head.value, head.tag,
      head.has_shape == 1,          head.unknown};
  if (read.has_shape) {
    std::memcpy(&read.shape, message.raw(sizeof read.shape, "a shape"), sizeof read.shape);
    if (read.shape.size != sizeof read.shape)
      throw Malformed("a shape says that it has " + std::to_string(read.shape.size) + " bytes");
  }
  read.after = take_numbers(message, head.after, "dependences");
  read.arguments = take_numbers(message, head.arguments, "arguments");
  read.bytes = take_bytes(message, head.bytes, "the bytes of an operation");
  return read;
}

void write(Buffer& message, const Answer& answer) {
  const AnswerHead head{answer.id, answer.result, answer.tag, answer.bytes.size(), answer.ran};
  Writer writer(message);
  writer.raw(&head, sizeof head);
  writer.raw(answer.bytes.data(), answer.bytes.size());
}

Answer read_answer(Reader& message) {
  const auto head = take_head<AnswerHead>(message, "an answer");
  if (head.tag < 0)
    throw Malformed("a message has an answer with tag " + std::to_string(head.tag));
  if (head.ran.began < 0 || head.ran.ended < head.ran.began || head.ran.ended > kLatest)
    throw Malformed("a message has an operation that ran from " + std::to_string(head.ran.began) + " to " +
                    std::to_string(head.ran.ended) + " ns");
  return {head.id, head.result, head.tag, take_bytes(message, head.bytes, "the bytes of an answer"), head.ran};
}

// ---- greetings ----

Buffer written(const Greeting& greeting) {
  Buffer message;
  Writer writer(message);
  writer.text(greeting.version); // first, whatever another version has behind it
  writer.text(greeting.fault);
  writer.text(greeting.node);
  writer.number(greeting.workers.size());
  for (const int rank : greeting.workers)
    writer.number(static_cast<std::uint64_t>(rank));
  writer.number(greeting.devices.size());
  for (const DeviceOfWorker& device : greeting.devices) {
    writer.text(device.plugin);
    writer.bytes(std::as_bytes(std::span(&device.description, 1)));
    writer.number(device.makes_teams);
  }
  return message;
}

Greeting read_greeting(View message) {
  Reader reader(message);
  Greeting read;
  read.version = reader.text("a version");
  if (read.version != OMPTOOL_VERSION)
    return read;
  read.fault = reader.text("a fault");
  read.node = reader.text("a node's name");
  const std::size_t workers = reader.count(sizeof(std::uint64_t), "the number of workers");
  for (std::size_t i = 0; i < workers; ++i)
    read.workers.push_back(static_cast<int>(reader.number_up_to(INT_MAX, "a rank")));
  const std::size_t devices = reader.count(sizeof(std::uint64_t), "the number of devices");
  for (std::size_t i = 0; i < devices; ++i) {
    DeviceOfWorker device{reader.text("a plugin's name")};
    const View description = reader.bytes("a device's description");
    if (description.size() != sizeof device.description)
      throw Malformed("a device's description has " + std::to_string(description.size()) + " bytes");
    std::memcpy(&device.description, description.data(), sizeof device.description);
    device.makes_teams = reader.number_up_to(1, "a mark") == 1;
    read.devices.push_back(std::move(device));
  }
  reader.end("a greeting");
  return read;
}

Buffer written(const Welcome& welcome) {
  Buffer message;
  Writer(message).number(welcome.heartbeat);
  return message;
}

Welcome read_welcome(View message) {
  Reader reader(message);
  const Welcome read{reader.number_up_to(kLongestHeartbeat, "the seconds of a heartbeat")};
  reader.end("a welcome");
  return read;
}

// ---- entries of images ----

Buffer written(const std::vector<Entry>& entries) {
  Buffer bytes;
  Writer writer(bytes);
  writer.number(entries.size());
  for (const Entry& entry : entries) {
    writer.text(entry.name);
    writer.number(entry.address);
    writer.number(static_cast<std::uint64_t>(entry.size));
    writer.number(static_cast<std::uint64_t>(entry.extent));
  }
  return bytes;
}

std::vector<Entry> read_entries(View bytes) {
  Reader reader(bytes);
  std::vector<Entry> entries(reader.count(4 * sizeof(std::uint64_t), "the number of entries"));
  for (Entry& entry : entries) {
    entry.name = reader.text("an entry's name");
    entry.address = reader.number("an entry's address");
    entry.size = static_cast<std::int64_t>(reader.number_up_to(INT64_MAX, "an entry's size"));
    entry.extent = static_cast<std::int64_t>(reader.number_up_to(INT64_MAX, "an entry's extent"));
  }
  reader.end("a list of entries");
  return entries;
}

Buffer written(const std::vector<Loaded>& table) {
  Buffer bytes;
  Writer(bytes).bytes(std::as_bytes(std::span(table)));
  return bytes;
}

std::vector<Loaded> read_table(View bytes) {
  Reader reader(bytes);
  const View found = reader.bytes("a table");
  reader.end("a table");
  if (found.size() % sizeof(Loaded) != 0)
    throw Malformed("a table has " + std::to_string(found.size()) + " bytes");
  std::vector<Loaded> table(found.size() / sizeof(Loaded));
  if (!table.empty())
    std::memcpy(table.data(), found.data(), found.size());
  return table;
}

} // namespace omptool::mpi
