/* A region of an inline function, and one of a template. */
inline int once(int x) {
#pragma omp target map(tofrom : x)
  x += x;
  return x;
}
template <class T> T twice(T x) {
#pragma omp target map(tofrom : x)
  x += x;
  return x;
}
