// A program with the objects in it.
#include "objects.cpp"

int main() {
  std::printf("%d ", use());
  return 0;
}
