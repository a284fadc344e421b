# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The omptool command line, and its functions for programs: `import omptool` (docs/python.md).

The functions are those of packager. Python imports it at the first use of one.
"""

from __future__ import annotations

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    import packager

    if name == "__all__":
        return packager.__all__
    if name in packager.__all__:
        return getattr(packager, name)
    raise AttributeError(f"module 'omptool' has no attribute {name!r}")


def __dir__() -> list[str]:
    import packager

    return sorted({*globals(), *packager.__all__})
