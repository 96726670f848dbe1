"""Policies of your own, in Python: classes with hooks that the simulator calls.

A victim policy is called once for each block that GC cleans, with arrays of all candidates. An eviction policy is
called for each page that a cache serves, and a placement policy for each page that is programmed. Both make a run many
times slower.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import random
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Protocol, SupportsIndex, TypeGuard, TypeVar

from coflash._core import Candidates, CoflashError, hint

_Class = TypeVar("_Class", bound=type)


class VictimPolicy(Protocol):
    """A victim policy: the key `gc.victim`.

    One instance serves one pool of blocks; parameters are keyword arguments.
    """

    def pick(self, candidates: Candidates, /) -> SupportsIndex:
        """Pick the block that GC cleans next.

        Args:
            candidates: The full blocks of the pool, those whose valid pages changed longest ago first. Its arrays are
                read-only, and may be kept.

        Returns:
            The place of the block in the arrays, such as `candidates.cost.argmin()`.
        """


class EvictionPolicy(Protocol):
    """An eviction policy: the keys `cache.policy` and `host_buffer.policy`.

    The class is called with the number of pages that the cache holds; parameters are keyword arguments. The life of a
    page: `insert`, any number of `hit(page)` and `flag(page, dirty)`, `remove`. `hit` and `flag` may be left out, and
    so may `arrive(page)`: a page that is not cached is about to be inserted, and `evict` makes room for it.
    """

    def __init__(self, pages: int, /) -> None: ...

    def insert(self, page: int, dirty: bool, /) -> None:
        """Note a page that enters the cache: its first use."""

    def remove(self, page: int, /) -> None:
        """Forget a page that leaves the cache: it was evicted or trimmed."""

    def evict(self) -> int:
        """Name the page to evict next. `remove` follows if it is evicted."""


class PlacementPolicy(Protocol):
    """A placement policy: the key `ftl.placement`. Pages of one class share blocks.

    The class is called with the number of logical pages of the device; parameters are keyword arguments. Time is
    counted in pages that the host and caches have written. A method `cleaned(source, opened_at, valid, now)` is called
    for each block that GC cleans, with its class, the time of its first page, and its valid pages; it may be left out.
    """

    classes: int
    """The number of classes, from 1 to 16: an attribute of the class. With `gc_classes` GC copies into the last ones of
    them only."""

    def __init__(self, pages: int, /) -> None: ...

    def user_write(self, page: int, replaces: int | None, is_evicted: bool, now: int, /) -> SupportsIndex:
        """Choose the class of a page that is written.

        Args:
            page: The logical page.
            replaces: The class of the block with the copy that it replaces, if there is one.
            is_evicted: Whether a cache in the device writes it, not the host.
            now: The time.

        Returns:
            A class, from 0.
        """

    def gc_write(self, page: int, source: int, now: int, /) -> SupportsIndex:
        """Choose the class of a page that GC copies.

        Args:
            page: The logical page.
            source: The class of the block that is being cleaned.
            now: The time.

        Returns:
            A class, one of those that GC copies into.
        """


@dataclass(frozen=True)
class _Family:
    keys: tuple[str, ...]
    hooks: Mapping[str, str]
    """The methods that a class has, each with its arguments."""
    needed: int
    """How many of them it needs: the first ones."""
    numbers: tuple[str, ...] = ()
    """The attributes that a class has, whole numbers; it needs the first one."""


_OF_A_CACHE = {"insert": "page, dirty", "remove": "page", "evict": "", "hit": "page", "flag": "page, dirty"}
_OF_A_PAGE = {"user_write": "page, replaces, is_evicted, now", "gc_write": "page, source, now"}
_FAMILIES = (
    _Family(("gc.victim",), {"pick": "candidates"}, 1),
    _Family(("cache.policy", "host_buffer.policy"), {**_OF_A_CACHE, "arrive": "page"}, 3),
    _Family(
        ("ftl.placement",), {**_OF_A_PAGE, "cleaned": "source, opened_at, valid, now"}, 2, ("classes", "gc_classes")
    ),
)
KEYS = tuple(key for family in _FAMILIES for key in family.keys)
_registered: dict[tuple[str, str], type] = {}
"""The classes by code and digest: in a notebook, a scenario's class may be redefined later; and a run may change a list
of its module."""


def policy(key: str) -> Callable[[_Class], _Class]:
    """Make a class a policy that a scenario takes as the value of a key.

    Examples:
        >>> @coflash.policy("gc.victim")
        ... class Greedy:
        ...     def pick(self, candidates):
        ...         return candidates.cost.argmin()
        >>> scenario = coflash.Scenario.load("demo").with_(gc__victim=Greedy)

    Args:
        key: `"gc.victim"` for a [`VictimPolicy`][coflash.VictimPolicy]; `"cache.policy"` or `"host_buffer.policy"` for
            an [`EvictionPolicy`][coflash.EvictionPolicy]; `"ftl.placement"` for a
            [`PlacementPolicy`][coflash.PlacementPolicy].

    Raises:
        CoflashError: There is no such key, the class lacks a hook or a number, has a public method that nothing uses,
            or a name that looks like a number.
    """
    family = _family(key)

    def decorate(cls: _Class) -> _Class:
        _refuse_misspelt(key, cls, family)
        needed = [*family.hooks][: family.needed]
        if missing := [name for name in needed if not callable(getattr(cls, name, None))]:
            msg = f"{key}: {_code(cls)} has no method {missing[0]}; it needs {', '.join(needed)}"
            raise CoflashError(msg + place(None, next(iter(_methods(cls)), cls)))
        given = [name for name in family.numbers if name == family.numbers[0] or hasattr(cls, name)]
        if wrong := [name for name in given if type(getattr(cls, name, None)) is not int or getattr(cls, name) < 1]:
            msg = f"{key}: {_code(cls)}.{wrong[0]}: a whole number from 1 is allowed, such as {wrong[0]} = 2"
            raise CoflashError(msg)
        _refuse_arguments(key, cls, family)
        cls.__coflash_key__ = key  # type: ignore[attr-defined]
        return cls

    return decorate


def is_policy(value: object) -> TypeGuard[type]:
    """Whether a value is a class that [`policy`][coflash.policy] has decorated."""
    return isinstance(value, type) and hasattr(value, "__coflash_key__")


def key_of(cls: type) -> str:
    """Return the first of the keys that a policy is for: `cache.policy` also for one of the host's buffer."""
    return _family(getattr(cls, "__coflash_key__", "")).keys[0]


