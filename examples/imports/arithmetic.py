"""Arithmetic of shells and of C's preprocessor, on whole numbers and decimals."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping

_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda left, right: (
        left // right if isinstance(left, int) and isinstance(right, int) else left / right
    ),
    ast.Mod: operator.mod,
    ast.LShift: lambda left, right: int(left) << min(int(right), 64),
    ast.RShift: lambda left, right: int(left) >> int(right),
}
_SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SUFFIX = re.compile(r"\b(\d+)(?:ull|ul|u|l)\b", re.IGNORECASE)


def evaluate(text: str, variable: Callable[[str], float]) -> float | None:
    """Return the value of an expression, or None; `variable` returns that of a name, or raises KeyError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as 10ms, which Python reads as a number and a word
            node = ast.parse(_SUFFIX.sub(r"\1", text).replace("/", "//").strip(), mode="eval").body
        return _value(node, variable)
    except (SyntaxError, ValueError, ArithmeticError, TypeError, LookupError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, variable: Callable[[str], float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, variable)
        case ast.Call(func=ast.Name(id=unit), args=[size]) if unit in _SIZES:
            return _value(size, variable) * _SIZES[unit]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, variable), _value(right, variable))
    raise ValueError(ast.dump(node))
