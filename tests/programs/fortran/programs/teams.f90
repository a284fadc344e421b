! Asks teams and threads who they are: as many as the clauses say.
program teams
  use omp_lib
  implicit none
  integer, parameter :: n = 400
  integer :: owner(n), seen(0:n), number, threads, limit, most, i, k, sums(20)
  logical :: on_host, in_parallel
  owner = -1
  !$omp target teams distribute num_teams(4) map(tofrom: owner) map(from: number)
  do i = 1, n
    owner(i) = omp_get_team_num()
    if (i == 1) number = omp_get_num_teams()
  end do
  call expect('num_teams(4)', number, 4)
  seen = 0
  do i = 1, n
    seen(owner(i)) = seen(owner(i)) + 1
  end do
  call expect('the iterations of each of 4 teams', count(seen(0:3) == 100), 4)

  !$omp target map(from: number, on_host)
  number = omp_get_num_teams() + 10 * omp_get_team_num()
  on_host = omp_is_initial_device()
  !$omp end target
  call expect('a target region without teams', number, 1)
  if (on_host) error stop 'the region is on the host'

  !$omp target if(.false.) map(from: on_host)
  on_host = omp_is_initial_device()
  !$omp end target
  if (.not. on_host) error stop 'if(.false.) is not on the host'

  !$omp target parallel num_threads(5) map(from: threads)
  !$omp single
  threads = omp_get_num_threads()
  !$omp end single
  !$omp end target parallel
  call expect('num_threads(5)', threads, 5)

  !$omp target teams num_teams(1) thread_limit(2) map(from: threads, limit)
  !$omp parallel num_threads(7)
  !$omp single
  threads = omp_get_num_threads()
  limit = omp_get_thread_limit()
  !$omp end single
  !$omp end parallel
  !$omp end target teams
  call expect('num_threads(7) under thread_limit(2)', threads, 2)
  call expect('the limit', limit, 2)

  most = 0
  !$omp target teams num_teams(3) reduction(max: most)
  most = omp_get_num_teams()
  !$omp end target teams
  call expect('num_teams(3)', most, 3)

  !$omp target map(from: in_parallel, k)
  in_parallel = omp_in_parallel()
  k = 0
  !$omp parallel num_threads(2)
  !$omp master
  if (omp_in_parallel() .and. omp_get_level() == 1) k = omp_get_num_procs()
  !$omp end master
  !$omp end parallel
  !$omp end target
  if (in_parallel) error stop 'the region itself is parallel'
  if (k < 1) error stop 'a parallel region does not know that it is one'

  sums = 0
  !$omp target teams distribute num_teams(3) map(tofrom: sums)
  do k = 1, 20
    !$omp parallel do num_threads(2)
    do i = 1, 20
      !$omp atomic
      sums(k) = sums(k) + i
    end do
  end do
  call expect('parallel regions in teams', count(sums == 210), 20)
  print '(a)', 'ok'
contains
  include 'expect.inc'
end program
