/* An image with a variable and a kernel of its own name, built several times (tests/CMakeLists.txt). */
int answer = ANSWER;
void tell(int* value) {
  *value = ANSWER;
}
void KERNEL(int* value) {
  *value = answer;
}
