"""Coverage-guided fuzzing of the readers with atheris (libFuzzer); its options follow.

Usage: python tests/fuzz/fuzz.py WORK [-runs=N] [-max_total_time=SECONDS] [-seed=N]

New inputs go to WORK/found, which begins empty; one that fails is WORK/crash-<hash>, and the last
line names it. It belongs into corpus/, under a name that says what is wrong with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

HERE = Path(__file__).parent
MAX_LENGTH = 1 << 14

# Modules from the tree: atheris does not instrument what an editable install's own finder finds.
sys.meta_path[:] = [f for f in sys.meta_path if "Redirecting" not in type(f).__name__]
sys.path[:0] = [str(HERE.parent.parent), str(HERE)]
with atheris.instrument_imports(include=["packager"]):
    from target import check

    from omptool import cli, dumped, extracted, verified  # noqa: F401
    from packager import extract, gcc_program, kernel_names, locate, segments  # noqa: F401
    from packager.formats import (  # noqa: F401
        bundle_section,
        clang_bundle,
        compressed_bundle,
        cuda_fatbin,
        device_elf,
        hip_fatbin,
        kernel_resources,
        magic,
        ptx,
        spirv,
        text_bundle,
    )


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
    atheris.Setup([sys.argv[0], *options, *sys.argv[2:], *folders], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
