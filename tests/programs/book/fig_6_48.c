/* Figure 6.48: one array stays on the device for two regions; another comes back always, mapped or not. */
#include "book.h"

enum { N = 4096 };
static double out[N], in[N];

static double largest(const double* restrict values) {
  double most = values[0];
  for (int i = 1; i < N; ++i)
    most = values[i] > most ? values[i] : most;
  return most;
}

static int normalise(double factor, double shift) {
  int first = 0, second = 0;
#pragma omp target data map(in)
  {
#pragma omp target map(in) map(always, from : out) firstprivate(factor, shift) map(from : first)
    {
      first = ON_DEVICE();
      for (int i = 0; i < N; ++i)
        out[i] = in[i] * factor + shift;
    }
    double const most = largest(out);
    in[5] = -1; /* the device's stays */
#pragma omp target map(in) firstprivate(most) map(from : second)
    {
      second = ON_DEVICE();
      for (int i = 0; i < N; ++i)
        in[i] = in[i] / most;
    }
    CHECK(in[5] == -1);
  }
  return first && second;
}

static void is_normal(int with_out_present) {
  for (int i = 0; i < N; ++i)
    in[i] = i;
  memset(out, 0, sizeof out);
  if (with_out_present) {
#pragma omp target enter data map(to : out)
  }
  CHECK(normalise(2, 2));
  if (with_out_present) {
    CHECK(omp_target_is_present(out, omp_get_default_device()));
#pragma omp target exit data map(delete : out)
  }
  for (int i = 0; i < N; ++i)
    CHECK(out[i] == 2.0 * i + 2 && in[i] == i / (2.0 * N));
}

int main(void) {
  is_normal(0);
  is_normal(1);
  return report();
}
