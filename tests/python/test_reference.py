"""The reference pages, from a schema of the shape that the core's has."""

from __future__ import annotations

from typing import Any

import reference
from coflash import Parameter, Policy, PolicyFamily

SCHEMA: dict[str, Any] = {
    "properties": {
        "seed": {"type": "integer", "default": 1, "description": "Of every\nrandom stream."},
        "cache": {"anyOf": [{"$ref": "#/$defs/Cache"}, {"type": "null"}]},
        "victim": {"$ref": "#/$defs/Victim", "description": "What GC cleans | next."},
        "phases": {"type": "array", "items": {"$ref": "#/$defs/Part"}, "description": "In time."},
        "tenants": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
    },
    "$defs": {
        "Cache": {
            "description": "The device cache.",
            "properties": {"size": {"$ref": "#/$defs/Size", "default": "64MiB"}, "eviction": {"$ref": "#/$defs/When"}},
        },
        "Part": {
            "type": "object",
            "description": "A part.",
            "properties": {
                "cache": {"anyOf": [{"$ref": "#/$defs/Cache"}, {"type": "null"}]},
                "phases": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            },
        },
        "Size": {"type": "string", "description": "Bytes or a share."},
        "When": {"oneOf": [{"const": "foreground", "description": "It waits."}, {"const": "background"}]},
        "Victim": {
            "oneOf": [{"enum": ["greedy", "fifo"]}, {"type": "object", "properties": {"name": {}}}],
            "default": {"name": "greedy"},
        },
    },
}


def test_every_key_has_its_path_type_default_and_meaning() -> None:
    page = reference.scenario_page(SCHEMA)
    assert "| `seed` | whole number | `1` | Of every random stream. |" in page
    assert '| `victim` | `"greedy"`, `"fifo"`, table | `"greedy"` | What GC cleans \\| next. |' in page
    assert "## `[cache]`\n\nThe device cache.\n" in page
    assert '| `cache.size` | text | `"64MiB"` | Bytes or a share. |' in page
    assert '| `cache.eviction` | `"foreground"`, `"background"` | – | `"foreground"`: It waits. |' in page


def test_the_tables_of_a_list_are_told_once_with_all_their_places() -> None:
    page = reference.scenario_page(SCHEMA)
    assert "| `phases` | list of table | – | In time. |" in page
    assert page.count("A part.") == 1
    assert "## `[[phases]]`, `[[tenants]]`\n\nA part.\n" in page
    assert "| `cache` | table, as `[cache]` | – |  |" in page
    assert "| `phases` | list of such tables | – |  |" in page


def test_every_policy_has_a_line() -> None:
    tuned = Policy("d-choices", "Some.", "A paper", (Parameter("d", "2", "how many"),))
    page = reference.policies_page([PolicyFamily("gc.victim", "which block is next", (tuned,))])
    assert "## `gc.victim`\n\nWhich block is next.\n" in page
    assert "| `d-choices` | Some. | `d` = `2`: how many | A paper |" in page
    told = Policy("cdm", "Some.", "A paper", (), needs="4 B a page")
    page = reference.policies_page([PolicyFamily("cooperation", "how", (told,))])
    assert "| name | description | parameters | memory | source |" in page
    assert "| `cdm` | Some. | – | 4 B a page | A paper |" in page
