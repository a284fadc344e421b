/* A host without entries of its own. */
int g[3];
void f(void) {}
int main(void) { return 0; }
