"""Policies of your own, in Python: classes with hooks that the simulator calls.

A victim policy is called once for each block that GC cleans, with arrays of all candidates. An eviction policy is
called for each page that a cache serves, and a placement policy for each page that is programmed. Both make a run many
times slower.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, TracebackType
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
    hooks: tuple[str, ...]
    """The methods that a class needs."""
    hooks_if_given: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    """The attributes that a class needs: whole numbers."""
    numbers_if_given: tuple[str, ...] = ()


_FAMILIES = (
    _Family(("gc.victim",), ("pick",)),
    _Family(("cache.policy", "host_buffer.policy"), ("insert", "remove", "evict"), ("hit", "flag", "arrive")),
    _Family(("ftl.placement",), ("user_write", "gc_write"), ("cleaned",), ("classes",), ("gc_classes",)),
)
KEYS = tuple(key for family in _FAMILIES for key in family.keys)
_registered: dict[tuple[str, str], type] = {}
"""The classes by code and digest: in a notebook, a scenario's class may be redefined later."""


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
        CoflashError: There is no such key, the class lacks a hook or a number, or has a name that looks like one.
    """
    family = _family(key)

    def decorate(cls: _Class) -> _Class:
        _refuse_misspelt(key, cls, family)
        if missing := [name for name in family.hooks if not callable(getattr(cls, name, None))]:
            msg = f"{key}: {_code(cls)} has no method {missing[0]}; it needs {', '.join(family.hooks)}"
            raise CoflashError(msg)
        given = [*family.numbers, *(name for name in family.numbers_if_given if hasattr(cls, name))]
        if wrong := [name for name in given if type(getattr(cls, name, None)) is not int or getattr(cls, name) < 1]:
            msg = f"{key}: {_code(cls)}.{wrong[0]}: a whole number from 1 is allowed, such as {wrong[0]} = 2"
            raise CoflashError(msg)
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


def find(key: str, code: str, digest: str) -> tuple[type, str]:
    """Return the class that a scenario names, and the digest of its source.

    Args:
        key: The key of the scenario.
        code: Its module and class: `module:Class`. Modules are looked for in the current folder, too.
        digest: The expected digest; any if empty.

    Raises:
        CoflashError: There is no such class, it is for another key, or its source has changed.
    """
    found = _registered.get((code, digest)) or _imported(key, code)
    if not is_policy(found) or key_of(found) not in _family(key).keys:
        raise CoflashError(f"{key}: {code} is no policy for it; @coflash.policy({key!r}) makes a class one")
    if (code, digest) in _registered:
        return found, digest
    actual = _digest(found)
    if digest not in ("", actual):
        msg = f"{key}.digest: {digest} was given; the source of {code} has {actual}: it has changed since"
        raise CoflashError(msg)
    return found, actual


def loaded(path: Path, name: str | None = None) -> type:
    """Load the policy of a given name from a file, or the only one that it defines.

    Raises:
        CoflashError: The file cannot be loaded, or does not define the policy.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or not isinstance(loader := spec.loader, SourceFileLoader):
        raise CoflashError(f"{path}: a file of Python is allowed")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where pickle and inspect look for it
    # Python's own cache takes another file of the same second and size for this one.
    source = loader.source_to_code
    _executed(str(path), lambda: exec(source(path.read_bytes(), str(path)), vars(module)))  # noqa: S102
    own: dict[str, type] = {
        key: value for key, value in vars(module).items() if is_policy(value) and value.__module__ == path.stem
    }
    chosen = [own[key] for key in own if name in (None, key)]
    if len(chosen) != 1:
        found = ", ".join(own) or "none"
        raise CoflashError(f"{path}: the policies in it are: {found}; one class with @coflash.policy is allowed")
    return chosen[0]


def source_file(cls: type) -> str:
    """Return the file that defines a class.

    Raises:
        CoflashError: It is defined in no file.
    """
    file = inspect.getsourcefile(cls)
    if file is None or not Path(file).is_file():
        raise CoflashError(f"{cls.__qualname__}: it is defined in no file; a process of its own needs one")
    return file


def place(raised: TracebackType | None, hook: Any = None) -> str:
    """Return where the user's code raised an exception, for a message; if it raised none, where a hook or class is."""
    code = getattr(hook, "__code__", getattr(hook.__init__, "__code__", None))
    places = [(code.co_filename, code.co_firstlineno)] if code else []
    places += [(frame.filename, frame.lineno) for frame in traceback.extract_tb(raised)]
    own = [f" ({Path(file).name}:{line})" for file, line in places if not file.startswith(_NOT_THE_USERS)]
    return own[-1] if own else ""


_NOT_THE_USERS = ("<frozen", "<string>", str(Path(__file__).parent), *map(sysconfig.get_path, ("stdlib", "purelib")))


def _refuse_misspelt(key: str, cls: type, family: _Family) -> None:
    """Refuse a public name of a class that nothing reads, but that looks like a hook or a number."""
    hooks = family.hooks + family.hooks_if_given
    beginnings = {"on", *(hook.partition("_")[0] for hook in hooks)}
    bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] not in sys.stdlib_module_names]
    for name, value in [member for base in bases for member in vars(base).items()]:
        allowed = hooks if callable(value) else family.numbers + family.numbers_if_given if type(value) is int else ()
        begins = callable(value) and name.partition("_")[0] in beginnings
        is_near = begins or get_close_matches(name, allowed, cutoff=_NEAR)
        if is_near and name not in allowed and not name.startswith("_"):
            meant = hint(name.removeprefix("on_"), allowed)
            msg = f"{key}: {_code(cls)}.{name}: nothing uses it{meant}; your own names begin with _"
            raise CoflashError(msg + place(None, value))


_NEAR = 0.65
"""How alike two names must be, of 1, for one to be taken for the other: `hti` for `hit`, not `promote` for `remove`."""


def _code(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _family(key: str) -> _Family:
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
        meant = code.replace(name, module, 1)
        raise CoflashError(f'{key}.code: "{code}" was given; did you mean "{meant}"? (a module has no .py and no /)')
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
    except Exception as error:
        raise CoflashError(f"{what}: {type(error).__name__}: {error}{place(error.__traceback__)}") from error


def _digest(cls: type) -> str:
    """Return a digest of the source of a class, and of everything in its module that it refers to."""
    module = sys.modules.get(cls.__module__)
    parts: dict[str, str] = {}
    try:
        _collect(cls, module, parts)
    except (OSError, TypeError) as error:
        msg = f"{_code(cls)}: its source is not to be found; define it in a file or a notebook"
        raise CoflashError(msg) from error
    text = "\0".join(f"{name}\0{source}" for name, source in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _collect(value: Any, module: ModuleType | None, parts: dict[str, str]) -> None:
    name = value.__qualname__
    if name in parts:
        return
    parts[name] = inspect.getsource(value)
    for other in _named(value):
        known = vars(module).get(other) if module else None
        if isinstance(known, type | FunctionType) and known.__module__ == value.__module__:
            _collect(known, module, parts)
        elif isinstance(known, int | float | str | bytes | tuple | frozenset):
            parts[other] = repr(known)


def _named(value: Any) -> Iterator[str]:
    """Yield the module-level names used by the code of a function, or of a class and its bases."""
    if isinstance(value, type):
        yield from (base.__qualname__ for base in value.__bases__)
        for member in vars(value).values():
            inner = inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)) or member)
            if isinstance(inner, type | FunctionType):
                yield from _named(inner)
    else:
        yield from _names(value.__code__)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
