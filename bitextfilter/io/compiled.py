"""Compiled libraries of the package, which are optional: C without anything of Python in it.

``setup.py`` builds each at the install, where there is a C compiler. ``ctypes`` calls them without
the interpreter's lock. Where there is none, or ``BITEXTFILTER_NO_COMPILED=1`` stands in the
environment, numpy or torch computes the same, only slower.

A library gets arrays by their addresses: :func:`array_of` and :class:`Record` first make sure that
each holds the numbers that the library reads, in one piece.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy.typing as npt

NO_COMPILED = "BITEXTFILTER_NO_COMPILED"
"""Variable of the environment: 1 to do without compiled libraries."""

opened: set[str] = set()
"""The libraries that were opened here, by a worker process or for a shard: NAMEs, as ``tokens``."""

INTEGER = ctypes.c_int64


class Array(ctypes.c_void_p):
    """An argument or a field: an array of some kind of number. See :func:`array_of`."""

    kinds: ClassVar[frozenset[Any]]
    pitched: ClassVar[bool]
    optional: ClassVar[bool]

    @classmethod
    def address(cls, array: npt.NDArray[Any] | None) -> int | None:
        """Return the address of the first number. Raises TypeError for another array."""
        if array is None and cls.optional:
            return None
        found = getattr(array, "dtype", None)
        if array is None or found is None or (cls.kinds and found not in cls.kinds):
            kinds = " or ".join(sorted(map(str, cls.kinds))) or "numbers"
            raise TypeError(f"an array of {kinds} is needed, not of {found or type(array)}")
        row = array[0] if cls.pitched and array.ndim > 1 and len(array) else array
        if not row.flags.c_contiguous:
            raise TypeError(f"an array of {found} in one piece is needed")
        return array.ctypes.data

    @classmethod
    def from_param(cls, array: Any) -> Any:
        """Return the argument of a function; ``ctypes`` calls this."""
        return ctypes.c_void_p(cls.address(array))


def array_of(*kinds: npt.DTypeLike, pitched: bool = False, optional: bool = False) -> type[Array]:
    """Return the type of an array, in one piece.

    Args:
        kinds: of number, as ``np.int64``; any, if none is given.
        pitched: whether only each row has to be in one piece.
        optional: whether there may be no array, which is NULL.
    """
    import numpy as np

    known = frozenset(np.dtype(kind) for kind in kinds)
    return type("Array", (Array,), {"kinds": known, "pitched": pitched, "optional": optional})


class Record(ctypes.Structure):
    """A structure that a library reads; its ``_fields_`` are types of ``ctypes`` and arrays.

    It keeps the arrays, so that they live as long as it does.
    """

    def __init__(self, **values: Any) -> None:
        """Take the values of fields; others are 0. Raises TypeError for another array."""
        kinds: dict[str, Any] = {name: kind for name, kind, *_ in self._fields_}
        self.values = values
        super().__init__(
            **{
                name: kinds[name].address(value) if issubclass(kinds[name], Array) else value
                for name, value in values.items()
            }
        )


def fields(kinds: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the ``_fields_`` of a record by their names."""
    return tuple(kinds.items())


class CompiledLibrary:
    """A library ``_NAME.so`` in the folder of the module that uses it."""

    def __init__(self, file: str, name: str, layout: int, **functions: tuple[Any, ...]) -> None:
        """Declare its functions.

        Args:
            file: ``__file__`` of the module.
            name: of the library.
            layout: the number that its function ``NAME_layout()`` must return: of the form of all
                arguments.
            functions: their names → the type of the result, then those of the arguments.
        """
        self.path = Path(file).with_name(f"_{name}.so")
        self.name, self.layout, self.functions = name, layout, functions

    def open(self) -> ctypes.CDLL | None:
        """Return the library; None if there is none, or none is wanted, or of another layout."""
        return None if os.environ.get(NO_COMPILED) == "1" else _opened(self, self.path, self.layout)

    def needed(self) -> ctypes.CDLL:
        """Return the library, which :meth:`open` has returned before."""
        library = self.open()
        assert library is not None, "the caller has seen it"
        return library


@functools.cache
def _opened(library: CompiledLibrary, path: Path, layout: int) -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(str(path))
        version = found[f"{library.name}_layout"]
        version.restype = INTEGER
    except (OSError, AttributeError):
        return None
    if version() != layout:
        return None
    for name, (result, *arguments) in library.functions.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    opened.add(library.name)
    return found
