"""`coflash cite`."""

from __future__ import annotations

import typer

from coflash._core import __version__
from coflash.policies import policies
from coflash.results.result import Result
from coflash.scenario import flat


def cite(run: str | None = None) -> None:
    """Print BibTeX of coflash; of a run also what makes its numbers, and the papers of what it chose by name.

    Options:
        run: `[RUN]` The folder of a result, or its URL.
    """
    document = {} if run is None else Result.load(run).document
    of_run = [("title", "coflash: a flash-storage laboratory"), ("version", document.get("coflash", __version__))]
    if document:
        made = "revision {revision} of results, scenario {scenario_hash}, seed {seed}".format_map(document)
        inputs = (f", {each['file']} (SHA-256 {each['sha256']})" for each in document["workload"]["inputs"])
        of_run.append(("note", made + "".join(inputs)))
    keys = flat(document.get("scenario", {}))
    entries = {"@software{coflash": of_run}
    for family in policies():
        chosen = keys.get(f"{family.key}.name", keys.get(family.key))
        sources = {one.name: one.source for one in family.policies if one.source != "folklore"}
        if chosen in sources:
            entries[f"@misc{{{chosen}"] = [("title", f"{chosen} ({family.key})"), ("note", sources[chosen])]
    for head, fields in entries.items():
        typer.echo(
            "\n".join([f"{head},", *(f"  {key} = {{{text}}}," for key, text in fields), "}"]).replace("&", r"\&")
        )
