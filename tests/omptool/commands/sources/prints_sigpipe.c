/* Prints whether SIGPIPE was ignored when it was started. */
#include <signal.h>
#include <stdio.h>

int main(void) { puts(signal(SIGPIPE, SIG_DFL) == SIG_DFL ? "default" : "ignored"); }
