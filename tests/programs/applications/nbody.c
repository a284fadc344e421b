/* Bodies that draw each other: all pairs, two regions a step. Usage: nbody [BODIES] [STEPS] */
#include "application.h"

typedef struct {
  double x, y, z;
} vector;
#define SOFTENING 1e-3
#define STEP 1e-3

#pragma omp declare target
/* The change of a body's speed: the pull of all of them, itself included, which adds nothing. */
static vector pull(const vector* at, const double* mass, int bodies, int body) {
  vector sum = {0, 0, 0};
  for (int other = 0; other < bodies; ++other) {
    vector const d = {at[other].x - at[body].x, at[other].y - at[body].y, at[other].z - at[body].z};
    double const square = d.x * d.x + d.y * d.y + d.z * d.z + SOFTENING;
    double const weight = mass[other] / (square * sqrt(square));
    sum.x += weight * d.x;
    sum.y += weight * d.y;
    sum.z += weight * d.z;
  }
  return sum;
}
static void draw(const vector* at, vector* speed, const double* mass, int bodies, int body) {
  vector const sum = pull(at, mass, bodies, body);
  speed[body].x += STEP * sum.x;
  speed[body].y += STEP * sum.y;
  speed[body].z += STEP * sum.z;
}
static void move(vector* at, const vector* speed, int body) {
  at[body].x += STEP * speed[body].x;
  at[body].y += STEP * speed[body].y;
  at[body].z += STEP * speed[body].z;
}
#pragma omp end declare target

/* Returns the seconds of the fastest step. */
static double simulate_on_device(vector* at, vector* speed, const double* mass, int bodies, int steps) {
  double best = 0, start = seconds_now();
#pragma omp target data map(at[0 : bodies], speed[0 : bodies]) map(to : mass[0 : bodies])
  for (int i = 0; i < steps; ++i) {
#pragma omp target teams distribute parallel for
    for (int body = 0; body < bodies; ++body)
      draw(at, speed, mass, bodies, body);
#pragma omp target teams distribute parallel for
    for (int body = 0; body < bodies; ++body)
      move(at, speed, body);
    start = note(&best, start);
  }
  return best;
}

static void simulate_on_host(vector* at, vector* speed, const double* mass, int bodies, int steps) {
  for (int i = 0; i < steps; ++i) {
#pragma omp parallel for
    for (int body = 0; body < bodies; ++body)
      draw(at, speed, mass, bodies, body);
    for (int body = 0; body < bodies; ++body)
      move(at, speed, body);
  }
}

/* The same cloud for every run: multiples of an irrational number spread evenly. */
static void spread(vector* at, vector* speed, double* mass, int bodies) {
  for (int i = 0; i < bodies; ++i) {
    double const turn = i * 0.6180339887498949;
    at[i] = (vector){turn - floor(turn), fmod(3 * turn, 1), fmod(7 * turn, 1)};
    speed[i] = (vector){0, 0, 0};
    mass[i] = 1.0 / bodies;
  }
}

static double energy(const vector* speed, const double* mass, int bodies) {
  double sum = 0;
  for (int i = 0; i < bodies; ++i)
    sum += 0.5 * mass[i] * (speed[i].x * speed[i].x + speed[i].y * speed[i].y + speed[i].z * speed[i].z);
  return sum;
}

int main(int argc, char** argv) {
  int const bodies = argument(argc, argv, 1, 1000), steps = argument(argc, argv, 2, 20);
  vector *at = malloc(bodies * sizeof *at), *speed = malloc(bodies * sizeof *speed);
  vector *host_at = malloc(bodies * sizeof *at), *host_speed = malloc(bodies * sizeof *speed);
  double* mass = doubles(bodies);
  if (!at || !speed || !host_at || !host_speed)
    return 2;
  must_run_on_device();
  spread(at, speed, mass, bodies);
  double const seconds = simulate_on_device(at, speed, mass, bodies, steps);
  spread(host_at, host_speed, mass, bodies);
  simulate_on_host(host_at, host_speed, mass, bodies, steps);
  for (int i = 0; i < bodies; ++i) {
    must_agree("x", at[i].x, host_at[i].x, bodies);
    must_agree("y", at[i].y, host_at[i].y, bodies);
    must_agree("z", at[i].z, host_at[i].z, bodies);
  }
  printf("energy %.12g\n", energy(speed, mass, bodies));
  printf("pairs/s %.0f\n", 1.0 * bodies * bodies / seconds);
  free(at);
  free(speed);
  free(host_at);
  free(host_speed);
  free(mass);
  return 0;
}
