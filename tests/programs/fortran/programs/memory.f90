! Allocates in regions, and maps what Fortran allocates: components, globals.
module held
  implicit none
  integer :: counter = 5
  !$omp declare target to(counter)
  real(8) :: table(4) = [1, 2, 3, 4]
  !$omp declare target link(table)
  type :: list
    integer :: count
    integer, allocatable :: values(:)
  end type
contains
  integer function doubled(x)
    !$omp declare target
    integer, intent(in) :: x
    doubled = 2 * x
  end function
  recursive integer function factorial(x) result(r)
    !$omp declare target
    integer, value :: x
    r = 1
    if (x > 1) r = x * factorial(x - 1)
  end function
end module
program memory
  use held
  implicit none
  integer, allocatable :: a(:)
  integer :: i, s, sizes(8), n
  type(list) :: o
  real(8) :: m(3, 3), v(3)
  character(16) :: text
  complex(8) :: z
  n = 40
  sizes = 0
  !$omp target teams distribute parallel do num_teams(2) map(tofrom: sizes)
  do i = 1, 8
    block
      integer, allocatable :: own(:)
      allocate (own(i))
      own = i
      sizes(i) = sum(own)
      deallocate (own)
    end block
  end do
  if (any(sizes /= [(i * i, i = 1, 8)])) error stop 'allocate in a region'

  allocate (a(n))
  a = 1
  !$omp target enter data map(to: a)
  !$omp target teams distribute parallel do
  do i = 1, n
    a(i) = a(i) + doubled(i)
  end do
  !$omp target update from(a)
  if (any(a /= [(2 * i + 1, i = 1, n)])) error stop 'update from'
  a = 0
  !$omp target update to(a)
  !$omp target map(from: s)
  s = sum(a) + size(a)
  !$omp end target
  !$omp target exit data map(release: a)
  if (s /= n) error stop 'update to'

  o%count = 3
  allocate (o%values(10))
  o%values = 2
  !$omp target map(tofrom: o)
  o%values = o%values * o%count
  o%count = size(o%values)
  !$omp end target
  if (o%count /= 10 .or. any(o%values /= 6)) error stop 'an allocatable component'

  !$omp target map(from: s)
  counter = counter + 1
  s = counter + factorial(5)
  !$omp end target
  if (s /= 126) error stop 'a global'
  !$omp target map(tofrom: table)
  table = table * 2
  !$omp end target
  if (any(table /= [2, 4, 6, 8])) error stop 'a global by link'

  m = 0
  do i = 1, 3
    m(i, i) = i
  end do
  v = 1
  z = (3, 4)
  text = 'device'
  !$omp target map(to: m) map(tofrom: v, text, z)
  v = matmul(m, v)
  text = trim(text)//'!'
  z = sqrt(z)
  !$omp end target
  if (any(v /= [1, 2, 3]) .or. text /= 'device!' .or. abs(z - (2, 1)) > 1d-12) error stop 'intrinsics'
  print '(a)', 'ok'
end program
