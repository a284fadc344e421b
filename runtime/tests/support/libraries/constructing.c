/* A library of the host whose constructor and destructor call the program. */
extern void test_library_loads(void);
extern void test_library_goes(void);
__attribute__((constructor)) static void load(void) {
  test_library_loads();
}
__attribute__((destructor)) static void go(void) {
  test_library_goes();
}
