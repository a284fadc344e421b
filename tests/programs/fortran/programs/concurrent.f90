! do concurrent on the device: -fdo-concurrent-to-openmp=device.
program concurrent
  implicit none
  integer, parameter :: n = 500
  integer :: a(n), b(n, 3), i, j
  a = 1
  b = 0
  do concurrent (i = 1:n)
    a(i) = a(i) + i
  end do
  do concurrent (j = 1:3, i = 1:n)
    b(i, j) = 10 * i + j
  end do
  do i = 1, n
    if (a(i) /= i + 1 .or. any(b(i, :) /= [10 * i + 1, 10 * i + 2, 10 * i + 3])) error stop 'do concurrent'
  end do
  print '(a)', 'ok'
end program
