// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <unistd.h>

namespace omptool::worker {
namespace {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return; // nobody reads it
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
}

} // namespace

PrefixedOutput::PrefixedOutput(int rank) : prefix_("[rank " + std::to_string(rank) + "] ") {
  int ends[2] = {-1, -1};
  const int kept = ::dup(STDOUT_FILENO);
  if (kept < 0 || ::pipe(ends) != 0)
    return;
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[1]);
  to_ = kept;
  thread_ = std::thread([this, from = ends[0]] { pass_on(from); });
}

PrefixedOutput::~PrefixedOutput() {
  if (to_ < 0)
    return;
  std::fflush(stdout);
  ::dup2(to_, STDOUT_FILENO); // closes the pipe, so that the thread ends
  thread_.join();
  ::close(to_);
}

void PrefixedOutput::pass_on(int from) {
  std::string line;
  std::array<char, 4096> bytes{};
  for (ssize_t count; (count = ::read(from, bytes.data(), bytes.size())) != 0;) {
    if (count < 0 && errno != EINTR)
      break;
    line.append(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1))
      write_all(to_, prefix_ + line.substr(0, end + 1));
  }
  if (!line.empty())
    write_all(to_, prefix_ + line + "\n");
  ::close(from);
}

} // namespace omptool::worker
