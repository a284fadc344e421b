// host.c, with comdat groups, thread-local and inline data: what a C++ compiler adds to relocations and groups.
#include <string>
#include <vector>

extern "C" {}
#include "host.c"

inline int shared_counter() { static int n = 0; return ++n; }
template <typename T> T twice(T x) {
  thread_local int calls;
  ++calls;
  return x + x + 0 * shared_counter();
}
std::string text() { std::vector<std::string> v{"a", "b"}; return v[0] + std::to_string(twice(2)); }
