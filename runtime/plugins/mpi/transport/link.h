// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between the program and its workers, over a communicator of their own. No function here waits for the other
// side: messages are kept until MPI has sent them. If there are several threads, callers hold a lock.
//
// No function throws for an error of MPI, or for the content of a message: each is a fault of one rank. The owner reads
// the faults, and drops the rank.
#pragma once

#include "hold.h"
#include "mpi.h"
#include "wire.h"

#include <atomic>
#include <deque>
#include <functional>
#include <utility>

namespace omptool::mpi {

// Control, answer and data tags of the communicator. Each large copy has a tag of its own, from kFirstTag on; MPI
// promises tags up to 32767.
constexpr int kControl = 1, kAnswers = 2, kFirstTag = 16, kLastTag = 32767;
constexpr int kProgram = 0; // its rank
// Greeting and group tags in MPI_COMM_WORLD: for the first messages, and for making communicators.
constexpr int kGreeting = 24711, kGroup = 24712;

struct Fault {
  int rank;
  std::string why;
};

class Link {
public:
  Link(Mpi& mpi, Communicator communicator);

  int size() const { return static_cast<int>(sides_.size()); }
  // Records for a rank, which leave as one message. These functions share no data with those below, except drop(), so
  // they may have a lock of their own.
  Buffer& records_for(std::size_t rank);
  bool has_records() const { return !waiting_.empty(); }
  struct Letter {
    std::size_t rank;
    Buffer records;
  };
  std::vector<Letter> gather(); // removes them all

  void post(std::vector<Letter> letters);
  void post() { post(gather()); }

  // Sends the bytes of a large copy, which must stay in place until is_over() is true for the requests.
  std::vector<Request> send(View bytes, int to, int tag);
  std::vector<Request> receive(std::span<std::byte> bytes, int from, int tag);
  // Takes away those that are done. True: all are, without a fault.
  bool is_over(int rank, std::vector<Request>& requests);
  // Cancels the requests. Bytes that have not begun to arrive are not written.
  void cancel(std::vector<Request>& requests);

  // Returns the messages with the tag that have arrived.
  struct Received {
    int rank;
    Buffer message;
  };
  std::vector<Received> receive(int tag);
  // Calls take(rank, message) for each message. An exception of `take` is a fault of the rank.
  void read(std::vector<Received> all, const std::function<void(int rank, Buffer message)>& take);
  // Frees messages that MPI has sent, and sends pending ones that are due. Returns true if all are sent; called
  // repeatedly.
  bool tidy();

  // Returns the new faults of ranks that have not been dropped.
  std::vector<Fault> faults() { return std::exchange(faults_, {}); }
  // Drops a rank: sends nothing to it and receives nothing from it any more.
  void drop(std::size_t rank);

  // Counts of messages with records so far, without the bytes of large copies.
  struct Counts {
    std::uint64_t sent = 0, received = 0;
  };
  Counts counts() const { return counts_; }

private:
  struct Side {
    Buffer records = {};
    std::deque<std::pair<Request, Buffer>> sent = {};
    bool is_dropped = false;
    std::atomic<bool> has_failed{false};
  };

  template <typename Call> void with(int rank, const Call& call);
  void note(int rank, const std::string& why);
  std::optional<Arrived> next(int tag);
  void send_records(std::size_t rank, Buffer message);

  Mpi& mpi_;
  const Communicator communicator_;
  std::vector<Side> sides_;                           // by rank
  std::vector<std::size_t> waiting_;                  // ranks that have records
  std::size_t unsent_ = 0;                            // messages that MPI has not sent yet
  std::vector<std::pair<Request, Buffer>> abandoned_; // of dropped ranks: MPI may still read them
  std::vector<Fault> faults_;
  bool is_one_by_one_ = false; // probes for anyone's messages fail
  Counts counts_;
  Hold hold_;
};

// Waits for the workers of this program, and makes the communicator: the program has rank 0 there, its workers follow.
// The greetings are in the order of their ranks. Throws Error, and std::runtime_error with what else is wrong.
struct Crew {
  Communicator communicator;
  std::vector<Greeting> greetings;
};
// Meets the workers as the program. Calls greeted(rank) for each that arrives, by its rank in MPI_COMM_WORLD.
Crew meet_workers(Mpi& mpi, Welcome welcome, const std::function<void(int rank)>& greeted = {});

struct Met {
  Communicator communicator;
  Welcome welcome;
};
// Meets the program as a worker. `greeting` lacks the workers. `is_split`: the job has programs of several ranks, which
// split MPI_COMM_WORLD by MPI_APPNUM; else its first rank is the program.
Met meet_program(Mpi& mpi, Greeting greeting, bool is_split);

} // namespace omptool::mpi
