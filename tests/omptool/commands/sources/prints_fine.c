#include <stdio.h>

int main(void) { puts("fine"); }
