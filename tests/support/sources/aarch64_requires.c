/* REQUIRED is the clause, if there is one. */
#ifdef REQUIRED
#pragma omp requires unified_shared_memory
#endif

int function(int* number) {
#pragma omp target map(tofrom : number[ : 1])
  number[0]++;
  return number[0];
}
