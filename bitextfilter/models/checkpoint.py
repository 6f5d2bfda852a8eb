"""The files of a model folder: ``config.json`` and tensors in safetensors, never pickle.

Matrices may be kept as int8 with one float32 scale a row (symmetric, largest magnitude 127);
they come back as float32.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bitextfilter.errors import ModelError, NotFoundError, OutputError
from bitextfilter.io.files import draft
from bitextfilter.models.folders import CONFIG, FORMAT

SCALE = ".row_scale"

Module = TypeVar("Module", bound=nn.Module)


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``config.json``; the format version is added."""
    text = json.dumps({"format": FORMAT, **config}, indent=2, ensure_ascii=False) + "\n"
    (folder / CONFIG).write_text(text, encoding="utf-8")


def save_tensors(path: Path, tensors: Mapping[str, Tensor], quantise: bool = False) -> None:
    """Write named tensors to one safetensors file; ``quantise`` keeps matrices as int8.

    Raises OutputError where it cannot be written.
    """
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        if quantise and tensor.ndim == 2 and tensor.is_floating_point():
            out[name], out[name + SCALE] = quantise_rows(tensor.float())
        else:
            out[name] = tensor.clone()
    try:
        save_file(out, str(path), metadata={"format": str(FORMAT)})
    except SafetensorError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    path.chmod(0o666 & ~_umask())


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read named tensors; int8 matrices come back as float32.

    Raises:
        NotFoundError: no such file.
        ModelError: the file is damaged.
    """
    if not path.is_file():
        raise NotFoundError(f"{path}: missing from the model folder")
    try:
        raw = load_file(str(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: damaged tensors: {error}") from error
    tensors = {}
    for name, tensor in raw.items():
        if name.endswith(SCALE):
            continue
        scale = raw.get(name + SCALE)
        if scale is None:
            tensors[name] = tensor
        elif tensor.ndim != 2 or scale.shape != (tensor.shape[0], 1):
            raise ModelError(f"{path}: the scales of {name} do not fit it")
        else:
            tensors[name] = tensor.float() * scale
    return tensors


def quantise_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Round each row of ``(n, d)`` to int8; returns it and the float32 scales ``(n, 1)``."""
    scale = matrix.abs().amax(dim=1, keepdim=True) / 127
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return torch.round(matrix / scale).to(torch.int8), scale


def load_into(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Fill a module's parameters from named tensors.

    Raises:
        ModelError: a tensor is missing, unknown or of another shape (named in the message).
    """
    wanted = module.state_dict()
    for name, parameter in wanted.items():
        if name not in tensors:
            raise ModelError(f"{path}: tensor {name} is missing")
        if tensors[name].shape != parameter.shape:
            raise ModelError(
                f"{path}: tensor {name} has shape {tuple(tensors[name].shape)},"
                f" the configuration says {tuple(parameter.shape)}"
            )
    if unknown := sorted(set(tensors) - set(wanted)):
        raise ModelError(f"{path}: unknown tensor {unknown[0]}")
    module.load_state_dict(dict(tensors))


def load_parameters(folder: Path, part: str, build: Callable[[], Module]) -> Module:
    """Return the network that *build* makes, with the tensors of a *part* of a model folder.

    Raises:
        NotFoundError: the tensors are missing.
        ModelError: they are damaged or do not fit, or the network is too large for the memory.
    """
    try:
        network = build()
    except RuntimeError as error:
        raise ModelError(f"{folder}: its network cannot be held in memory") from error
    path = folder / f"{part}.safetensors"
    load_into(network, load_tensors(path), path)
    return network


def check_replaceable(path: Path) -> None:
    """Raise OutputError where ``path`` is something other than a model or an empty folder."""
    if path.exists() and not (path / CONFIG).is_file() and (path.is_file() or any(path.iterdir())):
        raise OutputError(f"{path}: exists and is not a model folder; name another")


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside ``path`` that takes its name when the block ends well.

    An older model folder of that name is replaced; anything else there is left alone.

    Raises:
        OutputError: ``path`` is something other than a model folder, or cannot be written.
    """
    check_replaceable(path)
    old = path.with_name(f".{path.name}.{token_hex(6)}.old")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft(path, folder=True) as new:
            yield new
            if path.exists():
                path.rename(old)
            new.rename(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
