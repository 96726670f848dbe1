"""`python -m coflash` is `coflash`."""

from coflash.cli import main

main()
