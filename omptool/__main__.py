"""The console script, and `python -m omptool`."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line; an interrupt before it is there ends the process without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from omptool.cli import main as run

    run()


if __name__ == "__main__":
    main()
