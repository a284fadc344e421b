/* Heat in a plate, in two halves that stay on the device; each step they tell each other the rows at their border,
 * through the host. Usage: stencil [ROWS] [COLUMNS] [STEPS]   (ROWS of each half) */
#include "application.h"

/* Rows 0 and rows + 1 of a half are not its own: the edge of the plate, or the other half's border. */
struct half {
  double *now, *next;
};

static void step(const double* restrict now, double* restrict next, int rows, int columns) {
#pragma omp parallel for
  for (int row = 1; row <= rows; ++row)
    for (int column = 1; column < columns - 1; ++column) {
      const double* at = &now[row * columns + column];
      next[row * columns + column] = 0.25 * (at[-columns] + at[columns] + at[-1] + at[1]);
    }
}
#pragma omp declare target(step)

static void step_on_device(struct half* half, int rows, int columns) {
  double *now = half->now, *next = half->next;
#pragma omp target
  step(now, next, rows, columns);
  half->now = next;
  half->next = now;
}

/* Row `from` of one half becomes row `to` of the other. */
static void send(double* source, int from, double* target, int to, int columns) {
#pragma omp target update from(source[from * columns : columns])
  memcpy(&target[to * columns], &source[from * columns], columns * sizeof *target);
#pragma omp target update to(target[to * columns : columns])
}

static struct half half_of(const double* plate, int first, int rows, int columns) {
  size_t const size = (size_t)(rows + 2) * columns;
  struct half half = {doubles(size), doubles(size)};
  memcpy(half.now, &plate[first * columns], size * sizeof(double));
  memcpy(half.next, half.now, size * sizeof(double));
  double *now = half.now, *next = half.next;
#pragma omp target enter data map(to : now[0 : size], next[0 : size])
  return half;
}

static void fetch(struct half half, double* plate, int first, int rows, int columns) {
  size_t const size = (size_t)(rows + 2) * columns;
  double *now = half.now, *next = half.next;
#pragma omp target exit data map(from : now[0 : size]) map(delete : next[0 : size])
  memcpy(&plate[(first + 1) * columns], &now[columns], (size_t)rows * columns * sizeof(double));
  free(now);
  free(next);
}

static double* plate_of(int rows, int columns) {
  double* const plate = doubles((size_t)rows * columns);
  for (int column = 0; column < columns; ++column)
    plate[column] = 100 + column % 17; /* the hot edge */
  for (int row = 1; row < rows - 1; ++row)
    plate[row * columns + columns / 2] = row % 29;
  return plate;
}

int main(int argc, char** argv) {
  int const rows = argument(argc, argv, 1, 512), columns = argument(argc, argv, 2, 1024);
  int const steps = argument(argc, argv, 3, 100), all = 2 * rows + 2;
  double *plate = plate_of(all, columns), *host = plate_of(all, columns), *next = plate_of(all, columns);
  must_run_on_device();
  struct half upper = half_of(plate, 0, rows, columns), lower = half_of(plate, rows, rows, columns);
  double best = 0, start = seconds_now();
  for (int i = 0; i < steps; ++i) {
    step_on_device(&upper, rows, columns);
    step_on_device(&lower, rows, columns);
    send(upper.now, rows, lower.now, 0, columns);
    send(lower.now, 1, upper.now, rows + 1, columns);
    start = note(&best, start);
  }
  fetch(upper, plate, 0, rows, columns);
  fetch(lower, plate, rows, rows, columns);

  for (int i = 0; i < steps; ++i) {
    step(host, next, 2 * rows, columns);
    double* const before = host;
    host = next;
    next = before;
  }
  double heat = 0;
  for (int i = 0; i < all * columns; ++i) {
    must_agree("a cell", plate[i], host[i], 1);
    heat += plate[i];
  }
  printf("heat %.12g\n", heat);
  printf("cells/s %.0f\n", 2.0 * rows * columns / best);
  free(plate);
  free(host);
  free(next);
  return 0;
}
