// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the MPI of this process.
#include "families.h"
#include "library.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace omptool::mpi {
namespace {

constexpr const char* kOpenMpi[] = {"libmpi.so.40"};
constexpr const char* kOthers[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12", "libmpich.so.12"};

std::string path_of(const void* function) {
  Dl_info found{};
  return ::dladdr(function, &found) && found.dli_fname ? found.dli_fname : "";
}

// The library is open. Null, and why: it cannot be used.
std::unique_ptr<Mpi> of_library(void* library, std::string& reason) {
  const std::string path = path_of(::dlsym(library, "MPI_Init_thread"));
  std::unique_ptr<Mpi> made;
  if (::dlsym(library, "ompi_mpi_comm_world"))
    made = Library<OpenMpi>::make(library, reason);
  else if (path.find("libmpi_abi.") != std::string::npos)
    made = Library<Standard>::make(library, reason);
  else
    made = Library<Mpich>::make(library, reason);
  if (made)
    made->path = path;
  else
    reason = path + ": " + reason;
  return made;
}

// Returns the programs that started this process, nearest first.
std::vector<std::string> programs_above() {
  constexpr int kMost = 6;
  std::vector<std::string> programs;
  long process = ::getppid();
  for (int i = 0; i < kMost && process > 1; ++i) {
    std::array<char, 4096> path{};
    const std::string folder = "/proc/" + std::to_string(process);
    if (::readlink((folder + "/exe").c_str(), path.data(), path.size() - 1) > 0)
      programs.emplace_back(path.data());
    std::ifstream status(folder + "/stat"); // "pid (name) state parent ...", and the name may have any character
    std::string line;
    std::getline(status, line);
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos || end + 4 > line.size())
      break;
    process = std::strtol(line.c_str() + end + 4, nullptr, 10);
  }
  return programs;
}

// The folders of libraries beside the launcher's own program: an installation's lib/ beside its bin/.
std::vector<std::string> folders_of_launcher() {
  std::vector<std::string> folders;
  for (const std::string& program : programs_above()) {
    const std::size_t slash = program.rfind('/');
    const std::string name = program.substr(slash + 1);
    for (const char* const one : {"mpi", "orte", "prte", "prun", "hydra"})
      if (slash != std::string::npos && name.starts_with(one))
        for (const char* const beside : {"/../lib/", "/../lib/x86_64-linux-gnu/", "/../lib64/", "/../lib/release/"})
          folders.push_back(program.substr(0, slash) + beside);
  }
  return folders;
}

// The names of libraries, those of the launcher's kind first. Slurm starts programs of all MPIs; PMIx's are mostly Open
// MPI's.
std::vector<std::string> names_to_try() {
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMIX_RANK");
  std::vector<std::string> names(std::begin(kOthers), std::end(kOthers));
  names.insert(is_open_mpi ? names.begin() : names.end(), std::begin(kOpenMpi), std::end(kOpenMpi));
  return names;
}

// RTLD_GLOBAL: Open MPI's own plugins look for its symbols there.
void* opened(const std::string& name) {
  return ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

} // namespace

const char* name_of(Level level) {
  constexpr const char* kNames[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                    "MPI_THREAD_MULTIPLE"};
  return kNames[static_cast<std::size_t>(level)];
}

std::unique_ptr<Mpi> open(std::string& reason) {
  if (::dlsym(RTLD_DEFAULT, "MPI_Init_thread")) {
    std::unique_ptr<Mpi> programs = of_library(RTLD_DEFAULT, reason);
    if (programs)
      programs->is_programs = true;
    return programs;
  }
  if (const char* const named = ::secure_getenv("OMPTOOL_MPI"); named && *named) {
    void* const library = opened(named);
    if (library && ::dlsym(library, "MPI_Init_thread"))
      return of_library(library, reason);
    reason = "OMPTOOL_MPI names " + (library ? named + std::string(", which is no MPI") : ::dlerror());
    return nullptr;
  }
  std::vector<std::string> folders = folders_of_launcher();
  folders.emplace_back(); // as the loader finds it
  for (const std::string& folder : folders)
    for (const std::string& name : names_to_try())
      if (void* const library = opened(folder + name))
        return of_library(library, reason);
  reason = "no MPI is found; OMPTOOL_MPI names the file of its library (libmpi.so.40, libmpi.so.12, ...)";
  return nullptr;
}

} // namespace omptool::mpi
