! simd in its combinations, and functions of vectors.
program vectors
  implicit none
  integer, parameter :: n = 1000
  real(8) :: x(n), y(n), dot
  integer :: i
  x = [(i * 0.5d0, i = 1, n)]
  y = 1
  !$omp target simd map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = y(i) + 2 * x(i)
  end do
  call check('target simd', 1d0)
  !$omp target teams distribute parallel do simd num_teams(3) map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = y(i) + 1
  end do
  call check('distribute parallel do simd', 2d0)
  !$omp target parallel do simd simdlen(8) num_threads(2) map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = y(i) + 1
  end do
  call check('parallel do simd', 3d0)
  !$omp target teams distribute simd map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = y(i) + 1
  end do
  call check('distribute simd', 4d0)
  dot = 0
  !$omp target teams distribute parallel do simd reduction(+: dot) map(to: x) map(tofrom: dot)
  do i = 1, n
    dot = dot + x(i) * 2
  end do
  if (dot /= n * (n + 1) / 2d0) error stop 'a sum'
  print '(a)', 'ok'
contains
  subroutine check(what, more)
    character(*), intent(in) :: what
    real(8), intent(in) :: more
    integer :: k
    do k = 1, n
      if (y(k) /= k + more) then
        print '(a, a, i0, a, f8.2)', what, ': element ', k, ' is ', y(k)
        error stop
      end if
    end do
  end subroutine
end program
