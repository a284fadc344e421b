/* A plugin that is none: it does what DOES says when it is opened. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void opened(void) { DOES; }
