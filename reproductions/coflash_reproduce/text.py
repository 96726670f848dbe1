"""The prose of a paper or a study, and its queries: a Markdown file beside its module.

The heading `# …` is the title of the page. A section `## NAME: TITLE`, or `## NAME` alone, is what the page says of
that exhibit, scale or hypothesis. `{NAME}` in a section is a constant of the module, or another section; in the section
"answer" it is a number that is computed for the page. A block of code in a section is data: its first line, such as
"sql" or "toml figure", says what it is for (`queries`). Tables of the runs may stand in `tables.sql` beside the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```(\w[\w ]*)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Text:
    """The sections of a page."""

    title: str
    titles: Mapping[str, str]
    """The titles of sections, by name."""
    bodies: Mapping[str, str]
    """What sections say, by name."""
    scales: dict[str, str]
    """The sections on scales, by the name of the scale."""
    blocks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The blocks of code of sections, by name and first line."""

    @classmethod
    def beside(cls, module: str, constants: Mapping[str, Any]) -> Text:
        """Read the file beside a module that has its name."""
        file = Path(module)
        name = file.parent.name if file.stem == "__init__" else file.stem
        text = cls.of(file.with_name(f"{name}.md").read_text("utf-8"), constants)
        tables = file.with_name("tables.sql")
        return (
            replace(text, blocks={"": {"sql tables": tables.read_text("utf-8")}, **text.blocks})
            if tables.exists()
            else text
        )

    @classmethod
    def of(cls, markdown: str, constants: Mapping[str, Any]) -> Text:
        """Read the sections of a text in Markdown."""
        title, *sections = re.split(r"^##? ", markdown, flags=re.MULTILINE)[1:]
        titles, bodies, blocks = {}, dict(constants), {}
        for section in sections:
            heading, _, body = section.partition("\n")
            name, _, title_of = heading.partition(": ")
            blocks[name] = dict(_BLOCK.findall(body))
            bodies[name] = re.sub(r"(?<!\n)\n(?! *- |\n) *", " ", _BLOCK.sub("", body).strip())
            if name != "answer":
                bodies[name] = bodies[name].format_map(bodies)
            titles[name] = title_of.format_map(bodies)
        scales = {name.removeprefix("scale "): body for name, body in bodies.items() if name.startswith("scale ")}
        return cls(title.strip(), titles, bodies, scales, blocks)
