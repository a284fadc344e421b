/* Breaks a rule of data mapping: which one is a -D option. */
int x[10];

int main(void) {
#if defined(DATA)
#pragma omp target data map(present, to : x[0 : 5])
  ;
#elif defined(ENTER)
#pragma omp target enter data map(to : x[0 : 5])
#pragma omp target enter data map(to : x)
#elif defined(EXIT)
#pragma omp target exit data map(present, from : x)
#elif defined(REGION)
#pragma omp target map(present, to : x[0 : 5])
  x[0]++;
#elif defined(UPDATE)
#pragma omp target update from(present : x)
#elif defined(DEVICE)
#pragma omp target device(99)
  x[0]++;
#elif defined(EMPTY)
#pragma omp target exit data map(present, release : x[0 : 0])
#elif defined(GROWN)
#pragma omp target enter data map(to : x[0 : 5])
#pragma omp target enter data map(present, to : x)
#elif defined(GROWN_REGION)
#pragma omp target enter data map(to : x[0 : 5])
#pragma omp target map(present, to : x)
  x[0]++;
#else
#error "no rule to break"
#endif
  return 0;
}
