"""The tensors of a model folder, in safetensors.

Matrices may be kept as int8 with one float32 scale a row (symmetric, largest magnitude 127), or in
4 or 3 bits a number; they come back as float32.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bitextfilter.arrays import Indices
from bitextfilter.errors import ModelError, NotFoundError, OutputError
from bitextfilter.io.records import file_of
from bitextfilter.models.tensor_file import SCALE, check_finite, check_scales, check_shapes, of_bits

_ROWS = 1 << 14
"""Rows rounded at a time."""

_SPARE = 1 << 22
"""Numbers that a network may have beside twice those of its tensors."""

Module = TypeVar("Module", bound=nn.Module)


def save_tensors(path: Path, tensors: Mapping[str, Tensor], bits: int = 32) -> None:
    """Write named tensors to one safetensors file; matrices in 32, 8, 4 or 3 *bits* a number.

    With 4 or 3, matrices whose width is no multiple of 8 are kept in 8. Raises OutputError if it
    cannot be written.
    """
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        if bits < 32 and tensor.ndim == 2 and tensor.is_floating_point():
            if bits < 8 and tensor.shape[1] % 8 == 0:
                blocks = [quantise_bits(rows.float(), bits) for rows in torch.split(tensor, _ROWS)]
                out[name], out[name + SCALE] = map(torch.cat, zip(*blocks, strict=True))
            else:
                out[name], out[name + SCALE] = quantise_rows(tensor.float())
        else:
            out[name] = tensor.clone()
    _write(path, out)


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors as they are. Raises OutputError."""
    try:
        save_file(tensors, str(path), metadata={"format": "1"})
    except SafetensorError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def _stored(path: Path) -> dict[str, Tensor]:
    """Read named tensors as they are stored.

    Raises:
        NotFoundError: no such file.
        ModelError: the file is damaged.
    """
    if not path.is_file():
        raise NotFoundError(f"{path}: missing from the model folder")
    try:
        return load_file(str(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: damaged tensors: {error}") from error
    except RuntimeError as error:  # of torch, which maps the file
        raise ModelError(f"{path}: cannot be read: {error}") from error


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read named tensors; quantised matrices come back as float32. Raises as :func:`_stored`."""
    raw, tensors = _stored(path), {}
    for name, tensor in raw.items():
        if name.endswith(SCALE):
            continue
        scale = raw.get(name + SCALE)
        if scale is None:
            tensors[name] = tensor
        else:
            kind = str(tensor.dtype).removeprefix("torch.")
            check_scales(name, (kind, *tensor.shape), scale.shape, path)
            whole = tensor.dtype == torch.int8
            numbers = tensor.float() if whole else torch.from_numpy(of_bits(tensor.numpy()))
            tensors[name] = numbers.mul_(scale)
    return tensors


def take_rows(path: Path, output: Path, rows: Mapping[str, Indices]) -> None:
    """Copy a file of tensors with some rows alone of those that are named, quantised as they are.

    Raises the errors of :func:`load_tensors`, and OutputError as :func:`save_tensors`.
    """
    tensors = _stored(path)
    for name, places in rows.items():
        for each in (name, name + SCALE):
            if each in tensors:
                tensors[each] = tensors[each][torch.from_numpy(places)].contiguous()
    _write(output, tensors)


def bits_in(path: Path) -> int:
    """Return the bits of a number of the matrices in a file of tensors: 32, 8, 4 or 3.

    Raises the errors of :func:`load_tensors`.
    """
    tensors = _stored(path)
    kept = [tensors[name] for name in tensors if name + SCALE in tensors]
    return 32 if not kept else 8 if kept[0].dtype == torch.int8 else int(kept[0].shape[1])


def restore_rows(path: Path, old: Path) -> None:
    """Write the tensors of *old*, as they are stored, into the first rows of those of *path*.

    Both have the same bits a number: rounding twice may change the last bit of a scale.
    """
    tensors = _stored(path)
    for name, tensor in _stored(old).items():
        tensors[name][: len(tensor)] = tensor
    _write(path, tensors)


def quantise_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Round each row of ``(n, d)`` to int8; returns it and the float32 scales ``(n, 1)``."""
    scale = matrix.abs().amax(dim=1, keepdim=True) / 127
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return torch.round(matrix / scale).to(torch.int8), scale


_SHRUNK = (1.0, 0.9, 0.8, 0.7, 0.6)
"""Factors of the scale: a smaller one cuts off the largest numbers, and is nearer to all others."""


def quantise_bits(matrix: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Round each number of ``(n, d)``, d a multiple of 8, to the nearest of 2**bits.

    These are a row's scale times 0.5, -0.5, 1.5, -1.5 and so on. Of some scales each row has the
    one with the least squared error. Of rows that were rounded before, the bits stay the same.

    Returns:
        The bits, lowest first, uint8 ``(n, bits, d / 8)``, eight numbers in a byte, the first in
        its highest bit; and the float32 scales ``(n, 1)``, 0 for a row of zeros.
    """
    middle = (2**bits - 1) / 2
    highest = matrix.abs().amax(dim=1, keepdim=True) / middle
    least = torch.full_like(highest, torch.inf)
    places, scale = torch.zeros_like(matrix), highest
    for factor in _SHRUNK:
        step = highest * factor
        rounded = torch.round(matrix / step.clamp(min=1e-30) + middle).clamp_(0, 2 * middle)
        error = ((rounded - middle) * step - matrix).square().sum(dim=1, keepdim=True)
        better = error < least
        places = torch.where(better, rounded, places)
        scale = torch.where(better, step, scale)
        least = torch.minimum(error, least)
    whole = places.to(torch.uint8).numpy()
    planes = [np.packbits(whole >> bit & 1, axis=1) for bit in range(bits)]
    return torch.from_numpy(np.stack(planes, axis=1)), scale


def load_into(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Fill a module's parameters from named tensors.

    Raises:
        ModelError: a tensor is missing, unknown or of another shape (named in the message).
    """
    wanted = module.state_dict()
    found, shapes = (
        {name: each.shape for name, each in some.items()} for some in (tensors, wanted)
    )
    check_shapes(found, shapes, path)
    module.load_state_dict(dict(tensors))


def _is_finite(tensor: Tensor) -> bool:
    """Return whether all numbers are finite: the least and the greatest say it soonest."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return all(bool(end.isfinite()) for end in tensor.aminmax())


_MAKERS = (torch.empty, torch.zeros)
"""Functions that the layers of networks make large tensors by."""


class _Bounded(TorchFunctionMode):
    """Raises MemoryError before more than *most* numbers are filled in, in a block."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in _MAKERS:  # it takes no memory before it is filled
            self._left -= made.numel()
            if self._left < 0:
                raise MemoryError
        return made


def load_parameters(folder: Path, part: str, build: Callable[[], Module]) -> Module:
    """Return the network that *build* makes, with the tensors of a *part* of a model folder.

    No configuration takes much more memory than the tensors have.

    Raises:
        NotFoundError: the tensors are missing.
        ModelError: they are damaged, not finite or do not fit, or too large for the memory.
    """
    path = file_of(folder, f"{part}.safetensors")
    try:
        tensors = load_tensors(path)
        check_finite(((name, _is_finite(tensor)) for name, tensor in tensors.items()), path)
        with _Bounded(_SPARE + 2 * sum(tensor.numel() for tensor in tensors.values())):
            network = build()
    except (RuntimeError, MemoryError, OverflowError) as error:
        raise ModelError(f"{folder}: its network is too large for its tensors") from error
    load_into(network, tensors, path)
    return network
