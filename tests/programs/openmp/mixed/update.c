/* A library that updates a section of bytes, and has no region. */
enum { COLUMNS = 30 };
void update(char (*a)[COLUMNS]);

void update(char (*a)[COLUMNS]) {
#pragma omp target update from(a[2 : 3][4 : 5])
}
