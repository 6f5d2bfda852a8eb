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


def resolve_device(name: str) -> torch.device:
    """The device called ``cpu``, ``cuda`` or ``cuda:N``; ``auto`` is CUDA where there is one.

    Raises:
        DeviceError: it is not here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(f"--device {name}: there is no such CUDA device here; use --device cpu")
    return device


@cache
def product_type(device: torch.device) -> torch.dtype:
    """The number type that recurrent layers multiply matrices in on a device, when encoding.

    bfloat16 on a processor with AVX-512 or AMX instructions for it, where such products are two
    to six times faster; float32 on all others, and on GPUs.
    """
    abilities = _abilities() if device.type == "cpu" else {}
    fast = abilities.get("avx512_bf16") or abilities.get("amx_bf16")
    return torch.bfloat16 if fast else torch.float32


def arithmetic(device: torch.device) -> list[str]:
    """What the last bits of results on a device may depend on: names to compare, not to read.

    The instructions that the processor has and those that torch uses; MKL's mode; the GPU's name.
    """
    names = sorted(name for name, there in _abilities().items() if there is True)
    names += [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    names.append(f"MKL_CBWR={os.environ.get('MKL_CBWR')}")
    return [*names, torch.cuda.get_device_name(device)] if device.type == "cuda" else names


def _abilities() -> Mapping[str, object]:
    """What the processor can do, by name; nothing is known of it by older versions of torch."""
    asked: Callable[[], Mapping[str, object]] = getattr(torch.cpu, "get_capabilities", dict)
    return asked()


class _OneThread:
    """How many are computing on one thread, and how many threads torch had before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._computing = self._before = 0

    def enter(self) -> None:
        with self._lock:
            if not self._computing:
                self._before = torch.get_num_threads()
            self._computing += 1
            torch.set_num_threads(1)

    def leave(self) -> None:
        with self._lock:
            self._computing -= 1
            if not self._computing:
                torch.set_num_threads(self._before)


_ONE_THREAD = _OneThread()


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch have so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let each torch operation run on one thread; blocks run side by side instead.

    Several threads may do so at a time: the last one to end gives torch its threads back.
    """
    _ONE_THREAD.enter()
    try:
        yield
    finally:
        _ONE_THREAD.leave()
