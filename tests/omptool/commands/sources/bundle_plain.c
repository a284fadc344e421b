int table[4];
void second(void) {}
void first(void) {}
void only_host(void) {}
