! Runs loops of every schedule, and counts how often each iteration ran.
program schedules
  implicit none
  integer, parameter :: n = 1003
  integer :: ran(n), grid(17, 23), i, j
  integer(8) :: k
  ran = 0
  !$omp target teams distribute parallel do map(tofrom: ran)
  do i = 1, n
    ran(i) = ran(i) + 1
  end do
  call check('distribute parallel do')
  !$omp target teams distribute parallel do num_teams(3) dist_schedule(static, 50) schedule(static, 7) num_threads(2) &
  !$omp& map(tofrom: ran)
  do i = 1, n
    ran(i) = ran(i) + 1
  end do
  call check('blocks of both')
  !$omp target parallel do schedule(dynamic, 5) num_threads(4) map(tofrom: ran)
  do i = 1, n
    ran(i) = ran(i) + 1
  end do
  call check('dynamic')
  !$omp target parallel do schedule(guided) num_threads(3) map(tofrom: ran)
  do i = n, 1, -1
    ran(i) = ran(i) + 1
  end do
  call check('guided, backwards')
  !$omp target parallel do schedule(static, 1) num_threads(3) map(tofrom: ran)
  do i = 1, n
    ran(i) = ran(i) + 1
  end do
  call check('static, 1')
  !$omp target parallel do schedule(runtime) map(tofrom: ran)
  do k = 1_8, int(n, 8)
    ran(k) = ran(k) + 1
  end do
  call check('of 8 bytes')
  !$omp target teams distribute num_teams(5) map(tofrom: ran)
  do k = 2_8 * n, 2_8, -2_8
    ran(k / 2) = ran(k / 2) + 1
  end do
  call check('distribute of 8 bytes')
  !$omp target parallel do num_threads(2) map(tofrom: ran)
  do i = 1, n, 2
    ran(i) = ran(i) + 1
    if (i < n) ran(i + 1) = ran(i + 1) + 1
  end do
  call check('every second')
  !$omp target teams distribute parallel do map(tofrom: ran)
  do i = 5, 4
    ran(i) = ran(i) + 1
  end do
  if (any(ran /= 0)) error stop 'a loop without iterations ran'
  grid = 0
  !$omp target teams distribute parallel do collapse(2) num_teams(4) map(tofrom: grid)
  do j = 1, 23
    do i = 1, 17
      grid(i, j) = grid(i, j) + i + 100 * j
    end do
  end do
  do j = 1, 23
    do i = 1, 17
      if (grid(i, j) /= i + 100 * j) error stop 'collapse(2)'
    end do
  end do
  print '(a)', 'ok'
contains
  subroutine check(what)
    character(*), intent(in) :: what
    if (any(ran /= 1)) then
      print '(a, a, i0, a)', what, ': ', count(ran /= 1), ' iterations did not run once'
      error stop
    end if
    ran = 0
  end subroutine
end program
