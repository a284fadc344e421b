// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/writer.h"

#include "process/message.h"
#include "trace/rank.h"

#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace omptool::trace {
namespace {

std::string with(std::string path, const char* placeholder, const std::string& number) {
  for (std::size_t at = path.find(placeholder); at != std::string::npos; at = path.find(placeholder, at))
    path.replace(at, 2, number);
  return path;
}
// Returns the path with the process's numbers. Without a job, the process is the only one of its program.
std::string with_numbers(const std::string& path) {
  const std::string rank = rank_of_process();
  return with(with(path, "%p", std::to_string(::getpid())), "%r", rank.empty() ? "0" : rank);
}

// Never a file that is there, nor through a link: it may be another user's (decision 37).
File make(const std::string& path) {
  return File(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

// Returns whether the path is a regular file. A symlink is not: its owner may want to have another file overwritten.
// Keeps errno.
bool is_regular(const std::string& path) {
  const int error = errno;
  struct stat status{};
  const bool is_file = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  errno = error;
  return is_file;
}

} // namespace

Writer::Writer(const Wanted& wanted, Names& names, std::uint64_t start)
    : path_(with_numbers(wanted.path)), limit_(wanted.limit),
      format_(wanted.is_perfetto ? perfetto_format(names, start) : json_format(names, start)) {
  file_ = make(path_);
  if (!file_ && errno == EEXIST && !is_regular(path_)) {
    say("the runtime writes no trace: %s is not a regular file", path_.c_str());
    return;
  }
  if (!file_ && errno == EEXIST) { // of an earlier run, or of another process of this one
    const std::string other = path_ + "." + std::to_string(::getpid());
    file_ = make(other);
    if (file_)
      say("the trace of process %d goes to %s: %s is there already", ::getpid(), other.c_str(), path_.c_str());
    path_ = other;
  }
  if (!file_) {
    say("the runtime writes no trace: %s: %s", path_.c_str(), std::strerror(errno));
    return;
  }
  format_->begin(text_);
  put();
}

void Writer::write(std::span<const Record> records) {
  constexpr std::size_t kAtOnce = 1 << 16;
  for (const Record& record : records) {
    if (!file_)
      return;
    format_->add(record, text_);
    if (text_.size() >= kAtOnce)
      put();
  }
  put();
}

void Writer::finish() {
  if (!file_)
    return;
  format_->end(text_);
  put();
  file_ = File(-1);
}

void Writer::put() {
  if (!file_ || text_.empty())
    return;
  written_ += text_.size();
  if (written_ > limit_)
    return give_up("it has reached " + std::to_string(limit_ >> 20) +
                   " MiB (OMPTOOL_TRACE_LIMIT); what follows is not in it");
  if (!file_.write(Bytes(reinterpret_cast<const std::byte*>(text_.data()), text_.size())))
    return give_up(std::strerror(errno));
  text_.clear();
}

void Writer::give_up(const std::string& why) {
  say("the trace %s ends here: %s", path_.c_str(), why.c_str());
  file_ = File(-1);
  text_.clear();
}

} // namespace omptool::trace
