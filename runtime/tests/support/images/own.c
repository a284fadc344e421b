/* What the program has, too, under the same names: a kernel's are the image's. */
int same_variable = 1;
__attribute__((weak)) int same_function(void) {
  return 10;
}
void use_same(int* out) {
  *out = same_variable + same_function();
  same_variable = 5;
}
