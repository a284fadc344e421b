! Prints from the device and from the host.
program output
  implicit none
  integer :: i
  !$omp target map(to: i)
  print '(a)', 'one of the device'
  write (*, '(a, i0)') 'two of the device ', 2
  !$omp end target
  !$omp target teams distribute num_teams(3)
  do i = 1, 3
    print '(a, i0)', 'of a team ', i
  end do
  print '(a)', 'of the host'
end program
