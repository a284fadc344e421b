// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over teams of any size, over many teams, over more words than one launch of a small buffer, and by
// launches of one image at the same time. Says "ok".
#include "../openmp/check.h"

enum { N = 10000, WORDS = 64, TEAMS = 1000, LAUNCHES = 8 };

static void of_shape(int teams, int threads) {
  long sum = 0;
  double fraction = 0;
  int largest = -1, smallest = N;
#pragma omp target teams distribute parallel for num_teams(teams) thread_limit(threads) reduction(+ : sum, fraction)   \
    reduction(max : largest) reduction(min : smallest)
  for (int i = 0; i < N; ++i) {
    const int value = (int)((i * 7919L) % N);
    sum += value;
    fraction += 0.5 * value;
    largest = value > largest ? value : largest;
    smallest = value < smallest ? value : smallest;
  }
  CHECK(sum == (long)N * (N - 1) / 2);
  CHECK(fraction == 0.25 * N * (N - 1));
  CHECK(largest == N - 1 && smallest == 0);
}

// TEAMS records of WORDS words.
static void of_many_words(void) {
  long words[WORDS] = {0};
#pragma omp target teams distribute parallel for num_teams(TEAMS) map(tofrom : words) reduction(+ : words)
  for (int i = 0; i < N; ++i)
    for (int w = 0; w < WORDS; ++w)
      words[w] += i + w;
  for (int w = 0; w < WORDS; ++w)
    CHECK(words[w] == (long)N * (N - 1) / 2 + (long)N * w);
}

static void at_once(void) {
  long sums[LAUNCHES] = {0};
  for (int round = 0; round < 5; ++round) {
    for (int l = 0; l < LAUNCHES; ++l)
      sums[l] = 0;
    for (int l = 0; l < LAUNCHES; ++l) {
      long* const sum = &sums[l];
#pragma omp target teams distribute parallel for num_teams(24) nowait map(tofrom : sum[ : 1]) reduction(+ : sum[ : 1])
      for (int i = 0; i < N; ++i)
        sum[0] += i * (l + 1L);
    }
#pragma omp taskwait
    for (int l = 0; l < LAUNCHES; ++l)
      CHECK(sums[l] == (l + 1L) * N * (N - 1) / 2);
  }
}

int main(void) {
  const int sizes[] = {1, 2, 24, 37, 256};
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    of_shape(1, sizes[i]);
    of_shape(7, sizes[i]);
    of_shape(TEAMS, sizes[i]);
  }
  of_many_words();
  at_once();
  return report();
}
