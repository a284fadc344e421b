/* Calls what named_region.c defines. */
int one(void), two(void);
int main(void) { return one() + two(); }
