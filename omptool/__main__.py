"""`python -m omptool`."""

from omptool.cli import main

main()
