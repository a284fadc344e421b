/* Two libraries, of two clangs: each update is read as its own clang means it, whichever file is still there, and which
   of the two is loaded where the other was. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 20, COLUMNS = 30 };
typedef void Update(char (*a)[COLUMNS]);

/* Returns how many bytes come back, where they should, and where else. */
static void try_update(Update *update) {
  char a[ROWS][COLUMNS];
  memset(a, 0, sizeof a);
#pragma omp target data map(to : a)
  {
#pragma omp target
    for (int i = 0; i < ROWS; ++i)
      for (int j = 0; j < COLUMNS; ++j)
        a[i][j] = 1;
    update(a);
  }
  int sum = 0, right = 0;
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) {
      sum += a[i][j];
      right += a[i][j] && i >= 2 && i < 5 && j >= 4 && j < 9;
    }
  printf("%d %d\n", sum, right);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW);
    if (!library)
      return fprintf(stderr, "%s\n", dlerror());
    Update *update = (Update *)dlsym(library, "update");
    try_update(update);
    unlink(argv[i]);
    try_update(update);
    dlclose(library);
  }
  return 0;
}
