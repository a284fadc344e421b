/* Maps a struct member by member, on device 1. */
struct box {
  int width, depth;
};

int main(void) {
  struct box box = {2, 3};
#pragma omp target enter data map(to : box.width) device(1)
#pragma omp target map(box.depth) device(1)
  ++box.depth;
#pragma omp target exit data map(delete : box.width) device(1)
  return box.depth != 4;
}
