from __future__ import annotations

import json
import math
import re
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import pytest
from PIL import Image, ImageChops

from coflash import CoflashError
from coflash.charts import (
    Axis,
    Chart,
    Format,
    Look,
    bars,
    cells,
    config,
    format_of,
    lines,
    looks,
    picture,
    powers,
    stacked,
    unit_labels,
    whole,
    write_pictures,
)
from coflash.files import kinds

SIZES = {0.0: "no cache", 1.0: "16 MiB", 2.0: "64 MiB"}
POINTS = [
    {"name": name, "x": place, "y": 1e6 * (place + 1), "low": 9e5 * (place + 1), "high": 1.2e6 * (place + 1)}
    for name in ("none", "cdm")
    for place in SIZES
]
OVER_SIZES = lines(POINTS, Axis("cache size", ticks=SIZES), Axis("response, mean", "ns"), rules=[(1.0, "a $ set")])
TAIL = lines(
    [{"x": 10.0**power, "y": 10.0 ** (3 - power)} for power in range(3, 8)],
    Axis("response time", "ns", log=10),
    Axis("requests that take longer", "share", log=10),
    step=True,
)
CAUSES = bars(stacked({"none": {"host": 3.0, "GC": 1.0}, "cdm": {"host": 3.0, "GC": 0.5}}), Axis("programs", "pages"))
MAP = cells(
    [{"x": x, "x2": x + 1, "y": y, "y2": y + 1, "value": x * y} for x in range(5) for y in range(4)],
    Axis("time"),
    Axis("block"),
    label="valid pages (%)",
)
STANDING = bars(
    [{"row": row, "name": name, "from": 0.0, "to": 2.0} for row in "pq" for name in "ab"],
    Axis("copies"),
    grouped=True,
    upright=True,
)
ALL = {"sizes": [OVER_SIZES], "tail": [TAIL], "causes": [CAUSES], "map": [MAP], "three": [STANDING, TAIL, CAUSES]}


def texts(charts: list[Chart], caption: str = "") -> set[str]:
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", picture(charts, "svg", caption=caption).decode()))


@pytest.mark.parametrize(("format", "start"), [("pdf", b"%PDF"), ("svg", b"<svg"), ("png", b"\x89PNG")])
@pytest.mark.parametrize("name", ALL)
def test_a_picture_is_the_same_each_time_and_known_as_ours(
    tmp_path: Path, name: str, format: Format, start: bytes
) -> None:
    one, other = (picture(ALL[name], format) for _ in range(2))
    assert one.startswith(start)
    assert one == other
    for _ in range(2):  # the second one replaces the first
        (file,) = write_pictures(tmp_path, [(f"a.{format}", one)])
    assert file.read_bytes() == one
    file.write_bytes(start + b" of another program")
    with pytest.raises(CoflashError, match="a figure of coflash"):
        write_pictures(tmp_path, [(file.name, one)])
    assert kinds.FIGURE.name


def test_axes_say_what_is_measured_in_which_unit() -> None:
    said = texts([OVER_SIZES], "Means over seeds.")
    assert {"response, mean (ms)", "cache size", *SIZES.values(), "none", "cdm", "a $ set", "Means over seeds."} <= said
    assert {"1 µs", "10 ms", "requests that take longer", "100 %", "0.1 %"} <= texts([TAIL])
    assert {"programs (pages)", "host", "GC", "none", "cdm"} <= texts([CAUSES])


def test_the_points_have_their_intervals_looks_and_places() -> None:
    spec = whole([OVER_SIZES])
    first = spec["data"]["values"][0]
    assert [first[key] for key in ("x", "y", "low", "high", "marked")] == [0.0, 1.0, 0.9, 1.2, True]
    colours = [layer["encoding"]["color"]["scale"] for layer in spec["layer"] if "color" in layer["encoding"]]
    assert all(scale == {"domain": ["none", "cdm"], "range": ["#c97400", "#0067a8"]} for scale in colours)
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["rule", "tick", "tick", "line", "point", "rule", "text"]
    assert [layer["mark"]["type"] for layer in TAIL.layers] == ["line"], "a name without a marker has no points"


