/* The program has the same names, too: a kernel uses those of the image. */
int same_variable = 1;
__attribute__((weak)) int same_function(void) {
  return 10;
}
void use_same(int* out) {
  *out = same_variable + same_function();
  same_variable = 5;
}
