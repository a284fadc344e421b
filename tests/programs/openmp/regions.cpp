// What regions do: reductions of all kinds, atomics, locks, tasks, loops, exceptions, arguments of every size.
#include "check.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct Complex {
  double real = 0, imaginary = 0;
  Complex& operator+=(const Complex& other) {
    real += other.real;
    imaginary += other.imaginary;
    return *this;
  }
};

struct Least {
  double value;
  int at;
};
#pragma omp declare reduction(least:Least : omp_out = omp_in.value < omp_out.value ? omp_in : omp_out)                 \
    initializer(omp_priv = Least{1e30, -1})
#pragma omp declare reduction(+ : Complex : omp_out += omp_in)

static void user_defined_reductions() {
  double a[100];
  for (int i = 0; i < 100; ++i)
    a[i] = (i * 37 + 5) % 101;
  Least least = {1e30, -1};
#pragma omp target teams distribute parallel for reduction(least : least) map(to : a) map(tofrom : least)
  for (int i = 0; i < 100; ++i)
    if (a[i] < least.value)
      least = Least{a[i], i};
  CHECK(least.value == 0 && a[least.at] == 0);
  Complex sum = {1, 1};
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
  for (int i = 0; i < 1000; ++i)
    sum += Complex{static_cast<double>(i), static_cast<double>(-i)};
  CHECK(sum.real == 499501 && sum.imaginary == -499499);
}

static void reductions_of_sections() {
  int h[8] = {0}, *p = h;
#pragma omp target teams distribute parallel for reduction(+ : h[ : 8]) map(tofrom : h)
  for (int i = 0; i < 1000; ++i)
    h[i % 8] += i;
  int sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += h[i];
  CHECK(sum == 499500 && h[3] - h[2] == 125);
#pragma omp target teams distribute reduction(max : p[2 : 3]) map(tofrom : p[0 : 8])
  for (int i = 0; i < 99999; ++i)
    if (p[2 + i % 3] < i)
      p[2 + i % 3] = i;
  CHECK(h[2] == 99996 && h[3] == 99997 && h[4] == 99998 && h[1] < 99996);
}

static void all_operators() {
  int x = 0, any = 0, all = ~0, every = 1, some = 0;
  long product = 1;
  float lowest = 1e9F;
#pragma omp target teams distribute parallel for reduction(^ : x) reduction(| : any) reduction(& : all)                \
    reduction(&& : every) reduction(|| : some) reduction(* : product) reduction(min : lowest)
  for (int i = 1; i <= 20; ++i) {
    x ^= i * 7;
    any |= i;
    all &= ~i | 0xff00;
    every = every && i > 0;
    some = some || i > 19;
    product *= i;
    lowest = lowest < static_cast<float>(i) ? lowest : static_cast<float>(i);
  }
  int expected = 0;
  for (int i = 1; i <= 20; ++i)
    expected ^= i * 7;
  CHECK(x == expected && any == 31 && all == ~31 && every == 1 && some == 1);
  CHECK(product == 2432902008176640000L && lowest == 1);
}

static void scans() {
  int a[20], sums[20], sum = 0;
  for (int i = 0; i < 20; ++i)
    a[i] = i + 1;
#pragma omp target map(to : a) map(from : sums) map(tofrom : sum)
#pragma omp parallel for reduction(inscan, + : sum)
  for (int i = 0; i < 20; ++i) {
    sum += a[i];
#pragma omp scan inclusive(sum)
    sums[i] = sum;
  }
  CHECK(sums[0] == 1 && sums[4] == 15 && sums[19] == 210);
}

static void synchronisation() {
  int sum = 0, captured = 0, seen[100] = {0}, locked = 0, ids = 0;
  double halves = 0;
  unsigned char mixed = 0;
#pragma omp target map(tofrom : sum, captured, seen, locked, ids, halves, mixed)
  {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 100; ++i) {
      int mine = 0;
#pragma omp atomic
      sum += i;
#pragma omp atomic capture
      mine = captured++;
      seen[mine] = 1;
#pragma omp atomic update seq_cst
      halves += 0.5;
#pragma omp atomic
      mixed ^= static_cast<unsigned char>(i);
      omp_set_lock(&lock);
      ++locked;
      omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
#pragma omp parallel num_threads(4)
    {
#pragma omp critical
      ids |= 1 << omp_get_thread_num();
#pragma omp barrier
#pragma omp single
      ids += 100 * omp_get_num_threads();
    }
  }
  int all = 0;
  for (int i = 0; i < 100; ++i)
    all += seen[i];
  CHECK(sum == 4950 && captured == 100 && all == 100 && halves == 50 && mixed == 0 && locked == 100 && ids == 415);
}

