"""The console script, and `python -m omptool`."""

from __future__ import annotations

import gc
import signal


def main() -> None:
    """Run the command line; an interrupt before it is there ends the process without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What a command reads lives until its end: looking for cycles takes a fifth of the time of a
    # large `verify`, and a tenth of that of imports, and frees nothing.
    gc.disable()
    from omptool.cli import main as run

    try:
        run()
    finally:
        gc.freeze()  # it would be done once more at the end: a tenth of a small link


if __name__ == "__main__":
    main()
