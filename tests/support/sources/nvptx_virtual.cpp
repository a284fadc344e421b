// A region that calls a virtual function of an object that the host made.
#pragma omp begin declare target
struct Shape {
  virtual int area() const { return 1; }
  virtual int edges() const { return 0; }
};
struct Square : Shape {
  int side;
  explicit Square(int its_side) : side(its_side) {}
  int area() const override { return side * side; }
};
#pragma omp end declare target

int main() {
  Square square(7);
  int area = 0;
#pragma omp target map(to : square) map(from : area)
  {
    Square made(1);
    const Shape *shape = made.side == 1 ? static_cast<Shape *>(&square) : &made;
    area = shape->area();
  }
  return 0;
}
