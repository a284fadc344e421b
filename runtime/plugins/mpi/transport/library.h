// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An MPI of one family (families.h): the functions of the library, and calls of them.
#pragma once

#include "mpi.h"

#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <string>
#include <utility>

namespace omptool::mpi {

// The functions, by what follows "MPI_". H is a handle, S a status.
#define OMPTOOL_MPI_FUNCTIONS(X)                                                                                       \
  X(Abort, H, int)                                                                                                     \
  X(Cancel, H*)                                                                                                        \
  X(Comm_create_group, H, H, int, H*)                                                                                  \
  X(Comm_create_keyval, int (*)(H, int, void*, void*, void*, int*), int (*)(H, int, void*, void*), int*, void*)        \
  X(Comm_get_attr, H, int, void*, int*)                                                                                \
  X(Comm_group, H, H*)                                                                                                 \
  X(Comm_rank, H, int*)                                                                                                \
  X(Comm_set_attr, H, int, void*)                                                                                      \
  X(Comm_set_errhandler, H, H)                                                                                         \
  X(Comm_size, H, int*)                                                                                                \
  X(Comm_split, H, int, int, H*)                                                                                       \
  X(Error_string, int, char*, int*)                                                                                    \
  X(Finalize)                                                                                                          \
  X(Finalized, int*)                                                                                                   \
  X(Get_count, const S*, H, int*)                                                                                      \
  X(Get_library_version, char*, int*)                                                                                  \
  X(Group_free, H*)                                                                                                    \
  X(Group_incl, H, int, const int*, H*)                                                                                \
  X(Group_size, H, int*)                                                                                               \
  X(Group_translate_ranks, H, int, const int*, H, int*)                                                                \
  X(Improbe, int, int, H, int*, H*, S*)                                                                                \
  X(Init_thread, int*, char***, int, int*)                                                                             \
  X(Initialized, int*)                                                                                                 \
  X(Irecv, void*, int, H, int, int, H, H*)                                                                             \
  X(Is_thread_main, int*)                                                                                              \
  X(Isend, const void*, int, H, int, int, H, H*)                                                                       \
  X(Mrecv, void*, int, H, H*, S*)                                                                                      \
  X(Query_thread, int*)                                                                                                \
  X(Request_free, H*)                                                                                                  \
  X(Test, H*, int*, S*)

template <typename Family> class Library final : public Mpi {
  using H = typename Family::Handle;
  using S = typename Family::Status;

public:
  // Makes an Mpi. Returns null, and sets the reason, if the library lacks a function.
  static std::unique_ptr<Mpi> make(void* library, std::string& reason) {
    auto made = std::unique_ptr<Library>(new Library);
    if (!made->family_.find(library))
      reason = "it lacks an object of Open MPI's";
#define OMPTOOL_MPI_FIND(function, ...)                                                                                \
  made->function##_ = reinterpret_cast<decltype(made->function##_)>(::dlsym(library, "MPI_" #function));               \
  if (!made->function##_)                                                                                              \
    reason = "it lacks MPI_" #function;
    OMPTOOL_MPI_FUNCTIONS(OMPTOOL_MPI_FIND)
#undef OMPTOOL_MPI_FIND
    if (!reason.empty())
      return nullptr;
    made->acknowledge_ = reinterpret_cast<int (*)(H)>(::dlsym(library, "MPIX_Comm_failure_ack"));
    made->acknowledged_ = reinterpret_cast<int (*)(H, H*)>(::dlsym(library, "MPIX_Comm_failure_get_acked"));
    made->version = made->text([&](char* text, int* length) { return made->Get_library_version_(text, length); });
    return made;
  }

  bool is_initialized() override { return asked("MPI_Initialized", Initialized_) != 0; }
  bool is_finalized() override { return asked("MPI_Finalized", Finalized_) != 0; }
  Level init(Level wanted) override {
    int provided = 0;
    check("MPI_Init_thread",
          Init_thread_(nullptr, nullptr, Family::kLevels[static_cast<std::size_t>(wanted)], &provided));
    return level_of(provided);
  }
  Level level() override { return level_of(asked("MPI_Query_thread", Query_thread_)); }
  bool is_main_thread() override { return asked("MPI_Is_thread_main", Is_thread_main_) != 0; }
  void finalize() override { check("MPI_Finalize", Finalize_()); }
  // MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else.
  void when_finalizing(std::function<void()> then) override {
    then_ = std::move(then);
    int key = 0;
    check("MPI_Comm_create_keyval", Comm_create_keyval_(
                                        [](H, int, void*, void*, void*, int* is_copied) {
                                          *is_copied = 0;
                                          return 0;
                                        },
                                        [](H, int, void* mine, void*) {
                                          static_cast<Library*>(mine)->then_();
                                          return 0;
                                        },
                                        &key, nullptr));
    check("MPI_Comm_set_attr", Comm_set_attr_(family_.self, key, this));
  }
  void abort(int exit_code) override { Abort_(family_.world, exit_code); }

  Communicator world() override { return {out(family_.world)}; }
  int rank(Communicator communicator) override {
    return asked("MPI_Comm_rank", [&](int* rank) { return Comm_rank_(in(communicator.handle), rank); });
  }
  int size(Communicator communicator) override {
    return asked("MPI_Comm_size", [&](int* size) { return Comm_size_(in(communicator.handle), size); });
  }
  std::optional<int> application() override {
    int* number = nullptr;
    int is_there = 0;
    check("MPI_Comm_get_attr", Comm_get_attr_(family_.world, Family::kAppnum, &number, &is_there));
    return is_there && number ? std::optional<int>(*number) : std::nullopt;
  }
  Communicator split(Communicator communicator, int color) override {
    H made{};
    check("MPI_Comm_split", Comm_split_(in(communicator.handle), color, 0, &made));
    return {out(made)};
  }
  Communicator of_ranks(Communicator communicator, const std::vector<int>& ranks, int tag) override {
    H all{}, group{}, made{};
    check("MPI_Comm_group", Comm_group_(in(communicator.handle), &all));
    check("MPI_Group_incl", Group_incl_(all, static_cast<int>(ranks.size()), ranks.data(), &group));
    check("MPI_Comm_create_group", Comm_create_group_(in(communicator.handle), group, tag, &made));
    Group_free_(&all);
    Group_free_(&group);
    return {out(made)};
  }
  void return_errors(Communicator communicator) override {
    check("MPI_Comm_set_errhandler", Comm_set_errhandler_(in(communicator.handle), family_.errors_return));
  }

  Request send(std::span<const std::byte> bytes, int to, int tag, Communicator communicator) override {
    H made{};
    check("MPI_Isend",
          Isend_(bytes.data(), static_cast<int>(bytes.size()), family_.byte, to, tag, in(communicator.handle), &made));
    return {out(made)};
  }
  Request receive(std::span<std::byte> bytes, int from, int tag, Communicator communicator) override {
    H made{};
    check("MPI_Irecv", Irecv_(bytes.data(), static_cast<int>(bytes.size()), family_.byte, from, tag,
                              in(communicator.handle), &made));
    return {out(made), static_cast<int>(bytes.size())};
  }
  bool is_done(Request& request) override {
    H handle = in(request.handle);
    int is_over = 0, size = 0;
    S status{};
    check("MPI_Test", Test_(&handle, &is_over, &status));
    request.handle = out(handle);
    if (is_over && request.expected >= 0) {
      check("MPI_Get_count", Get_count_(&status, family_.byte, &size));
      if (size != request.expected)
        throw Error("a message has " + std::to_string(size) + " bytes of " + std::to_string(request.expected));
    }
    return is_over != 0;
  }
  void cancel(Request& request) override {
    H handle = in(request.handle);
    if (request.expected >= 0)
      Cancel_(&handle);
    Request_free_(&handle);
    request.handle = out(handle);
  }
  std::optional<Arrived> probe(int tag, Communicator communicator, std::optional<int> from) override {
    int is_there = 0, size = 0;
    H message{};
    S status{};
    check("MPI_Improbe",
          Improbe_(from.value_or(Family::kAnySource), tag, in(communicator.handle), &is_there, &message, &status));
    if (!is_there)
      return std::nullopt;
    check("MPI_Get_count", Get_count_(&status, family_.byte, &size));
    return Arrived{status.source, static_cast<std::size_t>(size), out(message)};
  }
  void receive(std::span<std::byte> bytes, Arrived& arrived) override {
    H message = in(arrived.message);
    check("MPI_Mrecv", Mrecv_(bytes.data(), static_cast<int>(bytes.size()), family_.byte, &message, ignored()));
    arrived.message = out(message);
  }

  // Failed ranks by ULFM. Probes for any sender report errors until the failures are acknowledged.
  std::vector<int> failed(Communicator communicator) override {
    H all{}, dead{};
    const H one = in(communicator.handle);
    if (!acknowledge_ || !acknowledged_ || acknowledge_(one) != 0 || acknowledged_(one, &dead) != 0)
      return {};
    check("MPI_Comm_group", Comm_group_(one, &all));
    std::vector<int> numbers(
        static_cast<std::size_t>(asked("MPI_Group_size", [&](int* size) { return Group_size_(dead, size); })));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<int> ranks(numbers.size());
    check("MPI_Group_translate_ranks",
          Group_translate_ranks_(dead, static_cast<int>(numbers.size()), numbers.data(), all, ranks.data()));
    Group_free_(&all);
    Group_free_(&dead);
    return ranks;
  }

private:
  Library() = default;

#define OMPTOOL_MPI_MEMBER(function, ...) int (*function##_)(__VA_ARGS__) = nullptr;
  OMPTOOL_MPI_FUNCTIONS(OMPTOOL_MPI_MEMBER)
#undef OMPTOOL_MPI_MEMBER
  int (*acknowledge_)(H) = nullptr; // null: the library cannot go on with those that are left
  int (*acknowledged_)(H, H*) = nullptr;

  static H in(std::uint64_t value) {
    H handle{};
    std::memcpy(&handle, &value, sizeof handle);
    return handle;
  }
  static std::uint64_t out(H handle) {
    std::uint64_t value = 0;
    std::memcpy(&value, &handle, sizeof handle);
    return value;
  }
  static S* ignored() { return reinterpret_cast<S*>(Family::kIgnored); }
  static Level level_of(int value) {
    std::size_t level = 3;
    while (level > 0 && value < Family::kLevels[level])
      --level;
    return static_cast<Level>(level);
  }

  // Returns the text that a function of MPI writes. MPI limits its length.
  template <typename Write> static std::string text(const Write& write) {
    std::string text(16384, '\0');
    int length = 0;
    if (write(text.data(), &length) != 0 || length < 0 || static_cast<std::size_t>(length) > text.size())
      return {};
    text.resize(static_cast<std::size_t>(length));
    return text.substr(0, text.find_first_of(std::string("\n\0", 2)));
  }
  void check(const char* call, int code) {
    if (code != 0) [[unlikely]]
      throw Error(std::string(call) + ": " +
                  text([&](char* message, int* length) { return Error_string_(code, message, length); }));
  }
  template <typename Ask> int asked(const char* call, const Ask& ask) {
    int answer = 0;
    check(call, ask(&answer));
    return answer;
  }

  Family family_;
  std::function<void()> then_;
};

} // namespace omptool::mpi
