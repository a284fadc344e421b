! Reduces over teams, over threads, and over both.
program reductions
  implicit none
  integer, parameter :: n = 10000
  integer :: total, least, bits, i, round, array(3)
  real(8) :: sum, product
  logical :: all_of, any_of
  real(8) :: x(n)
  x = [(real(i, 8), i = 1, n)]
  do round = 1, 20
    sum = 0
    total = 7
    !$omp target teams distribute parallel do reduction(+: sum, total) map(tofrom: sum, total)
    do i = 1, n
      sum = sum + x(i)
      total = total + 1
    end do
    if (sum /= n * (n + 1) / 2d0 .or. total /= n + 7) error stop 'sums over teams and threads'
    total = 0
    !$omp target teams distribute parallel do num_teams(4) num_threads(3) reduction(+: total) map(tofrom: total)
    do i = 1, n
      total = total + i
    end do
    if (total /= n * (n + 1) / 2) error stop 'sums over four teams'
    total = 0
    !$omp target parallel do num_threads(4) reduction(+: total) map(tofrom: total)
    do i = 1, n
      total = total + 1
    end do
    if (total /= n) error stop 'sums over threads'
  end do
  least = huge(least)
  bits = 0
  product = 1
  all_of = .true.
  any_of = .false.
  !$omp target teams distribute parallel do map(tofrom: least, bits, all_of, any_of) num_teams(3) &
  !$omp& reduction(min: least) reduction(ior: bits) reduction(.and.: all_of) reduction(.or.: any_of)
  do i = 1, 1000
    least = min(least, abs(i - 500) + 3)
    bits = ior(bits, shiftl(1, mod(i, 20)))
    all_of = all_of .and. i > 0
    any_of = any_of .or. i == 777
  end do
  if (least /= 3 .or. bits /= 2**20 - 1) error stop 'min or ior'
  if (.not. all_of .or. .not. any_of) error stop '.and. or .or.'
  !$omp target parallel do num_threads(2) reduction(*: product) map(tofrom: product)
  do i = 1, 10
    product = product * i
  end do
  if (product /= 3628800) error stop 'products'
  array = 0
  !$omp target parallel do num_threads(3) reduction(+: array) map(tofrom: array)
  do i = 1, 99
    array(mod(i, 3) + 1) = array(mod(i, 3) + 1) + 1
  end do
  if (any(array /= 33)) error stop 'an array'
  print '(a)', 'ok'
end program
