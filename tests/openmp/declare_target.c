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

int main(void) {
  to();
  linked();
  return report();
}
