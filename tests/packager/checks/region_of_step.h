/* A region without a function: included where there is one. */
#pragma omp target map(tofrom : x)
x += STEP;
