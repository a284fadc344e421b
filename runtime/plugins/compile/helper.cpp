// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "helper.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace omptool::compile {
namespace {

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Path of this library, read while it is loaded: later another thread may hold the dynamic linker's lock and wait for
// the caller.
const char* const own_library = [] {
  static const char here = 0;
  Dl_info info{};
  return ::dladdr(&here, &info) ? info.dli_fname : nullptr;
}();

// Finds the omptool of an installation that has this library at PREFIX/lib/pythonX.Y/site-packages/omptool/_runtime/lib
// or, after `pip install --target`, at DIR/omptool/….
std::string of_own_installation() {
  const std::string library = own_library ? own_library : "";
  const std::string folder = library.substr(0, library.rfind('/') + 1);
  if (folder.empty())
    return {};
  for (const char* const up : {"../../../../../../", "../../../"})
    if (const std::string path = folder + up + "bin/omptool"; is_program(path))
      return path;
  return {};
}

std::string of_path() {
  const char* const path = ::secure_getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, end));
    if (folder.starts_with('/') && is_program(folder + "/omptool"))
      return folder + "/omptool";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

// Passes the program's environment on, without the variables that would load this runtime or the program's tools into
// the helper.
std::vector<char*> passed_environment() {
  std::vector<char*> kept;
  for (char** one = environ; one && *one; ++one) {
    const std::string_view text = *one;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("LD_AUDIT="))
      kept.push_back(*one);
  }
  kept.push_back(nullptr);
  return kept;
}

// Closes all files but the standard streams. Before glibc 2.34: those that are open now.
void close_others(posix_spawn_file_actions_t& files) {
#if __GLIBC_PREREQ(2, 34)
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#else
  DIR* const open_files = ::opendir("/proc/self/fd");
  while (const dirent* const one = open_files ? ::readdir(open_files) : nullptr)
    if (const int number = std::atoi(one->d_name); number > STDERR_FILENO)
      ::posix_spawn_file_actions_addclose(&files, number);
  if (open_files)
    ::closedir(open_files);
#endif
}

// Lets the helper begin without the program's files, without blocked signals, and with the default action of each
// signal that it needs.
class Beginning {
public:
  explicit Beginning(const std::string& log) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    close_others(files_);
    sigset_t none, defaults;
    ::sigemptyset(&none);
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGCHLD);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Beginning() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// Blocks SIGCHLD until the child is reaped, as system() does, so that a handler on this thread finds no child.
class ChildSignalHeld {
public:
  ChildSignalHeld() {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &child, &before_);
  }
  ~ChildSignalHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ChildSignalHeld(const ChildSignalHeld&) = delete;
  ChildSignalHeld& operator=(const ChildSignalHeld&) = delete;

private:
  sigset_t before_{};
};

// Prints a line when the child runs long. Kernels older than 5.3 cannot wait with a timeout, so no line is printed
// there.
void report_if_slow(pid_t child, const Job& job) {
  constexpr int kSlow = 3000;       // milliseconds
  constexpr int kMostSeconds = 600; // packager/lowering/child.py ends it then
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (ended < 0)
    return;
  pollfd waited{ended, POLLIN, 0};
  const char* const quiet = ::secure_getenv("OMPTOOL_QUIET");
  if (::poll(&waited, 1, kSlow) == 0 && !(quiet && std::strcmp(quiet, "1") == 0))
    ::dprintf(STDERR_FILENO,
              "omptarget: omptool lower is compiling a bitcode image for %s, and ends after %d s at most\n",
              job.triple.c_str(), kMostSeconds);
  ::close(ended);
}

End end_of(int status) {
  if (WIFSIGNALED(status))
    return {"omptool lower was ended by signal " + std::to_string(WTERMSIG(status))};
  const int code = WEXITSTATUS(status);
  return {code == 0 ? "" : "omptool lower ended with exit code " + std::to_string(code), code};
}

} // namespace

std::string find_helper() {
  const std::string own = of_own_installation();
  return own.empty() ? of_path() : own;
}

End run_helper(const std::string& helper, const Job& job) {
  std::vector<std::string> words{helper, "lower", "--triple", job.triple, "-o", job.output, job.image};
  if (!job.cpu.empty())
    words.insert(words.end(), {"--cpu", job.cpu});
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Beginning beginning(job.log);
  const ChildSignalHeld held;
  pid_t child = 0;
  if (const int error = ::posix_spawn(&child, helper.c_str(), &beginning.files_, &beginning.attributes_,
                                      arguments.data(), passed_environment().data()))
    return {helper + " cannot be started: " + std::strerror(error)};
  report_if_slow(child, job);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) // ECHILD: the program ignores SIGCHLD, or has waited for it
      return {"omptool lower ended without an image and without a reason"};
  return end_of(status);
}

} // namespace omptool::compile
