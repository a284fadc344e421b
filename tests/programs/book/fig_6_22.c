/* Figure 6.22: each initial thread of the league is the master of a team of its own. */
#include "book.h"

enum { TEAMS = 4, THREADS = 5 };
struct seat {
  int teams, threads, on_device, visits;
};

static void take_seat(struct seat seats[TEAMS][THREADS], int team, int teams, int thread, int threads) {
  struct seat* const seat = &seats[team][thread];
  seat->teams = teams;
  seat->threads = threads;
  seat->on_device = ON_DEVICE();
  seat->visits += 1;
}
#pragma omp declare target(take_seat)

int main(void) {
  struct seat seats[TEAMS][THREADS];
  memset(seats, 0, sizeof seats);
#pragma omp target teams num_teams(4) map(tofrom : seats)
#pragma omp parallel num_threads(5)
  take_seat(seats, omp_get_team_num(), omp_get_num_teams(), omp_get_thread_num(), omp_get_num_threads());
  for (int team = 0; team < TEAMS; ++team) {
    int const threads = seats[team][0].threads; /* there may be fewer than asked for */
    CHECK(threads >= 1 && threads <= THREADS);
    for (int thread = 0; thread < THREADS; ++thread) {
      struct seat const* seat = &seats[team][thread];
      CHECK(seat->visits == (thread < threads));
      CHECK(!seat->visits || (seat->teams == TEAMS && seat->threads == threads && seat->on_device));
    }
  }
  return report();
}
