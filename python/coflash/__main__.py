"""`python -m coflash` is `coflash`."""

from coflash_command import main

main()
