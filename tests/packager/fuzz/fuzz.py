# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Coverage-guided fuzzing of the readers with atheris (libFuzzer); its options follow.

Usage: python tests/packager/fuzz/fuzz.py WORK [-runs=N] [-max_total_time=SECONDS] [-seed=N]

New inputs go to WORK/found, which begins empty; one that fails is WORK/crash-<hash>, and the last
line names it. It belongs into corpus/, under a name that says what is wrong with it.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import atheris

HERE = Path(__file__).parent
MAX_LENGTH = 1 << 14

# Import modules from the tree: atheris does not instrument modules of an editable install's finder.
sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
sys.path[:0] = [str(HERE.parents[2]), str(HERE)]
with atheris.instrument_imports(include=["packager"]):
    from mutate import mutated
    from target import check

    import packager

    # Import all modules now: commands import most of them only when needed, too late for
    # instrumentation.
    for module in walk_packages(packager.__path__, "packager."):
        if not module.name.startswith("packager.lowering"):  # which fuzzing does not call
            import_module(module.name)


def changed(data: bytes, max_size: int, seed: int) -> bytes:
    """Return the next input: half are changed in structured fields, the others by libFuzzer."""
    chance = random.Random(seed)
    if chance.random() < 0.5:
        return bytes(atheris.Mutate(data, max_size))
    return mutated(data, chance)[:max_size]


def main() -> None:
    """Fuzz until libFuzzer's limits are reached or an input fails."""
    work = Path(sys.argv[1])
    (work / "found").mkdir(parents=True, exist_ok=True)
    path = work / "input"

    def one(data: bytes) -> None:
        path.write_bytes(data)
        check(path)

    options = [f"-artifact_prefix={work}/", f"-max_len={MAX_LENGTH}", "-timeout=20"]
    folders = [str(work / "found"), str(HERE / "corpus")]
    words = [sys.argv[0], *options, *sys.argv[2:], *folders]
    atheris.Setup(words, one, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
