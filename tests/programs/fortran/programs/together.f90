! Lets the threads of a team work together: barriers, atomics, critical, single, master, tasks.
program together
  implicit none
  integer :: a(1000), s, count, order, i, round, x, y, fib(2)
  do round = 1, 50
    a = 0
    s = 0
    !$omp target map(tofrom: a, s)
    !$omp parallel num_threads(4)
    !$omp do
    do i = 1, 1000
      a(i) = i
    end do
    !$omp end do
    !$omp single
    s = sum(a)
    !$omp end single
    !$omp end parallel
    !$omp end target
    if (s /= 500500) error stop 'no barrier after a loop'
  end do

  count = 0
  order = 0
  !$omp target parallel num_threads(4) map(tofrom: count, order) private(i)
  do i = 1, 200
    !$omp atomic update
    count = count + 1
    !$omp critical
    order = order + 1
    !$omp end critical
  end do
  !$omp end target parallel
  if (count /= 800) error stop 'atomic'
  if (order /= 800) error stop 'critical'

  count = 0
  !$omp target teams distribute parallel do num_teams(4) num_threads(2) map(tofrom: count)
  do i = 1, 1000
    !$omp critical (of_all)
    count = count + 1
    !$omp end critical (of_all)
  end do
  if (count /= 1000) error stop 'critical in teams'

  s = 0
  x = 0
  !$omp target parallel num_threads(3) map(tofrom: s, x)
  !$omp single
  x = 42
  !$omp end single
  !$omp atomic
  s = s + x
  !$omp barrier
  !$omp master
  s = s + 1000
  !$omp end master
  !$omp end target parallel
  if (s /= 3 * 42 + 1000) error stop 'single, barrier or master'

  fib = 0
  !$omp target map(tofrom: fib)
  !$omp parallel num_threads(2)
  !$omp single
  !$omp task shared(fib)
  fib(1) = 13
  !$omp end task
  !$omp task shared(fib)
  fib(2) = 21
  !$omp end task
  !$omp taskwait
  fib(1) = fib(1) + fib(2)
  !$omp end single
  !$omp end parallel
  !$omp end target
  if (fib(1) /= 34) error stop 'tasks'

  y = 5
  !$omp target map(tofrom: y) map(from: x)
  !$omp atomic capture
  x = y
  y = y + 1
  !$omp end atomic
  !$omp end target
  if (x /= 5 .or. y /= 6) error stop 'atomic capture'
  print '(a)', 'ok'
end program
