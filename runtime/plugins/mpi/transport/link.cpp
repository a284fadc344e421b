// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "link.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace omptool::mpi {
namespace {

std::chrono::milliseconds time_to_hold() {
  constexpr long kMost = 10'000;
  const char* const text = ::secure_getenv("OMPTOOL_MPI_HOLD");
  if (!text || !*text)
    return {};
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end == '\0' && value >= 0 && value <= kMost)
    return std::chrono::milliseconds(value);
  std::fprintf(stderr,
               "omptarget: plugin mpi ignores OMPTOOL_MPI_HOLD=%s; known values: integers from 0 to %ld, in "
               "milliseconds\n",
               text, kMost);
  return {};
}

} // namespace

Link::Link(Mpi& mpi, Communicator communicator)
    : mpi_(mpi), communicator_(communicator), sides_(static_cast<std::size_t>(mpi.size(communicator))),
      hold_(time_to_hold()) {}

// ---- faults ----

void Link::note(int rank, const std::string& why) {
  if (!sides_[static_cast<std::size_t>(rank)].is_dropped)
    faults_.push_back({rank, why});
}

template <typename Call> void Link::with(int rank, const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    note(rank, error.what());
  }
}

void Link::drop(std::size_t rank) {
  Side& side = sides_[rank];
  side.is_dropped = true;
  side.records.clear();
  std::erase(waiting_, rank);
  unsent_ -= side.sent.size();
  std::move(side.sent.begin(), side.sent.end(), std::back_inserter(abandoned_));
  side.sent.clear();
}

// ---- records ----

Buffer& Link::records_for(std::size_t rank) {
  Side& side = sides_[rank];
  if (side.is_dropped)
    side.records.clear();
  else if (side.records.empty())
    waiting_.push_back(rank);
  return side.records;
}

std::vector<Link::Letter> Link::gather() {
  std::vector<Letter> letters;
  for (const std::size_t rank : waiting_)
    letters.push_back({rank, std::exchange(sides_[rank].records, {})});
  waiting_.clear();
  return letters;
}

void Link::post(std::vector<Letter> letters) {
  for (Letter& letter : letters)
    if (hold_.is_on()) [[unlikely]]
      hold_.keep(letter.rank, std::move(letter.records));
    else
      send_records(letter.rank, std::move(letter.records));
}

void Link::send_records(std::size_t rank, Buffer message) {
  std::deque<std::pair<Request, Buffer>>& sent = sides_[rank].sent;
  sent.emplace_back(Request{}, std::move(message));
  const int tag = rank == std::size_t{kProgram} ? kAnswers : kControl;
  try {
    sent.back().first = mpi_.send(sent.back().second, static_cast<int>(rank), tag, communicator_);
    ++unsent_;
    ++counts_.sent;
  } catch (const Error& error) {
    sent.pop_back();
    note(static_cast<int>(rank), error.what());
  }
}

bool Link::tidy() {
  if (!hold_.is_empty()) [[unlikely]]
    hold_.release([&](std::size_t rank, Buffer records) {
      if (!sides_[rank].is_dropped)
        send_records(rank, std::move(records));
    });
  if (unsent_ == 0)
    return hold_.is_empty();
  for (int rank = 0; rank < size(); ++rank) {
    std::deque<std::pair<Request, Buffer>>& sent = sides_[static_cast<std::size_t>(rank)].sent;
    with(rank, [&] {
      for (; !sent.empty() && mpi_.is_done(sent.front().first); --unsent_)
        sent.pop_front();
    });
  }
  return unsent_ == 0 && hold_.is_empty();
}

std::vector<Link::Received> Link::receive(int tag) {
  std::vector<Received> all;
  while (std::optional<Arrived> arrived = next(tag))
    with(arrived->source, [&] {
      Buffer message(arrived->size);
      mpi_.receive(message, *arrived);
      ++counts_.received;
      all.push_back({arrived->source, std::move(message)});
    });
  return all;
}

void Link::read(std::vector<Received> all, const std::function<void(int rank, Buffer message)>& take) {
  for (Received& one : all)
    if (!sides_[static_cast<std::size_t>(one.rank)].is_dropped)
      with(one.rank, [&] { take(one.rank, std::move(one.message)); });
}

// Returns the next message. It asks for each rank alone once MPI has reported an error without its rank.
std::optional<Arrived> Link::next(int tag) {
  std::optional<Arrived> arrived;
  if (!is_one_by_one_)
    try {
      return mpi_.probe(tag, communicator_);
    } catch (const Error& error) {
      const std::vector<int> failed = mpi_.failed(communicator_);
      for (const int rank : failed)
        if (!sides_.at(static_cast<std::size_t>(rank)).has_failed.exchange(true))
          note(rank, error.what());
      is_one_by_one_ = failed.empty();
    }
  for (int rank = 0; rank < size() && !arrived; ++rank)
    if (!sides_[static_cast<std::size_t>(rank)].is_dropped)
      with(rank, [&] { arrived = mpi_.probe(tag, communicator_, rank); });
  return arrived;
}

// ---- bytes of large copies ----

std::vector<Request> Link::send(View bytes, int to, int tag) {
  std::vector<Request> requests;
  with(to, [&] {
    for (std::size_t at = 0; at < bytes.size(); at += Mpi::kLargest)
      requests.push_back(
          mpi_.send(bytes.subspan(at, std::min(Mpi::kLargest, bytes.size() - at)), to, tag, communicator_));
  });
  return requests;
}

std::vector<Request> Link::receive(std::span<std::byte> bytes, int from, int tag) {
  std::vector<Request> requests;
  with(from, [&] {
    for (std::size_t at = 0; at < bytes.size(); at += Mpi::kLargest)
      requests.push_back(
          mpi_.receive(bytes.subspan(at, std::min(Mpi::kLargest, bytes.size() - at)), from, tag, communicator_));
  });
  return requests;
}

// Returns whether the requests have completed. An error completes a request, too.
bool Link::is_over(int rank, std::vector<Request>& requests) {
  const std::size_t faults = faults_.size();
  std::erase_if(requests, [&](Request& request) {
    bool is_done = true;
    with(rank, [&] { is_done = mpi_.is_done(request); });
    return is_done;
  });
  return requests.empty() && faults_.size() == faults;
}

void Link::cancel(std::vector<Request>& requests) {
  for (Request& request : std::exchange(requests, {}))
    mpi_.cancel(request);
}

} // namespace omptool::mpi
