# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that LLVM's library has since 23 and 24, called by a program that clang 19 compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from clangs import compiled, run

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

PROGRAM = r"""
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

size_t omp_get_gprivate_limit(int device, int group);
void *__tgt_get_mapped_ptr(int64_t device, const void *host);
void __tgt_register_rpc_callback(unsigned (*)(void *, unsigned));

static unsigned answer(void *port, unsigned lanes) { return port != 0 && lanes != 0; }

int main(void) {
  int mapped = 1, unmapped = 2, host = omp_get_initial_device();
  __tgt_register_rpc_callback(answer);
#pragma omp target data map(to : mapped)
  printf("%d%d%d%d%d ", __tgt_get_mapped_ptr(0, &mapped) == omp_get_mapped_ptr(&mapped, 0),
         __tgt_get_mapped_ptr(0, &mapped) != &mapped,
         __tgt_get_mapped_ptr(0, &unmapped) == &unmapped,
         __tgt_get_mapped_ptr(host, &mapped) == &mapped,
         __tgt_get_mapped_ptr(1L << 32, &mapped) == &mapped);
  printf("%zu %zu %zu %zu\n", omp_get_gprivate_limit(0, 0), omp_get_gprivate_limit(0, 1),
         omp_get_gprivate_limit(host, 0), omp_get_gprivate_limit(77, 0));
  return 0;
}
"""


def test_they_answer_as_llvms_do_on_a_cpu(tmp_path: Path) -> None:
    source = tmp_path / "calls.c"
    source.write_text(PROGRAM)
    done = run(compiled(source, tmp_path, f"-L{libdir()}"))
    assert (done.returncode, done.stdout) == (0, "11111 0 0 0 0\n"), done.stderr
    assert done.stderr == ""
