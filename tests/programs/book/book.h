/* What every program here uses. Exit code 0 and "ok": everything held. */
#ifndef BOOK_H
#define BOOK_H
#include "../openmp/check.h"

/* For use inside a region: MANDATORY alone would not notice one that clang made no kernel of. */
#define ON_DEVICE() (!omp_is_initial_device())
#endif