def described(cls: type) -> dict[str, str]:
    """Return the policy as a scenario names it: its module and class, and the digest of its source.

    Raises:
        CoflashError: Its source cannot be found.
    """
    code, digest = _code(cls), _digest(cls)
    _registered[code, digest] = cls
    return {"name": "external", "code": code, "digest": digest}


def find(key: str, code: str, digest: str, parameters: Iterable[str] = ()) -> tuple[type, str]:
    """Return the class that a scenario names, and the digest of its source.

    Args:
        key: The key of the scenario.
        code: Its module and class: `module:Class`. Modules are looked for in the current folder, too.
        digest: The expected digest; any if empty.
        parameters: The names of its parameters.

    Raises:
        CoflashError: There is no such class, it is for another key, it does not take a parameter, or its source has
            changed.
    """
    found = _registered.get((code, digest)) or _imported(key, code)
    if not is_policy(found) or key_of(found) not in _family(key).keys:
        other = f", but for {key_of(found)}" if is_policy(found) else ""
        raise CoflashError(f"{key}: {code} is no policy for it{other}; @coflash.policy({key!r}) makes a class one")
    _refuse_parameters(key, found, parameters)
    actual = digest if (code, digest) in _registered else _digest(found)
    if digest not in ("", actual):
        msg = f"{key}.digest: {digest} was given; the source of {code} has {actual}: it has changed; leave digest out"
        raise CoflashError(msg)
    _registered[code, actual] = found
    return found, actual


