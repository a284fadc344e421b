/* The image of a second library; `counter` is a variable that main.c has too. */
int counter = 1000;
void other_add_hundred(int* value) {
  *value += 100;
}
void add_counter(int* value) {
  *value += counter;
}
