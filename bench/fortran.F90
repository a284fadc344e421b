! Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Times a saxpy and a stencil on a device, or with -DHOST by OpenMP's threads of the host: the best of some rounds, in
! seconds, and a checksum.
#ifdef HOST
#define LOOP parallel do
#else
#define LOOP target teams distribute parallel do
#endif
program fortran
  use omp_lib
  implicit none
  call saxpy(4000000, 20)
  call stencil(1000, 40)
contains
  subroutine saxpy(n, rounds)
    integer, intent(in) :: n, rounds
    real(8), allocatable :: x(:), y(:)
    real(8) :: began, best
    integer :: i, round
    allocate (x(n), y(n))
    x = 1
    y = 2
    best = huge(best)
    !$omp target data map(to: x) map(tofrom: y)
    do round = 1, rounds
      began = omp_get_wtime()
      !$omp LOOP
      do i = 1, n
        y(i) = y(i) + 0.5d0 * x(i)
      end do
      best = min(best, omp_get_wtime() - began)
    end do
    !$omp end target data
    print '(a, es12.5, es24.16)', 'saxpy ', best, sum(y)
  end subroutine

  subroutine stencil(n, rounds)
    integer, intent(in) :: n, rounds
    real(8), allocatable :: u(:, :), v(:, :)
    real(8) :: began, best
    integer :: i, j, round
    allocate (u(n, n), v(n, n))
    u = 0
    u(:, 1) = 1
    v = u
    best = huge(best)
    !$omp target data map(tofrom: u, v)
    do round = 1, rounds
      began = omp_get_wtime()
      !$omp LOOP collapse(2)
      do j = 2, n - 1
        do i = 2, n - 1
          v(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
        end do
      end do
      !$omp LOOP
      do j = 2, n - 1
        do i = 2, n - 1
          u(i, j) = v(i, j)
        end do
      end do
      best = min(best, omp_get_wtime() - began)
    end do
    !$omp end target data
    print '(a, es12.5, es24.16)', 'stencil ', best, sum(u)
  end subroutine
end program
