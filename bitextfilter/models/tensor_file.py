"""Tensors of a model folder, read by numpy: the file is mapped, and widened where it is asked for.

:mod:`bitextfilter.models.checkpoint` writes these files, and reads them for torch. Letters: n rows,
d columns.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from bitextfilter.errors import ModelError, NotFoundError

SCALE = ".row_scale"
"""What follows a matrix's name in the name of its scales."""

_TYPES = {
    **{f"F{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"<u{bits // 8}" for bits in (8, 16, 32, 64)},
    "BOOL": "|b1",
    "BF16": "<u2",
}
"""Types of numbers by their names in the file; numpy lacks bfloat16, the first half of float32."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as it is stored; a float may be quantised by rows."""

    numbers: NDArray[Any]
    """As in the file; quantised: int8 ``(n, d)``, or bits, uint8 ``(n, bits, d / 8)``."""
    scales: NDArray[np.float32] | None = None
    """Factors of the rows, ``(n, 1)``, of a quantised one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers that are meant."""
        shape = self.numbers.shape
        return (shape[0], 8 * shape[2]) if self.scales is not None and len(shape) == 3 else shape

    @property
    def size(self) -> int:
        """The number of these numbers."""
        return int(np.prod(self.shape, dtype=object))

    def array(self) -> NDArray[Any]:
        """Return all numbers: float32 of a quantised tensor, others as they are."""
        if self.scales is None:
            return self.numbers
        whole = self.numbers.ndim == 2
        numbers = self.numbers.astype(np.float32) if whole else of_bits(self.numbers)
        numbers *= self.scales
        return numbers

    def is_finite(self) -> bool:
        """Return whether all numbers are finite as float32."""
        numbers = self.numbers if self.scales is None else self.scales
        if numbers.dtype.kind != "f" or not numbers.size:
            return True
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.array([numbers.min(), numbers.max()]).astype(np.float32)
            return bool(np.isfinite(ends if self.scales is None else ends * np.float32(128)).all())


def of_bits(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the numbers of ``checkpoint.quantise_bits`` but for their scales, ``(n, d)``."""
    bits = packed.shape[1]
    places = np.zeros((len(packed), 8 * packed.shape[2]), dtype=np.uint8)
    for bit in range(bits):
        places |= np.unpackbits(packed[:, bit], axis=1) << bit
    numbers: NDArray[np.float32] = places.astype(np.float32)
    numbers -= np.float32((2**bits - 1) / 2)
    return numbers


def open_tensors(path: Path) -> dict[str, StoredTensor]:
    """Map the tensors of a file by name, without their scales.

    Raises:
        NotFoundError: no such file.
        ModelError: the file is damaged, or cannot be read.
    """
    if not path.is_file():
        raise NotFoundError(f"{path}: missing from the model folder")
    try:
        with safe_open(str(path), "np"):  # checks the places of all tensors
            pass
        raw = _mapped(path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelError(f"{path}: damaged tensors: {error}") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    return _with_scales(raw, path)


def _mapped(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a checked file, which is read where they are."""
    with path.open("rb") as stream:
        begin = int.from_bytes(stream.read(8), "little")
        header: dict[str, dict[str, Any]] = json.loads(stream.read(begin))
        whole = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if (kind := _TYPES.get(entry["dtype"])) is None:
            raise ValueError(f"{name} has numbers of the type {entry['dtype']}")
        first, last = (8 + begin + at for at in entry["data_offsets"])
        flat = np.frombuffer(memoryview(whole)[first:last], kind)
        array = flat.reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = array
    return arrays


def _with_scales(raw: Mapping[str, NDArray[Any]], path: Path) -> dict[str, StoredTensor]:
    """Join matrices and their scales; ModelError where they do not fit."""
    tensors = {}
    for name, numbers in raw.items():
        if name.endswith(SCALE):
            continue
        scales = raw.get(name + SCALE)
        if scales is not None:
            check_scales(name, (str(numbers.dtype), *numbers.shape), scales.shape, path)
        tensors[name] = StoredTensor(numbers, scales)
    return tensors


def check_scales(name: str, matrix: Sequence[object], scales: Sequence[int], path: Path) -> None:
    """Raise ModelError unless scales of this shape fit a quantised matrix of this type and shape.

    *matrix*: the type's name, ``int8`` or ``uint8``, then the shape; 1 to 7 bits a number.
    """
    kind, *shape = matrix
    of_bytes = (kind, len(shape)) == ("int8", 2)
    of_bits = (kind, len(shape)) == ("uint8", 3) and shape[1] in range(1, 8)
    if not (of_bytes or of_bits) or [*scales] != [shape[0], 1]:
        raise ModelError(f"{path}: the scales of {name} do not fit it")


def check_finite(tensors: Iterable[tuple[str, bool]], path: Path) -> None:
    """Raise ModelError for the first tensor, by name, whose numbers are not all finite."""
    for name, finite in tensors:
        if not finite:
            raise ModelError(f"{path}: tensor {name} holds numbers that are not finite")


def check_shapes(
    found: Mapping[str, Sequence[int]], wanted: Mapping[str, Sequence[int]], path: Path
) -> None:
    """Raise ModelError for a tensor that is missing, unknown or of another shape than wanted."""
    for name, shape in wanted.items():
        if name not in found:
            raise ModelError(f"{path}: tensor {name} is missing")
        if tuple(found[name]) != tuple(shape):
            raise ModelError(
                f"{path}: tensor {name} has shape {tuple(found[name])},"
                f" the configuration says {tuple(shape)}"
            )
    if unknown := sorted(set(found) - set(wanted)):
        raise ModelError(f"{path}: unknown tensor {unknown[0]}")


def read_tensors(path: Path, wanted: Mapping[str, Sequence[int]]) -> dict[str, StoredTensor]:
    """Return the tensors of a file, which are finite and of the *wanted* shapes, and no others.

    Raises NotFoundError and ModelError.
    """
    tensors = open_tensors(path)
    check_finite(((name, tensor.is_finite()) for name, tensor in tensors.items()), path)
    check_shapes({name: tensor.shape for name, tensor in tensors.items()}, wanted, path)
    return tensors
