/* One member is mapped, and a region maps another and reads both. */
struct box {
  int width, height, depth;
};

int main(void) {
  struct box box = {6, 7, 8};
  int looked = 0;
#pragma omp target enter data map(to : box.width)
#pragma omp target map(to : box.depth) map(from : looked) /* OMP305 */
  looked = box.depth + (box.width != 12345);
#pragma omp target exit data map(delete : box.width)
  return looked != 9;
}
