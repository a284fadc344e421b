// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fakes an MPI within one process: a test plays the other ranks, and chooses the ranks that MPI reports as failed.
#pragma once

#include "mpi/transport/link.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <set>

namespace omptool::mpi {

struct Message {
  int from, to, tag;
  Buffer bytes;
};

// Fake job: the world of all ranks.
struct FakeJob {
  explicit FakeJob(int ranks) : size(ranks) {}
  // Puts a message. The program's watching thread sends messages beside the test.
  void put(int from, int to, int tag, const Buffer& bytes) {
    const std::lock_guard lock(mutex);
    messages.push_back({from, to, tag, bytes});
  }
  // Takes the first message that matches.
  std::optional<Message> take(int to, int tag, std::optional<int> from) {
    const std::lock_guard lock(mutex);
    const auto at = std::find_if(messages.begin(), messages.end(), [&](const Message& one) {
      return one.to == to && one.tag == tag && (!from || one.from == *from);
    });
    if (at == messages.end())
      return std::nullopt;
    Message message = std::move(*at);
    messages.erase(at);
    return message;
  }

  const int size;
  std::mutex mutex; // of the messages
  std::deque<Message> messages;
  std::set<int> broken;      // each call that names them is an error
  std::set<int> known;       // MPI itself says that they have failed, when it is asked
  bool fails_any = false;    // probes for anyone's messages are errors
  std::set<int> takes_never; // what is sent to them is never done
};

// Fake MPI as one rank sees it.
class FakeMpi final : public Mpi {
public:
  FakeMpi(FakeJob& job, int rank) : job_(job), rank_(rank) {}

  bool is_initialized() override { return true; }
  bool is_finalized() override { return false; }
  Level init(Level wanted) override { return wanted; }
  Level level() override { return Level::kMultiple; }
  bool is_main_thread() override { return true; }
  void finalize() override {}
  void when_finalizing(std::function<void()>) override {}
  void abort(int) override {}
  Communicator world() override { return {}; }
  int rank(Communicator) override { return rank_; }
  int size(Communicator) override { return job_.size; }
  std::optional<int> application() override { return std::nullopt; }
  Communicator split(Communicator, int) override { return {}; }
  Communicator of_ranks(Communicator, const std::vector<int>&, int) override { return {}; }
  void return_errors(Communicator) override {}

  Request send(std::span<const std::byte> bytes, int to, int tag, Communicator) override {
    check(to);
    job_.put(rank_, to, tag, {bytes.begin(), bytes.end()});
    return {job_.takes_never.contains(to) ? kNever : 0};
  }
  Request receive(std::span<std::byte> bytes, int from, int tag, Communicator) override {
    check(from);
    posted_[++last_] = {bytes, from, tag};
    return {last_, static_cast<int>(bytes.size())};
  }
  bool is_done(Request& request) override {
    const auto posted = posted_.find(request.handle);
    if (posted == posted_.end())
      return request.handle != kNever;
    check(posted->second.from);
    const std::optional<Message> message = job_.take(rank_, posted->second.tag, posted->second.from);
    if (!message)
      return false;
    const std::span<std::byte> into = posted->second.into;
    posted_.erase(posted);
    if (message->bytes.size() != into.size())
      throw Error("a message has " + std::to_string(message->bytes.size()) + " bytes");
    std::copy(message->bytes.begin(), message->bytes.end(), into.begin());
    return true;
  }
  void cancel(Request& request) override { posted_.erase(request.handle); }
  std::optional<Arrived> probe(int tag, Communicator, std::optional<int> from) override {
    if (from)
      check(*from);
    else if (job_.fails_any)
      throw Error("MPI_Improbe: somebody has failed");
    const std::optional<Message> message = job_.take(rank_, tag, from);
    if (!message)
      return std::nullopt;
    arrived_ = message->bytes;
    return Arrived{message->from, message->bytes.size(), 0};
  }
  void receive(std::span<std::byte> bytes, Arrived&) override {
    std::copy(arrived_.begin(), arrived_.end(), bytes.begin());
  }
  std::vector<int> failed(Communicator) override {
    if (!job_.known.empty())
      job_.fails_any = false;
    return {job_.known.begin(), job_.known.end()};
  }

  std::size_t waiting() const { return posted_.size(); }

private:
  struct Posted {
    std::span<std::byte> into;
    int from, tag;
  };
  static constexpr std::uint64_t kNever = UINT64_MAX;

  void check(int rank) const {
    if (job_.broken.contains(rank))
      throw Error("MPI_Call: rank " + std::to_string(rank) + " has failed");
  }

  FakeJob& job_;
  const int rank_;
  std::map<std::uint64_t, Posted> posted_;
  std::uint64_t last_ = 0;
  Buffer arrived_;
};

} // namespace omptool::mpi