def loaded(path: Path, name: str | None = None) -> type:
    """Load the policy of a given name from a file, or the only one that it defines.

    Raises:
        CoflashError: The file cannot be loaded, or does not define the policy.
    """
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # where pickle and inspect look for it
    # An import would take another file of the same second and size for the one that Python's cache has.
    read = path.read_bytes
    _executed(str(path), lambda: exec(compile(read(), str(path), "exec", dont_inherit=True), vars(module)))  # noqa: S102
    own: dict[str, type] = {
        key: value for key, value in vars(module).items() if is_policy(value) and value.__module__ == path.stem
    }
    chosen = [own[key] for key in own if name in (None, key)]
    if len(chosen) != 1:
        found = ", ".join(own) or "none"
        raise CoflashError(f"{path}: the policies in it are: {found}; one class with @coflash.policy is allowed")
    return chosen[0]


def place(raised: BaseException | None, hook: Any = None) -> str:
    """Return where the user's code raised an exception, for a message; if it raised none, where a hook or class is.

    Before it stands the name that was meant, where an attribute is missing.
    """
    code = getattr(hook, "__code__", getattr(hook.__init__, "__code__", None))
    places = [(code.co_filename, code.co_firstlineno)] if code else []
    places += [
        (frame.filename, frame.lineno) for frame in traceback.extract_tb(raised.__traceback__ if raised else None)
    ]
    own = [f" ({Path(file).name}:{line})" for file, line in places if _is_users(file)]
    missing = (raised.name, dir(raised.obj)) if isinstance(raised, AttributeError) and raised.name else ("", [])
    meant = [f"; did you mean {near}?" for near in get_close_matches(*missing, 1)]
    return "".join([*meant, *own[-1:]])


_INSTALLED = ("site-packages", "dist-packages", sysconfig.get_path("stdlib"), __file__.removesuffix("external.py"))
"""What is in the paths of files that are not the user's."""


def _is_users(file: str) -> bool:
    return not any(part in file for part in ("<frozen", "<string>", *_INSTALLED))


def file_of_user(module: str) -> str:
    """Return the file of a module, imported or not, if it is the user's; otherwise an empty text."""
    known = sys.modules.get(module) or _spec(module)
    file = getattr(known, "__file__", getattr(known, "origin", None)) or ""
    return file if _is_users(file) else ""


def _spec(module: str) -> Any:
    """Find a module as an import does, but import nothing: neither it nor its package."""
    package = module.rpartition(".")[0]
    if not package:
        return PathFinder.find_spec(module)
    within = getattr(sys.modules.get(package), "__spec__", None) or _spec(package)
    folders = getattr(within, "submodule_search_locations", None)
    return None if folders is None else PathFinder.find_spec(module, folders)


def _refuse_misspelt(key: str, cls: type, family: _Family) -> None:
    """Refuse a public method that nothing uses, and a whole number with nearly the name of one that a policy has."""
    hooks, numbers = [*family.hooks], family.numbers
    own = [base for base in cls.__mro__ if base.__module__ == "__main__" or file_of_user(base.__module__)]
    used = {*hooks, *(name for base in cls.__mro__ for name in (_add_source(base, {}) if base in own else vars(base)))}
    for name, value in [member for base in own for member in vars(base).items()]:
        if name[0] == name[-1] == "_" and hasattr(cls, f"_{name}_"):
            raise CoflashError(f'{key}: {_code(cls)}.{name}: did you mean "_{name}_"?{place(None, _function(value))}')
        if name.startswith("_"):
            continue
        is_method = isinstance(value, property | classmethod) or (callable(value) and not isinstance(value, type))
        is_odd = type(value) is int and name not in numbers and get_close_matches(name, numbers)
        if is_odd or (is_method and name not in used):
            meant = hint(name.removeprefix("on_"), hooks if is_method else numbers)
            msg = f"{key}: {_code(cls)}.{name}: nothing uses it{meant}; your own names begin with _"
            raise CoflashError(msg + place(None, _function(value)))


def _refuse_arguments(key: str, cls: type, family: _Family) -> None:
    """Refuse a hook that cannot be called with its arguments; parameters of a class may follow those."""
    called = family.hooks if key == "gc.victim" else {"__init__": "pages", **family.hooks}
    for name in [hook for hook in called if hasattr(cls, hook)]:
        is_bound = isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod)
        taken = [*["self"][is_bound:], *filter(None, called[name].split(", "))]
        with _parsing, suppress(ValueError):  # of a class that is written in C
            signature = inspect.signature(cls if name == "__init__" else getattr(cls, name))
            bind, given = (signature.bind_partial, taken[1:]) if name == "__init__" else (signature.bind, taken)
            try:
                bind(*given)
            except TypeError as error:
                msg = f"{key}: {_code(cls)}.{name}: {error}; write def {name}({', '.join(taken)})"
                raise CoflashError(msg + place(None, getattr(cls, name))) from None


