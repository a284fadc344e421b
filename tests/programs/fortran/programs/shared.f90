! Regions of Fortran and of C in one image, and functions of C that a region of Fortran calls.
module of_c
  use iso_c_binding
  interface
    subroutine c_region(a, n, teams) bind(c)
      import
      integer(c_int) :: a(*), teams
      integer(c_int), value :: n
    end subroutine
    integer(c_int) function c_sum(n) bind(c)
      import
      !$omp declare target
      integer(c_int), value :: n
    end function
  end interface
end module
program shared
  use of_c
  use omp_lib
  implicit none
  integer(c_int) :: a(100), s, i, of_fortran, of_c_teams
  a = 0
  do i = 1, 3
    call run()
  end do
  if (any(a /= 9)) error stop 'regions'
  print '(a)', 'ok'
contains
  subroutine run()
    integer :: k
    call c_region(a, 100, of_c_teams)
    if (of_c_teams /= 2) error stop 'teams of C'
    !$omp target teams distribute parallel do map(tofrom: a)
    do k = 1, 100
      a(k) = a(k) + 1
    end do
    !$omp target teams num_teams(5) map(from: of_fortran)
    if (omp_get_team_num() == 4) of_fortran = omp_get_num_teams()
    !$omp end target teams
    if (of_fortran /= 5) error stop 'teams of Fortran'
    s = 0
    !$omp target map(from: s)
    s = c_sum(100)
    !$omp end target
    if (s /= 5050) error stop 'a function of C'
  end subroutine
end program
