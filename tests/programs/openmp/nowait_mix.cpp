// Constructs with nowait among host tasks: every kind of depend clause, taskgroup, taskloop around regions, detach, and
// regions that are taken up in nested tasks. Each part computes one number.
#include "check.h"

#include <omp.h>
#include <unistd.h>

namespace {

enum { kWords = 32, kRounds = 12 };

// Sums of what readers saw between two writers.
long readers_and_writers() {
  long value = 0, seen[4] = {0};
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < kRounds; ++round) {
#pragma omp target nowait depend(out : value) map(tofrom : value)
    value += 1;
    for (int i = 0; i < 4; ++i) {
      long* const sum = &seen[i];
#pragma omp target nowait depend(in : value) depend(inout : sum[0]) map(to : value) map(tofrom : sum[0 : 1])
      sum[0] += value;
    }
#pragma omp task depend(in : value) depend(inout : seen[0]) shared(value, seen)
    seen[0] += value;
#pragma omp target nowait depend(inout : value) map(tofrom : value)
    value *= 2;
  }
  return value + seen[0] + seen[1] + seen[2] + seen[3];
}

// Tasks of the host and regions that exclude each other.
long one_at_a_time() {
  long count = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < kRounds; ++i) {
#pragma omp target nowait depend(mutexinoutset : count) map(tofrom : count)
      count += 1;
#pragma omp task depend(mutexinoutset : count) shared(count)
      {
        const long before = count;
        usleep(100);
        count = before + 100;
      }
    }
#pragma omp target nowait depend(inout : count) map(tofrom : count)
    count *= 2;
  }
  return count;
}

// A group ends when all regions of its tasks have.
long groups() {
  long words[kWords] = {0}, sum = 0;
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < kRounds; ++round) {
#pragma omp taskgroup
    for (int i = 0; i < kWords; i += 4) {
      long* const part = words + i;
#pragma omp task firstprivate(part)
      {
#pragma omp target nowait map(tofrom : part[0 : 4])
        for (int k = 0; k < 4; ++k)
          part[k] += k + 1;
      }
    }
    for (long word : words)
      sum += word;
  }
  return sum;
}

// Each task of the loop starts regions, and waits for its own.
long loops() {
  long words[kWords] = {0}, sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(4) shared(words)
  for (int i = 0; i < kWords; ++i) {
    long* const word = &words[i];
    for (int step = 0; step < 3; ++step) {
#pragma omp target nowait depend(inout : word[0]) map(tofrom : word[0 : 1]) firstprivate(i)
      word[0] = word[0] * 3 + i;
    }
#pragma omp taskwait
  }
  for (long word : words)
    sum += word;
  return sum;
}

// A region waits for a task that another thread completes.
long detached() {
  long value = 1;
  for (int round = 0; round < kRounds; ++round) {
    omp_event_handle_t event{};
#pragma omp parallel
#pragma omp single
    {
#pragma omp task detach(event) depend(out : value)
      {
      }
#pragma omp target nowait depend(inout : value) map(tofrom : value)
      value += 3;
#pragma omp task shared(value)
      {
        usleep(100);
        value *= 2; // before the region, which waits for the event
        omp_fulfill_event(event);
      }
    }
  }
  return value;
}

// Data that constructs with nowait map, update and release, outside of a parallel region.
long data() {
  long words[kWords] = {0}, more = 0, host = 0;
  for (int round = 0; round < kRounds; ++round) {
#pragma omp target enter data map(to : words) nowait depend(out : words)
#pragma omp target nowait depend(inout : words) map(alloc : words)
    for (int i = 0; i < kWords; ++i)
      words[i] += i;
#pragma omp target update from(words[0 : kWords / 2]) nowait depend(inout : words)
#pragma omp task depend(inout : words) shared(words, host)
    {
      host += words[kWords / 2 - 1];
      words[0] += 5;
    }
#pragma omp target update to(words[0 : 1]) nowait depend(inout : words)
#pragma omp target exit data map(from : words) nowait depend(inout : words)
#pragma omp taskwait
    more += words[0] + words[kWords - 1];
  }
  return more + host;
}

} // namespace

int main() {
  CHECK(readers_and_writers() == 8190 + 5 * 8178);
  CHECK(one_at_a_time() == 2 * 101 * kRounds);
  CHECK(groups() == 80 * kRounds * (kRounds + 1) / 2);
  CHECK(loops() == 13 * kWords * (kWords - 1) / 2);
  CHECK(detached() == 4096 + 3 * 4095);
  CHECK(data() == 78 * 5 + 78 * 31 + 78 * 15);
  return report();
}
