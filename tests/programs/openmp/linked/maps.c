/* A library that maps what it is given. Without the region it would have no image. */
int *map(int *p);
int *map(int *p) {
#pragma omp target enter data map(to : p[0 : 4])
  return p;
}

void region(void);
void region(void) {
#pragma omp target
  ;
}
