// A kernel to look at in a debugger: it runs for some seconds, or ends by SIGSEGV.
#include <stdio.h>
#include <stdlib.h>

// Not to be counted at once.
#pragma omp declare target
static volatile long nothing;
static long next(long sum, long round) { return sum + round + nothing; }
#pragma omp end declare target

int main(int count, char **words) {
  const long rounds = count > 1 ? atol(words[1]) : 1;
  long sum = 0;
#pragma omp target map(tofrom : sum)
  {
    for (long round = 0; round < rounds; ++round)
      sum = next(sum, round); // here
    if (rounds < 0)
      *(volatile int *)8 = 1; // there
  }
  printf("%ld\n", sum);
  return 0;
}
