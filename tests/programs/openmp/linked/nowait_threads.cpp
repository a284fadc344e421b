// Threads of the program with tasks of libomp's at once: chains of regions, chains of enter data, region and exit data,
// and regions without an order, on all devices.
//
// Usage: nowait_threads THREADS KIND ROUNDS
// KIND: chains, data, free, single (one parallel region in place of threads); the threads share the ROUNDS
//
// Threads end in turn, when all have done their work: libomp loses tasks when a thread ends, and may wait for ever when
// two end at once (docs/runtime.md).
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <omp.h>
#include <thread>
#include <vector>

namespace {

enum { kWords = 64, kMost = 5 };

struct Work {
  const char* kind;
  int rounds; // of each thread
  int devices;
  std::atomic<int> wrong{0};
};

// Returns how many times each word has been counted.
long make_tasks(const Work& work, unsigned& seed, long* words) {
  const int count = 1 + rand_r(&seed) % kMost, device = rand_r(&seed) % work.devices;
  if (!std::strcmp(work.kind, "data")) {
#pragma omp target enter data map(to : words[0 : kWords]) device(device) nowait depend(out : words[0])
#pragma omp target map(alloc : words[0 : kWords]) device(device) nowait depend(inout : words[0])
    for (int i = 0; i < kWords; ++i)
      words[i] += 1;
#pragma omp target exit data map(from : words[0 : kWords]) device(device) nowait depend(inout : words[0])
    return 1;
  }
  if (!std::strcmp(work.kind, "free")) { // of disjoint words
    for (int first = 0; first < kWords; first += kWords / 4) {
      long* const part = words + first;
#pragma omp target map(tofrom : part[0 : kWords / 4]) device(device) nowait
      for (int i = 0; i < kWords / 4; ++i)
        part[i] += 1;
    }
    return 1;
  }
  for (int i = 0; i < count; ++i) {
#pragma omp target map(tofrom : words[0 : kWords]) device(device) nowait depend(inout : words[0])
    for (int k = 0; k < kWords; ++k)
      words[k] += 1;
  }
  return count;
}

void check(Work& work, const long* words, long wanted) {
  for (int i = 0; i < kWords; ++i)
    work.wrong += words[i] != wanted;
}

void count_up(Work& work, unsigned seed) {
  std::vector<long> words(kWords);
  long wanted = 0;
  for (int round = 0; round < work.rounds; ++round) {
    wanted += make_tasks(work, seed, words.data());
#pragma omp taskwait
    check(work, words.data(), wanted);
  }
}

void count_in_threads(Work& work, int threads) {
  std::mutex mutex;
  std::condition_variable changed;
  int done = 0, may_end = 0; // may_end: how many of the threads, by their numbers
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      count_up(work, static_cast<unsigned>(i));
      std::unique_lock lock(mutex);
      ++done;
      changed.notify_all();
      changed.wait(lock, [&] { return done == threads && i < may_end; });
    });
  for (std::thread& one : all) {
    {
      const std::lock_guard lock(mutex);
      ++may_end;
    }
    changed.notify_all();
    one.join();
  }
}

void count_in_parallel(Work& work, int chains) {
  std::vector<long> words(static_cast<std::size_t>(chains) * kWords);
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < work.rounds; ++round) {
    std::vector<long> counted(static_cast<std::size_t>(chains));
    unsigned seed = static_cast<unsigned>(round);
    std::vector<long> before = words;
    for (int i = 0; i < chains; ++i)
      counted[static_cast<std::size_t>(i)] = make_tasks(work, seed, &words[static_cast<std::size_t>(i) * kWords]);
#pragma omp taskwait
    for (std::size_t i = 0; i < words.size(); ++i)
      work.wrong += words[i] != before[i] + counted[i / kWords];
  }
}

} // namespace

int main(int, char** words) {
  const int threads = std::atoi(words[1]);
  const bool is_single = !std::strcmp(words[2], "single");
  Work work{is_single ? "chains" : words[2], 1 + std::atoi(words[3]) / threads, omp_get_num_devices()};
  long first = 0; // libomp's helper threads begin with one task
#pragma omp target map(tofrom : first) nowait
  first += 1;
#pragma omp taskwait
  if (is_single)
    count_in_parallel(work, threads);
  else
    count_in_threads(work, threads);
  std::printf(first == 1 && work.wrong == 0 ? "right\n" : "wrong: %d\n", work.wrong.load());
  return first != 1 || work.wrong != 0;
}
