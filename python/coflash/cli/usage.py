"""Errors of the command line, in one line."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

# Since 0.26 Typer contains a Click of its own; this leads to the class in both cases.
UsageError: Any = typer.BadParameter.__mro__[1]


_RENAMED = Path(__file__).with_name("renamed.json")
"""What stands in place of the options of earlier versions, for the commands that do not have them any more."""


def problem(error: Any, commands: Callable[[], Iterable[str]]) -> str:
    """Describe a `UsageError`: the given text, the nearest match, also of all `commands`, and where to look."""
    if number := _number(error):
        return number
    renamed, known = json.loads(_RENAMED.read_text("utf-8")), _options(error)
    # Of an option that the command has not, options with like names are known, or that there are none.
    if hasattr(error, "possibilities") and (new := renamed.get(str(getattr(error, "option_name", "")))):
        return f"{error.option_name}: is no option of this command; in its place: {new}"
    if goal := _goal(error):
        return f"{error.option_name}: is no option of this command; a bound is a goal: {goal}"
    text = str(error.message if getattr(error, "possibilities", None) else error.format_message()).rstrip(".")
    text = text[:1].lower() + text[1:]
    text = text.replace(". Did you mean", "; did you mean").replace("Value error, ", "")
    if near := getattr(error, "possibilities", None):
        text += f"; did you mean {near[0]}?" if "did you mean" not in text else ""
    if extra := re.search(r"extra argument\S* \((.*)\)", text):
        word, *others = extra[1].split()
        options = ["--set"] if "=" in word else ["--trace", "--in"]
        axes, given = error.ctx and error.ctx.params.get("vary"), str(error.ctx and error.ctx.params)
        # Of a table without quotes a shell makes KEY={ and words, or KEY=name=… and KEY=code=….
        if given.count("{") > given.count("}") or re.match(r"[\w.]+=\w+=", word):
            text += "; a table is in single quotes, such as 'gc.victim={ name = \"d-choices\", d = 8 }'"
        elif axes and "=" not in word and not Path(word).exists():
            words = [axes[-1], word, *others]
            is_split = any(one.startswith((",", "%")) or one.endswith(",") for one in words[1:])
            between = "" if is_split else "," if "=" in axes[-1] else "="
            text += f"; values are separated by commas: --vary {between.join(words)}"
        else:
            text += next((f"; did you mean {one} {word}?" for one in options if one in known), "")
    given, is_one_of, choices = text.partition(" is not one of ")
    if is_one_of and (near := difflib.get_close_matches(given.split("'")[-2], re.findall("'([^']*)'", choices), 1)):
        text += f"; did you mean '{near[0]}'?"
    unknown = re.match(r"no such command '([^']+)'", text)
    if unknown:
        meant = renamed.get(f"{error.ctx.command_path} {unknown[1]}")
        # To list the commands of groups imports them.
        every = commands() if not meant and "did you mean" not in text else ()
        elsewhere = [meant] if meant else [path for path in every if path.rpartition(" ")[2] == unknown[1]]
        text = f"{text.partition(';')[0]}; did you mean {' or '.join(elsewhere)}?" if elsewhere else text
    help_of = error.ctx.command_path if error.ctx else "coflash"
    return f"{text} ({help_of} --help says what is allowed)"


def _options(error: Any) -> set[str]:
    """Return the options of the command that was given."""
    return {one for of in (error.ctx.command.params if error.ctx else ()) for one in of.opts}


def _goal(error: Any) -> str:
    """Return the option of a goal in place of one that has the name of a measure; empty for another."""
    name = str(getattr(error, "option_name", "")).removeprefix("--").replace("-", "_")
    option = next((one for one in ("--goal", "--subject-to") if one in _options(error)), "")
    if not name or not option:
        return ""
    from coflash._core import CoflashError
    from coflash.measures.catalogue import named

    try:
        better = "more" if name in ("capacity", "margin") else named(name).better
    except CoflashError:
        return ""
    return f"{option} '{name}{'>' if better == 'more' else '<'}VALUE'"


def _number(error: Any) -> str:
    """Describe a wrong number; empty if no whole number or range was expected."""
    wrong = re.match(r"'?(.*?)'? is not (in the range|a valid int)", error.message)
    if wrong is None or error.param is None:
        return ""
    limits = {"at least": error.param.type.min, "at most": error.param.type.max} if "range" in wrong[2] else {}
    words = [f"{word} {limit}" for word, limit in limits.items() if limit is not None]
    allowed = " and ".join(words) or "a whole number"
    return f"{error.param.opts[0]}: '{wrong[1]}' was given; {allowed} is allowed"