static void loops() {
  int a[200];
  memset(a, 0, sizeof a);
#pragma omp target parallel for schedule(dynamic, 3) map(tofrom : a)
  for (int i = 0; i < 200; ++i)
    ++a[i];
#pragma omp target parallel for schedule(guided) map(tofrom : a)
  for (int i = 0; i < 200; ++i)
    ++a[i];
#pragma omp target teams distribute dist_schedule(static, 7) map(tofrom : a)
  for (int i = 0; i < 200; ++i)
    ++a[i];
#pragma omp target teams distribute parallel for simd collapse(2) schedule(static, 2) map(tofrom : a)
  for (int i = 19; i >= 0; --i)
    for (int j = 0; j < 10; ++j)
      ++a[10 * i + j];
#pragma omp target parallel for ordered map(tofrom : a)
  for (int i = 1; i < 200; ++i)
#pragma omp ordered
    a[i] += a[i - 1];
  CHECK(a[0] == 4 && a[1] == 8 && a[199] == 800);
}

static void arguments() {
  signed char c = -3;
  unsigned short s = 60000;
  wchar_t w = L'x';
  __int128 wide = (static_cast<__int128>(1) << 100) + 7;
  WIDE extended = 1.5;
  enum class Kind : unsigned char { kSome = 250 } kind = Kind::kSome;
  struct {
    char a, b, c;
  } three = {1, 2, 3};
  struct {
    double a[200];
  } large;
  for (int i = 0; i < 200; ++i)
    large.a[i] = i;
  static double huge[300000];
  huge[299999] = 5;
  long out[9] = {0};
#pragma omp target firstprivate(large, huge, wide) map(from : out)
  {
    large.a[3] = huge[0] = 100;
    out[0] = c;
    out[1] = s;
    out[2] = w;
    out[3] = static_cast<long>(wide >> 98);
    out[4] = static_cast<long>(extended * 2);
    out[5] = static_cast<int>(kind);
    out[6] = three.a + 10 * three.b + 100 * three.c;
    out[7] = static_cast<long>(large.a[199] + large.a[3]);
    out[8] = static_cast<long>(huge[299999]);
  }
  CHECK(out[0] == -3 && out[1] == 60000 && out[2] == 'x' && out[3] == 4 && out[4] == 3 && out[5] == 250);
  CHECK(out[6] == 321 && out[7] == 299 && out[8] == 5 && large.a[3] == 3 && huge[0] == 0);
}

#define TEN(each, x)                                                                                                   \
  each(x##0) each(x##1) each(x##2) each(x##3) each(x##4) each(x##5) each(x##6) each(x##7) each(x##8) each(x##9)
#define EACH(each) TEN(each, 1) TEN(each, 2) TEN(each, 3) TEN(each, 4) TEN(each, 5) TEN(each, 6)
#define DECLARE(n) int value##n = n, array##n[3] = {n, n, n};
#define USE(n) total += value##n + array##n[2], array##n[1] = -n;
#define SUM(n) written += array##n[1];

static void many_arguments() {
  int total = 0, written = 0;
  EACH(DECLARE)
#pragma omp target map(tofrom : total)
      {EACH(USE)} EACH(SUM) CHECK(total == 2 * 2370 && written == -2370);
}

static void the_library() {
  double root = 0, gamma = 0;
  int caught = 0, length = 0, listed = 0, teams = 0, limit = 0, times = 0;
#pragma omp target map(from : root, gamma, listed) map(tofrom : caught, length)
  {
    root = hypot(3, 4) + sqrt(2.25);
    gamma = tgamma(5.0);
    try {
      if (length == 0)
        throw 5;
    } catch (int what) {
      caught = what;
    }
    char* const text = static_cast<char*>(malloc(100));
    strcpy(text, "text");
    length = static_cast<int>(strlen(text));
    free(text);
    int* const allocated = static_cast<int*>(omp_alloc(40, omp_default_mem_alloc));
    allocated[9] = 9;
    listed = allocated[9];
    omp_free(allocated, omp_default_mem_alloc);
  }
  CHECK(root == 6.5 && gamma == 24 && caught == 5 && length == 4 && listed == 9);
#pragma omp target teams map(tofrom : teams, limit) reduction(+ : times)
  {
    if (omp_get_team_num() == 0) {
      teams = omp_get_num_teams();
      limit = omp_get_thread_limit();
    }
    ++times;
  }
  CHECK(teams == times && teams >= 1 && limit >= 1);
}

int main() {
  user_defined_reductions();
  reductions_of_sections();
  all_operators();
  scans();
  synchronisation();
  loops();
  arguments();
  many_arguments();
  the_library();
  return report();
}
