/* A device image whose section .comment names the clangs that have compiled it: `record` takes its arguments as those
 * have it. FORM is 0 (without a launch environment), 1 (with one first) or 2 (an array of addresses). */
__asm__(".ident \"" CLANGS "\"");

void* seen[24];

enum { kArguments = 8 };

static void keep(void* const* all) {
  for (int i = 0; i < kArguments; ++i)
    seen[i] = all[i];
}

#if FORM == 2
void record(void** arguments) {
  for (int i = 0; i < kArguments; ++i)
    seen[i] = *(void**)arguments[i];
}
void add_one(void** arguments) {
  int* const values = *(int**)arguments[0];
  for (long i = 0; i < *(long*)arguments[1]; ++i)
    ++values[i];
}
#else
#if FORM == 1
#define ENVIRONMENT void *environment,
#else
#define ENVIRONMENT
#endif
void record(ENVIRONMENT void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h) {
  void* const all[kArguments] = {a, b, c, d, e, f, g, h};
  keep(all);
}
void add_one(ENVIRONMENT int* values, long count) {
  for (long i = 0; i < count; ++i)
    ++values[i];
}
#endif
