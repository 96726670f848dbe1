"""The colours of figures and notebooks, after Okabe and Ito; the report in light mode has the same (`colours.css`)."""

import json
from pathlib import Path

LINES = ("#c97400", "#0067a8", "#00805e", "#b04a82", "#6f7780", "#3f9fd8", "#8a7a00", "#a3341c")
CAUSES: dict[str, str] = json.loads(Path(__file__).with_name("palette.json").read_text("utf-8"))
