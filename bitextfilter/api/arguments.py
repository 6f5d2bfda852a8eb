"""Arguments of the public functions, checked in one way against their annotations."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from bitextfilter.errors import BitextError, SettingsError
from bitextfilter.settings import nearest, setting

_P = ParamSpec("_P")
_R = TypeVar("_R")

_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "None": ("None", lambda value: value is None),
    "str": ("a str", lambda value: isinstance(value, str)),
    "Path": ("a path", lambda value: isinstance(value, Path)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: is_number(value, Integral)),
    "float": ("a number", lambda value: is_number(value) and not math.isnan(value)),
    "Model": ("a loaded model", lambda value: hasattr(value, "encode_side")),
    "Mapping": ("a dict", lambda value: isinstance(value, Mapping)),
    "Callable": ("a function", callable),
}
"""Types by name: in words, and whether a value is of it."""
_LISTS = ("Iterable", "Sequence", "Collection", "Languages")
"""Types that are checked where they are read."""
_OPTION = re.compile(r"--([a-z-]+)(?: (\w[\w:,]*?)(?=[;)]|: |$))?")
_ALTERNATIVES = re.compile(r" \| (?![^\[]*\])")


def checked(**within: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that refuses arguments of another type or range, by their names.

    The types are those of the annotations, the ranges as of :func:`bitextfilter.settings.setting`.
    Lists are checked where they are read. Numbers of NumPy become those of Python. Raises
    TypeError for a required argument of another type, SettingsError for all other faults.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(function)
        known = signature.parameters
        kinds = {name: _alternatives(str(its.annotation)) for name, its in known.items()}
        ranges = {n: setting(None, within=text).metadata["setting"] for n, text in within.items()}

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            given = signature.bind(*args, **kwargs)
            for name, value in given.arguments.items():
                if fault := _other_type(value, kinds[name]):
                    required = known[name].default is inspect.Parameter.empty
                    raise (TypeError if required else SettingsError)(f"{name} {fault}")
                given.arguments[name] = plain = _plain(value)
                bounds = ranges.get(name) if isinstance(plain, Real) else None
                if bounds and (fault := bounds.fault(plain)):
                    raise SettingsError(f"{name} {fault}")
            try:
                return function(*given.args, **given.kwargs)
            except BitextError as error:
                error.args = tuple(in_python(str(part), known) for part in error.args)
                raise

        return call

    return decorate


def in_python(message: str, known: Collection[str]) -> str:
    """Return a message with arguments in place of options: ``device='cpu'`` for --device cpu."""

    def argument(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), option[2]
        if name not in known or not value:
            return name if name in known else option[0]
        parts = tuple(value.split(","))
        return f"{name}={parts if len(parts) > 1 else value!r}"

    return _OPTION.sub(argument, message)


def _alternatives(annotation: str) -> dict[str, Callable[[Any], bool]]:
    """Return the types that an argument may have, in words; none if all are checked elsewhere."""
    found: dict[str, Callable[[Any], bool]] = {}
    for kind in _ALTERNATIVES.split(annotation):
        name, _, inner = kind.rstrip("]").partition("[")
        parts = inner.split(", ")
        if name in _LISTS:
            return {}
        if name == "Literal":
            for word in (part.strip("\"'") for part in parts):
                found[repr(word)] = functools.partial(_is_word, word)
        elif name == "tuple":
            found[f"{len(parts)} whole numbers"] = functools.partial(_are_whole, len(parts))
        elif name in _KINDS:
            words, fits = _KINDS[name]
            found[words] = fits
    return found


def _other_type(value: Any, kinds: Mapping[str, Callable[[Any], bool]]) -> str:
    """Return the fault of a value of none of these kinds; empty for one of them."""
    if not kinds or any(fits(value) for fits in kinds.values()):
        return ""
    near = nearest(value, [words.strip("'") for words in kinds if words[0] == "'"])
    *others, last = kinds
    either = f"{', '.join(others)} or {last}" if others else last
    return f"must be {either}, not {value!r:.40}{near}"


def _plain(value: Any) -> Any:
    """Return a value; a number of NumPy as one of Python."""
    return value.item() if isinstance(value, Real) and hasattr(value, "item") else value


def is_number(value: object, kind: type = Real) -> bool:
    """Whether a value is a number, and not True or False."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_word(word: str, value: object) -> bool:
    return isinstance(value, str) and value == word


def _are_whole(count: int, value: object) -> bool:
    if not isinstance(value, tuple | list) or len(value) != count:
        return False
    return all(is_number(each, Integral) for each in value)
