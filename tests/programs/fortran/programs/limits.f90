! thread_limit below OpenMP 5.1, where only the kernel's environment has it: flang's default is 3.1.
program limits
  use omp_lib
  implicit none
  integer, parameter :: n = 100
  integer :: threads, limit, most, open_limit, i
  !$omp target teams num_teams(1) thread_limit(3) map(from: threads, limit)
  limit = omp_get_thread_limit()
  !$omp parallel num_threads(5)
  !$omp single
  threads = omp_get_num_threads()
  !$omp end single
  !$omp end parallel
  !$omp end target teams
  call expect('omp_get_thread_limit() of thread_limit(3)', limit, 3)
  call expect('num_threads(5) within thread_limit(3)', threads, 3)

  most = 0
  !$omp target teams distribute parallel do num_teams(2) thread_limit(2) map(tofrom: most)
  do i = 1, n
    !$omp atomic write
    most = omp_get_num_threads()
  end do
  if (most > 2) call expect('threads of a team within thread_limit(2)', most, 2)

  !$omp target teams num_teams(1) map(from: open_limit)
  open_limit = omp_get_thread_limit()
  !$omp end target teams
  if (open_limit == 256) error stop '256 without a clause is taken for a limit'
  print '(a)', 'ok'
contains
  include 'expect.inc'
end program
