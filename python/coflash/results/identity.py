"""Which run a result is of. The result of another run is never replaced without a word.

A run is its scenario without the names of files, and the content of these files. The key of a run in a sweep is made
from the same parts and the revision of results. The revision is left out here: another one may replace its older
result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from coflash._core import CoflashError
from coflash.files.digest import digest_of
from coflash.scenario import Scenario


def own_key(workload: Mapping[str, Any]) -> Literal["fio", "like"] | None:
    """Return the key of the files that a workload reads, other than those of a trace; None if there are none."""
    return "fio" if workload.get("fio") else "like" if workload.get("like") else None


def reading(scenario: Scenario, files: Sequence[str]) -> Scenario:
    """Return the same scenario with other names of these files."""
    if own_key(scenario.to_dict()["workload"]) == "fio":
        return scenario.with_(workload__fio=files[0])
    return scenario.with_(workload__like=files)


def nameless(scenario: Scenario, own_files: int | None) -> Scenario:
    """Return a scenario without the names of files: of its own ones if `own_files` are read, or else of a trace."""
    return reading(scenario, ["input"] * own_files) if own_files else scenario.with_(workload__trace=[])


@dataclass(frozen=True)
class Identity:
    """Everything that a result follows from, but the revision of results."""

    scenario: str
    """The hash of the scenario without the names of its files."""
    inputs: tuple[str, ...] | None
    """The digests of the files, in order; None before a run whose trace can be read only once."""

    @classmethod
    def of(cls, scenario: Scenario, inputs: Sequence[str] | None) -> Identity:
        """Identify a run.

        Args:
            scenario: The scenario, with the trace that is replayed, if any.
            inputs: The digests of that trace, or else of the scenario's own files.
        """
        bare = nameless(scenario, len(inputs or ()) if own_key(scenario.to_dict()["workload"]) else None)
        return cls(bare.hash, None if inputs is None else tuple(inputs))

    @classmethod
    def of_result(cls, document: Mapping[str, Any]) -> Identity:
        """Identify the run of a result; one whose scenario is not understood any more equals no other."""
        digests = [file["sha256"] for file in document["workload"]["inputs"]]
        try:
            return cls.of(Scenario.of_result(document), digests)
        except CoflashError:
            return cls("", tuple(digests))

    def may_equal(self, other: Identity) -> bool:
        """Whether both are the same run, as far as their inputs are known."""
        return self.scenario == other.scenario and (self.inputs == other.inputs or None in (self.inputs, other.inputs))


def check_replaces(place: object, kept: Mapping[str, Any], new: Identity, told: str) -> None:
    """Check that the result in a place is of the run that is to replace it.

    Args:
        place: The folder or URL.
        kept: The document of its result.
        new: The run.
        told: What it is, for the message.

    Raises:
        CoflashError: The result is of another run.
    """
    if not Identity.of_result(kept).may_equal(new):
        name = kept["scenario"].get("name") or "without a name"
        raise CoflashError(
            f'{place}: holds the result of another run, of scenario "{name}" ({kept["scenario_hash"]}); this '
            f"is {told}, or the traces differ; give another folder, or --force to replace it (Python: force=True)"
        )


def inputs_of_run(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the files that a run read, as its document names them."""
    found: Sequence[Mapping[str, Any]] = document.get("workload", {}).get("inputs", ())
    return found


def changed_inputs(documents: Iterable[Mapping[str, Any]]) -> tuple[set[tuple[str, str]], list[str]]:
    """Find the inputs of which runs have several contents.

    Returns:
        The files and digests that others took the place of, where runs have the file as it is now; and the files that
        no run has as they are now.
    """
    of: dict[str, set[str]] = {}
    for document in documents:
        for file in inputs_of_run(document):
            of.setdefault(file["file"], set()).add(file["sha256"])
    now = {name: digest_of(name) for name, digests in of.items() if len(digests) > 1 and Path(name).is_file()}
    known = [name for name in now if now[name] in of[name]]
    return {(name, digest) for name in known for digest in of[name] - {now[name]}}, [*now.keys() - known]
