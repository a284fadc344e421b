/* The structure of figure 6.39, and what its regions do with it. */
#ifndef PARCEL_H
#define PARCEL_H
#include "book.h"

typedef struct {
  int width, height, count, *items;
} parcel;

static inline int area(int width, int height) {
  return ON_DEVICE() ? width * height : -1;
}
static inline int total(const int* items, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += items[i];
  return ON_DEVICE() ? sum : -1;
}
static inline int widened(parcel* of) {
  return ON_DEVICE() ? ++of->width : -1;
}
#pragma omp declare target(area, total, widened)
#endif
