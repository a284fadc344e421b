! Stops in a region, with a code.
program stops
  implicit none
  integer :: x
  x = 3
  !$omp target map(to: x)
  if (x == 3) stop 3
  !$omp end target
  print '(a)', 'not reached'
end program
