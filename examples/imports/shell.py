"""Variables and arithmetic of a shell script, as far as they make up the text of its commands; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from arithmetic import evaluate

_ARITHMETIC = r"\$\(\((?:[^()]|\([^()]*\))*\)\)"
_WORD = rf"""(?:{_ARITHMETIC}|\$\([^)]*\)|`[^`]*`|"(?:\\.|{_ARITHMETIC}|[^"\\])*"|'[^']*'|\\.|[^\s;&|"'`()])*"""
_ASSIGNMENT = re.compile(
    rf"(?:(?:export|local|readonly|declare(?:\s+-\w+)*|let)\s+)?([A-Za-z_]\w*)(\+?)=(\([^)]*\)|{_WORD})"
)
_COMMENT = re.compile(r"""("(?:\\.|[^"\\])*"|'[^']*'|\$\{[^}]*\}|\$\(\([^)]*\)\))|(?:(?<=\s)|^)#.*""", re.MULTILINE)
_EXPANSION = re.compile(
    rf"""({_ARITHMETIC})|\$\((?:expr\s+([^()]*)|echo\s+([^()|]*)\|\s*bc[^()]*)\)"""
    r"""|\$\{(\w+)(?:\[[@*]\])?(?::?[-=]([^}]*))?\}|\$(\w+)|`expr\s+([^`]*)`"""
)
_BLOCK = re.compile(r"^\s*(?:if|case|for|while|until)\b")
_BLOCK_END = re.compile(r"^\s*(?:fi|esac|done)\b|;\s*(?:fi|esac|done)\b")


@dataclass
class Script:
    """What a script says."""

    variables: dict[str, str] = field(default_factory=dict)
    """The last value of each variable."""
    commands: str = ""
    """The text of its commands, a line each, with variables expanded."""
    doubtful: set[str] = field(default_factory=set)
    """Variables that are given again where a condition decides, or a loop."""

    @classmethod
    def of(cls, text: str) -> Script:
        """Follow a script from top to bottom, through every branch."""
        script, depth = cls(), 0
        for line in _lines(text):
            depth += bool(_BLOCK.match(line))
            rest = re.sub(r"^\s*(?:then|else|do)\b", "", line)
            while rest := rest.lstrip(" \t;&"):
                if not (found := _ASSIGNMENT.match(rest)):
                    break
                name, more, value = found.groups()
                if depth and name in script.variables:
                    script.doubtful.add(name)
                script.variables[name] = (script.variables.get(name, "") if more else "") + script.plain(value)
                rest = rest[found.end() :]
            script.commands += f"{script.plain(rest)}\n"
            depth -= bool(_BLOCK_END.search(line)) and depth > 0
        return script

    def plain(self, text: str) -> str:
        """Expand variables and arithmetic, and take quotes away."""
        if text.startswith("(") and text.endswith(")"):
            text = f" {text[1:-1]} "
        single = re.split(r"('[^']*')", text)
        parts = [part[1:-1] if index % 2 else self.expanded(part) for index, part in enumerate(single)]
        return re.sub(r"\\(.)", r"\1", "".join(parts).replace('"', ""))

    def expanded(self, text: str) -> str:
        """Expand variables and arithmetic; what has no value here stays as it is."""

        def value(found: re.Match[str]) -> str:
            sum_, expr, echo, name, default, short, ticks = found.groups()
            if name or short:
                known = self.variables.get(name or short)
                return known if known is not None else (self.expanded(default) if default is not None else found[0])
            inner = (
                sum_[3:-2] if sum_ else (expr or echo or ticks).replace("\\*", "*").replace('"', "").replace("'", "")
            )
            number = evaluate(self.expanded(inner).replace("$", ""), self._number)
            return found[0] if number is None else f"{number:g}" if number % 1 else str(int(number))

        return _EXPANSION.sub(value, text)

    def _number(self, name: str) -> float:
        return float(text) if "." in (text := self.variables[name].strip()) else int(text, 0)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines without comments; continued ones, and lists over several, are one."""
    whole = _COMMENT.sub(lambda found: found[1] or "", text.replace("\\\n", " "))
    whole = re.sub(r"\$\[([^\]]*)\]", r"$((\1))", whole)  # as arithmetic was once written
    yield from re.sub(r"=\(([^()]*)\)", lambda found: found[0].replace("\n", " "), whole).splitlines()
