module deep
  implicit none
  integer :: counter = 1
  !$omp declare target(counter)
contains
  subroutine outer(x)
    integer, intent(inout) :: x(:)
    call inner()
  contains
    subroutine inner()
      integer :: i
      !$omp target teams distribute parallel do map(tofrom: x)
      do i = 1, size(x)
        x(i) = x(i) + i * counter
      end do
    end subroutine
  end subroutine

  integer function next(n)
    integer, value :: n
    !$omp target map(tofrom: n)
    n = n + counter
    !$omp end target
    next = n
  end function
end module

program regions
  use deep
  implicit none
  integer :: x(10), on_device
  x = 0
  call outer(x)
  on_device = 0
  !$omp target map(tofrom: on_device)
  on_device = on_device + counter
  !$omp end target
  print '(3i4)', sum(x), next(1), on_device
end program