def test_rows_of_one_label_stand_apart() -> None:
    rows = [{"row": place, "label": "a scheme", "from": 0.0, "to": 1.0} for place in range(3)]
    drawn = picture(bars(rows, Axis("copies")), "svg").decode()
    assert drawn.count(">a scheme</text>") == 3
    assert "undefined" not in drawn


def test_bars_of_a_row_stand_one_behind_the_other() -> None:
    assert [(row["from"], row["to"]) for row in CAUSES.rows] == [(0.0, 3.0), (3.0, 4.0), (0.0, 3.0), (3.0, 3.5)]
    assert [layer["encoding"]["xOffset"]["field"] for layer in STANDING.layers[:1]] == ["name"]


@pytest.mark.parametrize("name", ALL)
def test_no_label_is_cut(name: str) -> None:
    with Image.open(BytesIO(picture(ALL[name], "png", caption="A caption of some length. " * 4))) as drawn:
        ink = drawn.convert("L").point(lambda value: 255 * (value < 200))
        inner = ink.getbbox()
        assert inner is not None
        assert inner[0] > 0 and inner[1] > 0 and inner[2] < drawn.width and inner[3] < drawn.height


def test_texts_of_a_user_are_no_expressions() -> None:
    strange = "a\"b'c]\\ + 1 // ${x}"
    chart = bars([{"row": f"1{strange}", "from": 0, "to": 1, "end": 1, "text": f"2{strange}"}], Axis(strange))
    shown = " ".join(texts([chart])).replace("&quot;", '"').replace("&amp;", "&")
    assert shown.count("${x}") == 3
    assert json.dumps(whole([chart]))


def test_ticks_of_a_logarithmic_axis_are_powers() -> None:
    assert powers(1e3, 1e6, 10) == [1e3, 1e4, 1e5, 1e6]
    assert powers(1, 2**12, 2, most=7) == [1, 4, 16, 64, 256, 1024, 4096]
    assert "MiB" in unit_labels("bytes")


def test_looks_are_told_apart_in_grey() -> None:
    found = looks(["a", "b", "c", "a"])
    assert list(found) == ["a", "b", "c"]
    assert len({(tuple(look.dash), look.marker) for look in found.values()}) == 3
    assert Look("#000").marker == ""


def test_a_format_is_that_of_the_name() -> None:
    assert [format_of(Path(f"x.{form}")) for form in get_args(Format)] == [*get_args(Format)]
    with pytest.raises(CoflashError, match=r"x\.jpg: \.jpg cannot be drawn; a name that ends in \.pdf"):
        format_of(Path("x.jpg"))


def test_a_row_keeps_what_it_is_given() -> None:
    given: dict[str, Any] = {"x": 1.0, "y": 2.0}
    lines([given], Axis("x"), Axis("y"))
    assert given == {"x": 1.0, "y": 2.0}


def test_an_interval_smaller_than_its_marker_is_seen_beside_it() -> None:
    def drawn(**interval: float) -> Image.Image:
        rows = [{"x": 0.0, "y": 5.0, **interval}, {"x": 1.0, "y": 9.0}]
        return Image.open(BytesIO(picture(lines(rows, Axis("size"), Axis("WAF")), "png"))).convert("L")

    beside = ImageChops.difference(drawn(low=4.999, high=5.001), drawn()).getbbox()
    assert beside is not None
    diameter_points = 2 * math.sqrt(config()["point"]["size"] / math.pi)
    assert beside[2] - beside[0] > diameter_points * 300 / 72


def test_a_legend_leaves_room_for_its_title() -> None:
    names = ("none", "cdm", "cdm-overwrites", "cdm-removable")
    rows = [{"x": 0.0, "y": 1.0, "name": name} for name in names]
    for by, columns in (("", 3), ("cooperation", 2)):
        chart = lines(rows, Axis("share"), Axis("WAF"), styles=looks(names), by=by)
        assert whole([chart])["config"]["legend"]["columns"] == columns


def test_an_axis_ends_at_a_tick_beyond_the_data() -> None:
    rows = [{"x": place, "y": value, "name": "a"} for place, value in enumerate([4.638, 5.21, 5.384])]
    drawn = picture(lines(rows, Axis("policy", ticks={0: "a", 1: "b", 2: "c"}), Axis("WAF", "ratio")), "svg").decode()
    assert {"0", "5", "6"} <= {*re.findall(r">(\d+)</text>", drawn)}
