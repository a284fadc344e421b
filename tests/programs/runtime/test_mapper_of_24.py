# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user-defined mapper as clang 24 compiles it: it maps members, and no room for their pointers.

Of `map(a.n, a.p[0:a.n])` it pushes four bytes for n, the section, and an attach of a.p, which lies
beside n. On LLVM's runtime the kernel reads the pointer behind those four bytes, and crashes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from clangs import UNPACKED_SNAPSHOTS, compiled, program_of, run

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

OF_A_COMPILER = """
#include <stdio.h>
#include <stdlib.h>
typedef struct { int n; double *p; } A;
typedef struct { double *p; int n; } B;
#pragma omp declare mapper(A a) map(a.n, a.p[0:a.n])
#pragma omp declare mapper(B b) map(b.n, b.p[0:b.n])
int main(void) {
  A a = {10, malloc(10 * sizeof(double))};
  B b = {malloc(10 * sizeof(double)), 10};
  for (int i = 0; i < 10; i++) a.p[i] = b.p[i] = i;
#pragma omp target map(tofrom : a, b)
  for (int i = 0; i < a.n && i < b.n; i++) {
    a.p[i] *= 2;
    b.p[i] *= 3;
  }
  printf("%g %g %d %d\\n", a.p[9], b.p[9], a.n, b.n);
  return 0;
}
"""
BY_HAND = """
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { TO = 1, FROM = 2, ATTACH = 0x4000 };
void __tgt_push_mapper_component(void *, void *, void *, int64_t, int64_t, void *);
void __tgt_target_data_begin_mapper(void *, int64_t, int32_t, void **, void **, int64_t *,
                                    int64_t *, void **, void **);
void __tgt_target_data_end_mapper(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *,
                                  void **, void **);
typedef struct { int n; double *p; } A;
static void mapper(void *handle, void *base, void *begin, int64_t size, int64_t type, void *name) {
  A *a = begin;
  (void)base, (void)size, (void)name;
  __tgt_push_mapper_component(handle, &a->n, &a->n, sizeof a->n, type & (TO | FROM), 0);
  __tgt_push_mapper_component(handle, a->p, a->p, a->n * sizeof *a->p, type & (TO | FROM), 0);
  __tgt_push_mapper_component(handle, &a->p, a->p, sizeof a->p, ATTACH, 0);
}
int main(void) {
  A a = {10, calloc(10, sizeof(double))};
  void *place = &a, *mappers[] = {(void *)mapper};
  int64_t size = sizeof a, type = TO | FROM;
  a.p[9] = 7;
  __tgt_target_data_begin_mapper(0, 0, 1, &place, &place, &size, &type, 0, mappers);
  double *pointer = 0, value = 0;
  int host = omp_get_initial_device();
  A *there = omp_get_mapped_ptr(&a, 0);
  omp_target_memcpy(&pointer, &there->p, sizeof pointer, 0, 0, host, 0);
  if (pointer)
    omp_target_memcpy(&value, pointer + 9, sizeof value, 0, 0, host, 0);
  int same = pointer == omp_get_mapped_ptr(a.p, 0);
  printf("%d %d %g\\n", omp_target_is_present(&a.p, 0), same, value);
  __tgt_target_data_end_mapper(0, 0, 1, &place, &place, &size, &type, 0, mappers);
  printf("%d %d\\n", omp_target_is_present(&a.n, 0), omp_target_is_present(a.p, 0));
#pragma omp target
  ;
  return 0;
}
"""


def test_a_pointer_beside_the_mapped_members_is_attached(tmp_path: Path) -> None:
    (tmp_path / "mapper.c").write_text(BY_HAND)
    done = run(compiled(tmp_path / "mapper.c", tmp_path, f"-L{libdir()}"))
    assert (done.returncode, done.stdout) == (0, "1 1 7\n0 0\n"), done.stderr


@pytest.mark.parametrize("version", UNPACKED_SNAPSHOTS)
def test_a_mapper_of_the_compiler(tmp_path: Path, version: str) -> None:
    done = run(program_of(version, OF_A_COMPILER, tmp_path / "mapper.c"))
    assert (done.returncode, done.stdout) == (0, "18 27 10 10\n"), done.stderr


@pytest.mark.parametrize(("word", "value"), [("", "1"), ("true", "5")])
def test_llvms_variable_attaches_each_time(tmp_path: Path, word: str, value: str) -> None:
    """LIBOMPTARGET_TREAT_ATTACH_AUTO_AS_ALWAYS: an old pointer follows the host's new value."""
    (tmp_path / "always.c").write_text(BY_HAND.split("int main", maxsplit=1)[0] + ALWAYS)
    program = compiled(tmp_path / "always.c", tmp_path, f"-L{libdir()}", "-Wno-unused-function")
    done = run(program, LIBOMPTARGET_TREAT_ATTACH_AUTO_AS_ALWAYS=word)
    assert (done.returncode, done.stdout) == (0, f"{value}\n"), done.stderr


ALWAYS = """
int main(void) {
  static double first[2] = {1, 1}, second[2] = {5, 5}, *p = first;
#pragma omp target enter data map(to : p, first, second)
  void *base[] = {&p}, *begin[] = {first};
  int64_t size[] = {sizeof p}, type[] = {ATTACH | 4};
  __tgt_target_data_begin_mapper(0, 0, 1, base, begin, size, type, 0, 0);
  p = second;
  begin[0] = second;
  type[0] = ATTACH;
  __tgt_target_data_begin_mapper(0, 0, 1, base, begin, size, type, 0, 0);
  double *pointer = 0, value = 0;
  int host = omp_get_initial_device();
  omp_target_memcpy(&pointer, omp_get_mapped_ptr(&p, 0), sizeof pointer, 0, 0, host, 0);
  omp_target_memcpy(&value, pointer, sizeof value, 0, 0, host, 0);
  printf("%g\\n", value);
#pragma omp target
  ;
  return 0;
}
"""
