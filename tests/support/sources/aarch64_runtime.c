/* Says what it is told: a stand-in for libomptarget, whose regions all run on the host. */
#include <stdint.h>
#include <stdio.h>

struct descriptor {
  int32_t images;
  void* records;
  char *begin, *end;
};

static void say(const char* what, long number) {
  printf("%s %ld\n", what, number);
  fflush(stdout);
}

void __tgt_register_lib(const struct descriptor* told) {
  say("images", told->images);
  say("bytes of entries", told->end - told->begin);
}

void __tgt_unregister_lib(const struct descriptor* told) { say("unregistered", told->images); }

void __tgt_register_requires(int64_t flags) { say("requires", flags); }

int __tgt_target_kernel(void* place, int64_t device, int32_t teams, int32_t threads, void* kernel, void* arguments) {
  say("region with arguments", arguments != 0);
  return 1;
}
