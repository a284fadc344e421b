module lacking
  implicit none
  interface
    subroutine absent(x) bind(c)
      !$omp declare target
      integer, intent(inout) :: x
    end subroutine
  end interface
contains
  subroutine calls(x)
    integer, intent(inout) :: x
    !$omp target map(tofrom: x)
    call absent(x)
    !$omp end target
  end subroutine
end module

program main
  use lacking
  integer :: x
  x = 1
  call calls(x)
end program
