! Array expressions that teams share: -fopenmp-version=60.
program workdistribute
  implicit none
  integer, parameter :: n = 300
  real(8) :: x(n), y(n), a
  integer :: i
  x = [(real(i, 8), i = 1, n)]
  y = 2
  a = 3
  !$omp target teams workdistribute map(to: x) map(tofrom: y)
  y = a * x + y
  !$omp end target teams workdistribute
  if (any(y /= 3 * x + 2)) error stop 'workdistribute'
  !$omp target map(tofrom: y)
  !$omp parallel num_threads(3)
  !$omp workshare
  y = y + 1
  !$omp end workshare
  !$omp end parallel
  !$omp end target
  if (any(y /= 3 * x + 3)) error stop 'workshare'
  print '(a)', 'ok'
end program
