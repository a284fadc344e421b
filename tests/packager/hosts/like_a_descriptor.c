/* Small numbers before pointers, as in a descriptor, and no offload code. */
extern char **environ;
struct {
  long n;
  void *a, *b, *c;
} like[4] = {{1, like, like, like}, {2, like, like + 1, like}};
int main(void) { return environ == 0 || like[1].n != 2; }
