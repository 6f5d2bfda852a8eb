"""The devices and threads that torch computes on."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock

import torch

from bitextfilter.errors import DeviceError

CPU = torch.device("cpu")


def resolve_device(name: str) -> torch.device:
    """Return the device called ``cpu``, ``cuda`` or ``cuda:N``; ``auto`` prefers CUDA.

    Raises DeviceError if it is not available.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(f"--device {name}: there is no such CUDA device here; use --device cpu")
    return device


def free_memory(device: torch.device) -> int:
    """Return the bytes free on a GPU, or kept unused by torch; 2 GiB for any other device."""
    if device.type != "cuda":
        return 1 << 31
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


@contextmanager
def naming_device_errors(device: torch.device) -> Iterator[None]:
    """Raise DeviceError where a device has too little memory, or fails otherwise."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        message = f"--device {device}: its memory does not suffice; end what else runs there"
        raise DeviceError(f"{message}, or use --device cpu") from error
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        if "cuda" not in reason.lower():
            raise
        raise DeviceError(f"--device {device}: {reason}; use --device cpu") from error


def wrong_products(device: torch.device) -> DeviceError:
    """Return the error of a device that fails a check of its products."""
    message = f"--device {device}: its products of vectors are wrong, beyond rounding"
    return DeviceError(f"{message}; use --device cpu")


@cache
def product_type(device: torch.device) -> torch.dtype:
    """Return the number type of recurrent layers' matrix products in encoding.

    bfloat16 on a CPU with AVX-512 or AMX instructions for it, where products are two to six times
    faster; float32 on all others, and on GPUs.
    """
    abilities = _abilities() if device.type == "cpu" else {}
    fast = abilities.get("avx512_bf16") or abilities.get("amx_bf16")
    return torch.bfloat16 if fast else torch.float32


def trains_in_bfloat16(device: torch.device) -> bool:
    """Return whether layers can be trained in bfloat16, and faster: on GPUs, and some processors.

    On others torch's LSTM has no products in bfloat16 at all.
    """
    return device.type == "cuda" or product_type(device) == torch.bfloat16


def arithmetic(device: torch.device) -> list[str]:
    """Return names, to be compared, of everything that the last bits of results may depend on.

    The instructions of the processor and those that torch uses; MKL's mode; the GPU's name.
    """
    names = sorted(name for name, there in _abilities().items() if there is True)
    names += [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    names.append(f"MKL_CBWR={os.environ.get('MKL_CBWR')}")
    return [*names, torch.cuda.get_device_name(device)] if device.type == "cuda" else names


def _abilities() -> Mapping[str, object]:
    """Return the abilities of the processor by name; empty with older versions of torch."""
    asked: Callable[[], Mapping[str, object]] = getattr(torch.cpu, "get_capabilities", dict)
    return asked()


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Give torch this number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


_BEFORE: list[int] = []
"""Torch's threads before each user of :func:`one_torch_thread`; the first one's are restored."""
_CHANGING = Lock()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run each torch operation on one thread; blocks run side by side instead.

    May be nested and used by several threads: the last one to leave restores torch's threads.
    """
    with _CHANGING:
        _BEFORE.append(torch.get_num_threads())
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _CHANGING:
            before = _BEFORE.pop()
            if not _BEFORE:
                torch.set_num_threads(before)
