# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs to verify, and what `verify` finds in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from documents import document
from sarif_schema import run_of
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    PTX,
    X86_64,
    bundled,
    compile_c,
    device_image,
    fake_runtime,
    linked,
    omptool,
    run,
)


class Bench:
    """Builds the sound program, or one with a fault in the host, the image or the PTX."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = fake_runtime(folder)

    def object(self, name: str, host: str = HOST, device: str = HOST, ptx: str = PTX) -> Path:
        """Make the bundled object."""
        plain = compile_c(host + MAIN, self.folder / f"{name}.o", "-c", "-fPIC")
        image = device_image(device, self.folder / f"{name}.so")
        text = self.folder / f"{name}.ptx"
        text.write_text(ptx)
        images = {X86_64: image, f"{NVPTX}:sm_70": text}
        return bundled(plain, self.folder / f"{name}-bundled.o", images)

    def program(self, name: str, *flags: str, **sources: str) -> Path:
        """Link the bundled object."""
        inputs = [self.object(name, **sources)]
        return linked(inputs, self.folder / name, *flags, runtime=self.runtime)


def findings(path: Path, *options: str) -> list[dict[str, Any]]:
    """Return what verify finds, through its JSON and its SARIF, which must fit their schemas.

    That an image is PTX (OMP116) is true of most programs of the tests, and left out.
    """
    if "--select" not in options:
        options = ("--ignore", "OMP116", *options)
    result = omptool("verify", "--json", *options, path)
    (file,) = document("verify", result.stdout)["files"]
    has_error = any(finding["severity"] == "error" for finding in file["findings"])
    assert result.exit_code == (1 if has_error else 0)
    log = run_of(omptool("verify", "--sarif", *options, path).stdout)
    told = [(result["ruleId"], result["properties"]["entry"]) for result in log["results"]]
    assert told == [(finding["code"], finding["entry"]) for finding in file["findings"]]
    return list(file["findings"])


def found(path: Path) -> set[tuple[str, str]]:
    return {(finding["code"], finding["severity"]) for finding in findings(path)}


def merging_script(out: Path, section: str, *emulation: str) -> Path:
    """Write bfd's own script with the entries at the start of .data."""
    script = run("ld.bfd", *emulation, "--verbose").split("=" * 50)[1]
    merged = (
        f".data : {{ __start_{section} = .; KEEP(*({section})) __stop_{section} = .;"
        " *(.data .data.*) } .rest :"
    )
    changed = re.sub(r"\.data +:", merged, script, count=1)
    assert changed != script
    out.write_text(changed)
    return out
