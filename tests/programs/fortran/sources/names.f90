! Maps variables, and leaves one mapped.
subroutine work(a, b, n)
  implicit none
  integer, intent(in) :: n
  real, intent(inout) :: a(n), b(n)
  integer :: i
  !$omp target enter data map(to: b(2:n))
  !$omp target teams distribute parallel do map(tofrom: a(1:n))
  do i = 1, n
    a(i) = a(i) + 1
  end do
end subroutine

program names
  implicit none
  real :: a(10), b(10)
  a = 1
  b = 2
  call work(a, b, 10)
  print '(f4.1)', sum(a)
end program
