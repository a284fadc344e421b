/* Figure 6.20: a league: each team is one initial thread, and calls a function of the device. */
#include "book.h"

enum { MOST = 256 };
struct seat {
  int teams, thread, threads, on_device, visits;
};

static void take_seat(struct seat* seats, int team, int teams, int thread, int threads) {
  if (team < MOST) {
    int const visits = seats[team].visits;
    seats[team] = (struct seat){teams, thread, threads, ON_DEVICE(), visits + 1};
  }
}
#pragma omp declare target(take_seat)

static int teams_of(const struct seat seats[MOST]) {
  int const teams = seats[0].teams;
  CHECK(teams >= 1);
  for (int team = 0; team < MOST; ++team) {
    struct seat const* seat = &seats[team];
    CHECK(seat->visits == (team < teams));
    CHECK(!seat->visits || (seat->teams == teams && seat->thread == 0 && seat->on_device));
  }
  return teams;
}

int main(void) {
  struct seat seats[MOST];
  memset(seats, 0, sizeof seats);
#pragma omp target teams map(tofrom : seats)
  {
    int const team = omp_get_team_num(), teams = omp_get_num_teams();
    int const thread = omp_get_thread_num(), threads = omp_get_num_threads();
    take_seat(seats, team, teams, thread, threads);
  }
  teams_of(seats);

  /* Libomp says that a league of one has as many threads as the machine has cores: ask a larger one. */
  memset(seats, 0, sizeof seats);
#pragma omp target teams map(tofrom : seats) num_teams(3)
  take_seat(seats, omp_get_team_num(), omp_get_num_teams(), omp_get_thread_num(), omp_get_num_threads());
  int const teams = teams_of(seats);
  CHECK(teams == 3);
  for (int team = 0; team < teams; ++team)
    CHECK(seats[team].threads == 1);
  return report();
}
