# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console script, and `python -m omptool`."""

from __future__ import annotations

# The built-in module: `signal` is Python code and imports more, during which an interrupt would
# reach Python's own handler.
import _signal  # type: ignore[import-not-found]

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import gc
import os
import sys


def main() -> None:
    """Run the command line."""
    # A command's records live until its end. Garbage collection takes a fifth of the time of a
    # large `verify` and a tenth of that of imports, and frees nothing.
    gc.disable()
    if sys.argv[1:2] == ["cc"]:
        from packager.compiling.known_commands import start_known

        start_known(sys.argv[2:])
    from omptool.imports import import_click

    import_click()
    from omptool.cli import main as run

    try:
        run()
    except SystemExit as end:
        _leave(end.code)
        raise


def _leave(code: object) -> None:
    """End the process without the interpreter's clean-up, a tenth of the time of a small link.

    Nothing depends on the clean-up: when a command returns, its temporary files are removed and its
    threads have ended.
    """
    if isinstance(code, int) and sys.stdout is not None and sys.stderr is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
