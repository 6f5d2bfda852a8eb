"""The parts of a cache: files of records of 24 bytes, sorted by key and never changed."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import InputError
from bitextfilter.io.files import open_output

__all__ = ["Found", "Records", "look_up", "merged", "open_part", "records_of", "write_part"]

HEADER = b"bitextfilter cache part\n"
RECORD = np.dtype([("first", "<u8"), ("second", "<u8"), ("value", "<f4"), ("check", "<u4")])
CHECKED_BYTES = 20
"""The bytes of a record that its checksum is over."""

SLICE = 1 << 18
"""Records that are merged at once, about."""

Records = NDArray[np.void]
"""Keys in two halves, numbers, and checksums, ``(n,)``."""

Found = NDArray[np.bool_]


def records_of(keys: Sequence[bytes], values: NDArray[np.float32] | None = None) -> Records:
    """Return records of ``n`` keys: as they come, or with their numbers ``(n,)`` and sorted."""
    halves = np.frombuffer(b"".join(keys), dtype="<u8").reshape(len(keys), 2)
    records = np.zeros(len(keys), dtype=RECORD)
    records["first"], records["second"] = halves.T
    if values is None:
        return records
    records["value"] = values
    records["check"] = _checks(records)
    return _sorted(records)


def look_up(wanted: Records, parts: Iterable[Records]) -> Found:
    """Give records ``(n,)`` the numbers of their keys, where a part has them: returns which.

    Parts are looked through in their order. An entry whose checksum does not hold is not there.
    """
    order = np.argsort(wanted["first"])
    left = wanted[order]
    for part in parts:
        places = np.minimum(np.searchsorted(part["first"], left["first"]), len(part) - 1)
        met = part[places]
        same = (met["first"] == left["first"]) & (met["second"] == left["second"])
        same[same] = _intact(met[same])
        wanted[order[same]] = met[same]
        order, left = order[~same], left[~same]
    found = np.ones(len(wanted), dtype=np.bool_)
    found[order] = False
    return found


def write_part(path: Path, slices: Iterable[Records]) -> None:
    """Write a part, of records in the order of their keys, whole or not at all.

    Raises OutputError.
    """
    with open_output(path) as stream:
        stream.write(HEADER)
        for records in slices:
            stream.write(records.tobytes())


def _sorted(records: Records) -> Records:
    return records[np.lexsort((records["second"], records["first"]))]


def _checks(records: Records) -> list[int]:
    """Return the CRC-32 of each record."""
    data = records.tobytes()
    size = RECORD.itemsize
    return [zlib.crc32(data[at : at + CHECKED_BYTES]) for at in range(0, len(data), size)]


def _intact(records: Records) -> Found:
    """Return whether the checksum of each record holds."""
    return np.asarray(records["check"] == np.array(_checks(records), dtype=np.uint32))


def open_part(path: Path) -> Records:
    """Return the records of a part, which stay in its file; of a torn one, those there are.

    Raises FileNotFoundError; InputError where it is no part.
    """
    with path.open("rb") as stream:
        if stream.read(len(HEADER)) != HEADER:
            remedy = "delete it, and what it held is computed again"
            raise InputError("damaged part of a cache", file=str(path), remedy=remedy)
        count = (os.fstat(stream.fileno()).st_size - len(HEADER)) // RECORD.itemsize
        if not count:
            return np.zeros(0, dtype=RECORD)
        mapped = np.memmap(stream, dtype=RECORD, mode="r", offset=len(HEADER), shape=(count,))
        return np.asarray(mapped)


def merged(parts: Sequence[Records]) -> Iterator[Records]:
    """Yield the records of all parts in the order of their keys, without damaged and double ones.

    They are cut at the same keys into slices, each of which is sorted in memory.
    """
    slices = -(-sum(map(len, parts)) // SLICE)
    edges = (np.arange(1, slices) * (2.0**64 / max(1, slices))).astype(np.uint64)
    cuts = []
    for part in parts:
        inner = np.maximum.accumulate(np.searchsorted(part["first"], edges))
        cuts.append(pairwise([0, *inner.tolist(), len(part)]))
    for bounds in zip(*cuts, strict=True):
        pieces = (part[start:stop] for part, (start, stop) in zip(parts, bounds, strict=True))
        records = np.concatenate(list(pieces))
        records = _sorted(records[_intact(records)])
        new = np.ones(len(records), dtype=np.bool_)
        same = (records[name][1:] == records[name][:-1] for name in ("first", "second"))
        new[1:] = ~np.logical_and(*same)
        yield records[new]
