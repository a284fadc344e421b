// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "link.h"

#include <algorithm>

namespace omptool::mpi {

Buffer& Link::records_for(std::size_t rank) {
  if (rank >= records_.size())
    records_.resize(rank + 1);
  if (records_[rank].empty())
    waiting_.push_back(rank);
  return records_[rank];
}

void Link::post() {
  for (const std::size_t rank : waiting_) {
    Buffer& records = sent_.emplace_back(Request{}, std::exchange(records_[rank], {})).second;
    const int tag = rank == std::size_t{kProgram} ? kAnswers : kControl;
    sent_.back().first = mpi_.send(records, static_cast<int>(rank), tag, communicator_);
    ++counts_.sent;
  }
  waiting_.clear();
}

std::vector<Request> Link::send(View bytes, int to, int tag) {
  std::vector<Request> requests;
  for (std::size_t at = 0; at < bytes.size(); at += Mpi::kLargest)
    requests.push_back(
        mpi_.send(bytes.subspan(at, std::min(Mpi::kLargest, bytes.size() - at)), to, tag, communicator_));
  return requests;
}

std::vector<Request> Link::receive(std::span<std::byte> bytes, int from, int tag) {
  std::vector<Request> requests;
  for (std::size_t at = 0; at < bytes.size(); at += Mpi::kLargest)
    requests.push_back(
        mpi_.receive(bytes.subspan(at, std::min(Mpi::kLargest, bytes.size() - at)), from, tag, communicator_));
  return requests;
}

bool Link::is_over(std::vector<Request>& requests) {
  std::erase_if(requests, [&](Request& request) { return mpi_.is_done(request); });
  return requests.empty();
}

bool Link::take(int tag, const std::function<void(int rank, View message)>& take) {
  bool any = false;
  while (std::optional<Arrived> arrived = mpi_.probe(tag, communicator_)) {
    Buffer message(arrived->size);
    mpi_.receive(message, *arrived);
    ++counts_.received;
    take(arrived->source, message);
    any = true;
  }
  return any;
}

bool Link::tidy() {
  while (!sent_.empty() && mpi_.is_done(sent_.front().first))
    sent_.pop_front();
  return sent_.empty();
}

} // namespace omptool::mpi
