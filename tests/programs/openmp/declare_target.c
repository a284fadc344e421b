/* Global variables and functions on the device. */
#include "check.h"

double table[4] = {1, 2, 3, 4};
static int hidden[3] = {7, 8, 9};
int big[1000];
#pragma omp declare target(table, hidden)
#pragma omp declare target link(big)

#pragma omp declare target
int counter = 5;
static int twice(int x) { return 2 * x; }
#pragma omp end declare target

static void to(void) {
  double sum = 0;
#pragma omp target map(tofrom : sum)
  {
    sum = table[0] + table[3] + hidden[1];
    counter = twice(counter);
    table[1] = 20;
  }
  CHECK(sum == 13 && counter == 5 && table[1] == 2);
#pragma omp target update from(counter, table)
  CHECK(counter == 10 && table[1] == 20);
  counter = 100;
#pragma omp target update to(counter)
  int seen = 0;
#pragma omp target map(from : seen)
  seen = counter;
  CHECK(seen == 100);
#pragma omp target map(always, tofrom : table)
  table[2] = 30;
  CHECK(table[2] == 30 && omp_target_is_present(&counter, 0));
}

static void linked(void) {
  big[3] = 3;
  CHECK(!omp_target_is_present(big, 0));
#pragma omp target map(tofrom : big)
  big[3] += 1;
  CHECK(big[3] == 4);
#pragma omp target enter data map(to : big)
#pragma omp target
  big[999] = 999;
#pragma omp target exit data map(from : big)
  CHECK(big[999] == 999 && big[3] == 4);
}

/* Constants that regions just use are mapped both ways, but nothing can be copied back to them. */
static const double weights[3] = {0.5, 1.5, 2.5};
const int limits[2] = {10, 20};
static const char* const names[2] = {"first", "second"};

static void constants(int one) {
  static const int steps[2] = {3, 4};
  double sum = 0;
  int named = 0;
#ifndef ONLY_WHAT_LLVM_CAN
#pragma omp target map(tofrom : sum, named)
  {
    sum = weights[one] + limits[one] + steps[one];
    named = names[one] != 0;
  }
  CHECK(sum == 25.5 && named);
#pragma omp target teams distribute parallel for reduction(+ : sum)
  for (int i = 0; i < 3; ++i)
    sum += weights[i];
  CHECK(sum == 30);
#endif
#pragma omp target data map(to : weights)
#pragma omp target map(tofrom : sum)
  sum += weights[2 * one];
  CHECK(sum == 32.5 && !omp_target_is_present(weights, 0) && weights[1] == 1.5);
}

int main(int argc, char** argv) {
  (void)argv;
  to();
  linked();
  constants(argc > 0);
  return report();
}
