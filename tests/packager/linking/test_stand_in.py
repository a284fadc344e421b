# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of clang-linker-wrapper as those of `omptool link`."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain import omptool

from omptool.options.stand_in import translated
from packager.errors import UsageError

LINKER = "--host-triple=x86_64-pc-linux-gnu --linker-path=/usr/bin/ld"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (f"{LINKER} -- -o app a.o", "-- /usr/bin/ld -o app a.o"),
        (f"--opt-level=O3 --device-debug {LINKER} a.o", "-O 3 -- /usr/bin/ld a.o"),
        (f"--device-compiler=x86_64-pc-linux-gnu=-O1 --device-compiler=-g {LINKER} a.o",
         "-O 1 -- /usr/bin/ld a.o"),
        (f"--device-linker=a=-b --wrapper-verbose {LINKER} --verbose a.o",
         "--device-linker=a=-b -v -- /usr/bin/ld --verbose a.o"),
        (f"--offload-opt=-pass-remarks=inline -mllvm -x --wrapper-jobs=jobserver {LINKER} a.o",
         "-- /usr/bin/ld a.o"),
        (f"--ptxas-arg=-v --ptxas-arg=-maxrregcount=32 {LINKER} a.o",
         "--ptxas-arg=-v --ptxas-arg=-maxrregcount=32 -- /usr/bin/ld a.o"),
        (f"--save-temps {LINKER} -o b/app a.o",
         "--save-temps=b/app.temps -- /usr/bin/ld -o b/app a.o"),
    ],
)  # fmt: skip
def test_what_they_mean(given: str, expected: str) -> None:
    assert translated(given.split()) == expected.split()


@pytest.mark.parametrize("word", ["--embed-bitcode", "--emit-fatbin-only", "--override-image=a=b"])
def test_what_is_not_done(word: str) -> None:
    with pytest.raises(UsageError, match=f"{word}: omptool's stand-in"):
        translated([word, *LINKER.split()])


def test_arguments_in_a_response_file(tmp_path: Path) -> None:
    """Clang passes arguments in a response file if they are too long for a command."""
    words = tmp_path / "words"
    words.write_text(f'{LINKER.replace("/usr/bin/ld", "true")} "--dry-run" "a b.o"')
    done = omptool("link", f"@{words}")
    assert (done.exit_code, done.stderr) == (0, "true 'a b.o'\n")
