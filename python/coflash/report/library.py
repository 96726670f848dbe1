"""The library that draws charts on a page: Vega-Embed with Vega-Lite and Vega, of the versions that draw files.

A wheel brings it. In a source tree `make` makes it, or else the first report, which takes some seconds.
"""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

_FILE = Path(__file__).with_name("assets") / "vega.js.gz"


def library() -> bytes:
    """Return the library, packed."""
    if _FILE.is_file():
        return _FILE.read_bytes()
    import vl_convert  # large, and of no use where the file is

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    packed = gzip.compress(f"(() => {{{bundle}}})();".encode(), mtime=0)
    with suppress(OSError):  # an installation that may only be read
        part = _FILE.with_suffix(".part")
        part.write_bytes(packed)
        part.replace(_FILE)
    return packed


if __name__ == "__main__":
    library()