def _methods(cls: type) -> list[FunctionType]:
    return [one for one in map(_function, vars(cls).values()) if isinstance(one, FunctionType)]


def _refuse_parameters(key: str, cls: type, names: Iterable[str]) -> None:
    """Refuse a parameter that a class does not take; a cache and a placement are called with a number first."""
    with suppress(TypeError, ValueError):  # of a class that is written in C
        with _parsing:
            taken = list(inspect.signature(cls).parameters.values())[key_of(cls) != "gc.victim" :]
        allowed = [one.name for one in taken if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        wrong = next((name for name in names if name not in allowed), "")
        if wrong and all(one.kind is not one.VAR_KEYWORD for one in taken):
            raise CoflashError(f'{key}.parameters: "{wrong}" was given{hint(wrong, allowed)}{place(None, cls)}')


def _code(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _family(key: str) -> _Family:
    if not isinstance(key, str):
        raise CoflashError(f'policy: a key was not given; @coflash.policy("{KEYS[0]}") is allowed{hint("", KEYS)}')
    if key not in KEYS:
        raise CoflashError(f'policy: "{key}" was given{hint(key, KEYS)}')
    return next(family for family in _FAMILIES if key in family.keys)


def _imported(key: str, code: str) -> Any:
    name, colon, path = code.partition(":")
    if not (name and colon and path):
        given = f'"{code}" was given' if code else "it must be given"
        raise CoflashError(f"{key}.code: {given}; module:Class is allowed")
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        found: Any = sys.modules.get(name) or _executed(f"{key}.code: {code}", lambda: _module(key, code, name))
    finally:
        sys.path.remove(here)
    for part in path.split("."):
        names = [name for name, value in vars(found).items() if isinstance(value, type)]
        if not hasattr(found, part):
            raise CoflashError(f'{key}.code: {name} has no class "{part}"{hint(part, names)}')
        found = getattr(found, part)
    return found


def _module(key: str, code: str, name: str) -> ModuleType:
    file = name if name.endswith(".py") else f"{name.replace('.', '/')}.py"
    module = file.removesuffix(".py").replace("/", ".").strip(".")
    if module != name and Path(file).is_file():
        folder = Path(file).parent if Path(file).is_absolute() else None
        meant, there = code.replace(name, Path(file).stem if folder else module, 1), f" in {folder}" if folder else ""
        raise CoflashError(
            f'{key}.code: "{code}" was given; did you mean "{meant}"{there}? (a module has no .py and no /)'
        )
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # it is there, and imports one that is not
    near = "".join(f"; did you mean {one}?" for one in get_close_matches(file, [*map(str, Path().glob("*.py"))], 1))
    msg = f"{key}.code: {code}: no file {file} in {Path.cwd()}, nor in the folders of PYTHONPATH{near}"
    raise CoflashError(f"{msg}; run in the folder of the file, or add that to PYTHONPATH")


def _executed(what: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except CoflashError:
        raise
    except (Exception, SystemExit) as error:
        raise CoflashError(f"{what}: {type(error).__name__}: {error}{place(error)}") from error


@contextmanager
def seeded(scenario: Mapping[str, Any], begun: Any = None) -> Iterator[Callable[[], Any]]:
    """Let the generators of `random` and numpy begin with the seed of a run, if its policies may use them.

    The process has one of each, so that of such runs there is one at a time. Yields what returns their states.

    Args:
        scenario: The scenario of the run.
        begun: The states to begin with instead: those at the end of preconditioning.
    """
    policies = [(key, scenario[key.partition(".")[0]][key.partition(".")[2]]) for key in KEYS]
    if not any(policy["name"] == "external" and _may_draw(key, policy) for key, policy in policies):
        yield lambda: None
        return
    import numpy as np  # takes a while

    with _turn, ExitStack() as afterwards:
        afterwards.callback(random.setstate, random.getstate())
        afterwards.callback(np.random.set_state, np.random.get_state())
        random.setstate(begun[0] if begun else random.Random(scenario["seed"]).getstate())  # noqa: S311
        np.random.set_state(begun[1] if begun else np.random.RandomState(scenario["seed"] % 2**32).get_state())
        yield lambda: (random.getstate(), np.random.get_state())


_turn = threading.RLock()
"""Held by the run that draws from the generators of the process."""


def _may_draw(key: str, policy: Mapping[str, Any]) -> bool:
    """Whether the file of a policy, or one that it imports, names `random`: that of Python or of numpy."""
    files = _add_file(find(key, policy["code"], policy.get("digest", ""))[0].__module__, {})
    return not files or any("random" in str(text) for text in files.values())  # a notebook has none


def _digest(cls: type) -> str:
    """Return a digest of the source of a class, and of everything of the user's that it refers to."""
    parts = _add_source(cls, {})
    if cls.__qualname__ not in parts:
        raise CoflashError(f"{_code(cls)}: its source is not to be found; define it in a file or a notebook")
    text = "\0".join(f"{name}\0{source}" for name, source in sorted(parts.items()) if source is not None)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_parsing = threading.RLock()
"""Held by the thread that parses source, or signatures of C: in CPython 3.11 two at once fail ("recursion depth")."""

_Parts = dict[str, str | None]
"""The names that code has, with the text that stands for each: a source, a value, of `module:` its file; or none."""


def _add_source(value: Any, parts: _Parts) -> _Parts:
    """Add the source of a class or a function, and what it refers to; if it has none, the file of its module."""
    try:
        with _parsing:
            source = inspect.getsource(value)
            tree = ast.parse(f"if 1:\n{source}" if source[0].isspace() else source)
    except (OSError, TypeError, SyntaxError):  # a lambda amid an expression has lines that are no statement
        return _add_file(value.__module__, parts)
    parts[value.__qualname__] = source
    known = getattr(sys.modules.get(value.__module__), "__dict__", {})
    for name in _names(tree):
        if name not in parts:
            parts[name] = None
            _add_value(name, known.get(name), value.__module__, parts)
    for module in _imports(tree, value.__module__):
        _add_file(module, parts)
    return parts


def _add_value(name: str, value: Any, module: str, parts: _Parts) -> None:
    """Add what a module-level name stands for."""
    value = inspect.unwrap(value)
    home = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
    if isinstance(value, type | FunctionType) and home == module:
        _add_source(value, parts)
        if "<locals>" in value.__qualname__:  # another function made it, perhaps of more than its source
            _add_file(module, parts)
    elif hasattr(value, "__name__"):
        _add_file(str(home), parts)
    elif isinstance(value, int | float | str | bytes | tuple):
        parts[name] = repr(value)
    elif value is not None:
        try:
            parts[name] = json.dumps(value, default=_listed)
        except (AttributeError, TypeError, ValueError):
            _add_file(module, parts)


def _listed(value: Any) -> list[Any]:
    """Return a set in an order that is the same in each process, or an array, as a list."""
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else value.tolist()


def _add_file(module: str, parts: _Parts) -> _Parts:
    """Add the file of a module, if it is the user's; and the files that it imports."""
    if (file := file_of_user(module)) and (name := f"{module}:") not in parts:
        text = parts[name] = Path(file).read_text("utf-8", "replace")
        with _parsing, suppress(SyntaxError, ValueError):  # of a compiled file
            for imported in _imports(ast.parse(text), module):
                _add_file(imported, parts)
    return parts


def _imports(tree: ast.AST, module: str) -> Iterator[str]:
    """Yield the modules that the code of a module imports, at any place, and names in them, which may be modules."""
    package = module if Path(file_of_user(module)).stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (package for one in node.names for package in accumulate(one.name.split("."), "{}.{}".format))
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # beyond the package
                home = resolve_name("." * node.level + (node.module or ""), package)
                yield from (home, *(f"{home}.{one.name}" for one in node.names))


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names and attributes in code, but those of annotations, which change no run."""
    for node in ast.walk(tree):
        vars(node).update(annotation=None, returns=None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _function(member: Any) -> Any:
    """Return the function of a method, a property, or what a decorator has made of it."""
    return inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)) or member)
