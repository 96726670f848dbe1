"""Write a line to $TORN unless all is as after one whole transaction: the last committed one, or the next."""

import os
import random
import sys
from pathlib import Path

PAGE, PAGES, KEPT = 4096, int(os.environ.get("TABLE_PAGES", "2048")), 20
place, committed = Path(sys.argv[1]), int(sys.argv[2])
files = {int(file.name[4:]) for file in place.glob("file*")}
found = (place / "table").read_bytes()


def is_after(number: int) -> bool:
    """Return whether all is as after this transaction."""
    draw, pages = random.Random(1), [bytes(PAGE)] * PAGES  # noqa: S311
    for one in range(1, number + 1):
        for page in draw.sample(range(PAGES), 4):
            pages[page] = f"{one}\n".encode().ljust(PAGE, b".")
    kept = set(range(max(1, number - KEPT + 1), number + 1))
    whole = all((place / f"file{one}").read_text() == f"{one}\n" * 1000 for one in files & kept)
    return files == kept and whole and found == b"".join(pages)


if not any(is_after(number) for number in range(committed, committed + 2)):
    with Path(os.environ["TORN"]).open("a", encoding="utf-8") as torn:
        torn.write(f"neither transaction {committed} nor the one after it is whole: {sorted(files)}\n")
