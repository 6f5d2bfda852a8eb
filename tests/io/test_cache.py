"""A cache of numbers: what was put is found, by any process, after any accident."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.errors import InputError, OutputError
from bitextfilter.io import cache as cache_module
from bitextfilter.io import cache_parts, files
from bitextfilter.io.cache import Cache
from bitextfilter.io.cache_parts import merged, open_part, records_of, write_part


def keys_of(numbers: range) -> list[bytes]:
    """Some keys, evenly distributed as digests are."""
    return [random.Random(number).randbytes(16) for number in numbers]


def values_of(numbers: range) -> np.ndarray:
    return np.array([random.Random(-number - 1).random() for number in numbers], dtype=np.float32)


def fill(folder: Path, numbers: range) -> None:
    with Cache(folder) as cache:
        cache.put(keys_of(numbers), values_of(numbers))


def missing(folder: Path, numbers: range) -> list[int]:
    """Which of these are not in the cache; those that are must be right."""
    values, found = Cache(folder).get(keys_of(numbers))
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values[found], values_of(numbers)[found])
    return [number for number, there in zip(numbers, found, strict=True) if not there]


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.part"))


def test_what_was_put_is_found_at_once_and_later(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "cache"
    with Cache(folder) as cache:
        cache.put(keys_of(range(20, 100)), values_of(range(20, 100)))
        values, found = cache.get(keys_of(range(50, 150)))
        assert found.tolist() == [True] * 50 + [False] * 50
        np.testing.assert_array_equal(values[:50], values_of(range(50, 100)))
    assert missing(folder, range(120)) == [*range(20), *range(100, 120)]


def test_every_float_comes_back_as_it_was(tmp_path: Path) -> None:
    values = np.array([0.0, -0.0, 1e-45, -3.4e38, 0.1, np.inf, 1.0], dtype=np.float32)
    for folder in (tmp_path / "a", tmp_path / "b"):
        with Cache(folder) as cache:
            cache.put(keys_of(range(7)), values)
            assert cache.get(keys_of(range(7)))[0].tobytes() == values.tobytes()
        assert Cache(folder).get(keys_of(range(7)))[0].tobytes() == values.tobytes()


def test_nothing_is_made_before_there_is_something_to_keep(tmp_path: Path) -> None:
    with Cache(tmp_path / "cache") as cache:
        assert not cache.get(keys_of(range(3)))[1].any()
        assert cache.get([])[0].shape == (0,)
    assert list(tmp_path.iterdir()) == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.integers(0, 60), max_size=20)),
        st.tuples(st.just("get"), st.lists(st.integers(0, 60), max_size=20)),
        st.tuples(st.sampled_from(["keep", "open", "other"]), st.just([])),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_against_a_dict(steps: list[tuple[str, list[int]]]) -> None:
    """Two caches on one folder, one of which may be opened anew at any time."""
    known: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        one, other = Cache(folder), Cache(folder)
        for step, numbers in steps:
            keys = [keys_of(range(n, n + 1))[0] for n in numbers]
            if step == "put":
                # A key has one number, for good: that is what a cache is.
                one.put(keys, np.array(numbers, dtype=np.float32) / 8)
                known.update((n, n / 8) for n in numbers)
            elif step == "get":
                values, found = one.get(keys)
                assert found.tolist() == [n in known for n in numbers]
                assert values[found].tolist() == [known[n] for n in numbers if n in known]
            elif step == "other":
                one, other = other, one
                other.keep()
            else:
                one.keep()
                one = Cache(folder) if step == "open" else one


def test_parts_are_merged_into_few(tmp_path: Path) -> None:
    for start in range(0, 3000, 10):
        fill(tmp_path, range(start, start + 10))
    assert len(parts(tmp_path)) < 25
    assert missing(tmp_path, range(3010)) == list(range(3000, 3010))
    assert sum(len(open_part(path)) for path in parts(tmp_path)) == 3000
    assert {path.suffix for path in tmp_path.iterdir()} == {".part", ""}


def test_a_cache_that_is_open_follows_merging(tmp_path: Path) -> None:
    fill(tmp_path, range(10))
    with Cache(tmp_path) as cache:
        for start in range(10, 200, 10):
            fill(tmp_path, range(start, start + 10))
            assert cache.get(keys_of(range(start + 10)))[1].all()


def test_merging_in_slices_sorts_and_leaves_out_the_damaged_and_the_double(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cache_parts, "SLICE", 64)
    ranges = [range(500), range(300, 800), range(790, 1000)]
    three = [records_of(keys_of(numbers), values_of(numbers)) for numbers in ranges]
    single, double = keys_of(range(7, 8))[0], keys_of(range(400, 401))[0]
    for key in (single, double):
        three[0]["value"][[raw[:16] for raw in rows(three[0])].index(key)] += 1
    slices = list(merged(three))
    assert len(slices) > 10
    whole = rows(np.concatenate(slices))
    assert [raw[:16] for raw in whole] == sorted({*keys_of(range(1000))} - {single}, key=halves)
    assert all(int.from_bytes(raw[20:], "little") == zlib.crc32(raw[:20]) for raw in whole)


def rows(records: np.ndarray) -> list[bytes]:
    return [record.tobytes() for record in records]


def halves(key: bytes) -> tuple[int, int]:
    return int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")


def test_equal_halves_are_not_equal_keys(tmp_path: Path) -> None:
    keys = [b"a" * 8 + b"b" * 8, b"a" * 8 + b"c" * 8, b"d" * 8 + b"b" * 8]
    with Cache(tmp_path) as cache:
        cache.put(keys[:1], np.array([0.5], dtype=np.float32))
    assert Cache(tmp_path).get(keys)[1].tolist() == [True, False, False]


def test_the_checksum_is_crc_32_of_key_and_number() -> None:
    (raw,) = rows(records_of(keys_of(range(1)), values_of(range(1))))
    assert raw[:16] + raw[16:20] == keys_of(range(1))[0] + values_of(range(1)).tobytes()
    assert int.from_bytes(raw[20:], "little") == zlib.crc32(raw[:20])


def test_a_flipped_bit_is_found_wherever_it_is(tmp_path: Path) -> None:
    """Each bit of a part of four entries: at most the entry is lost, and none is wrong."""
    fill(tmp_path, range(4))
    (path,) = parts(tmp_path)
    good = path.read_bytes()
    lost = 0
    for bit in range(len(good) * 8):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        if bit < len(cache_parts.HEADER) * 8:
            with pytest.raises(InputError, match=f"{path}: damaged part of a cache; delete it"):
                missing(tmp_path, range(4))
        else:
            lost += bool(missing(tmp_path, range(4)))
    assert lost == 4 * 24 * 8


def test_what_was_damaged_can_be_added_again(tmp_path: Path) -> None:
    fill(tmp_path, range(20))
    (path,) = parts(tmp_path)
    data = bytearray(path.read_bytes())
    data[24 + 5 * 24 + 17] ^= 1
    path.write_bytes(data)
    (lost,) = missing(tmp_path, range(20))
    fill(tmp_path, range(lost, lost + 1))
    assert missing(tmp_path, range(20)) == []
    for start in range(20, 600, 20):
        fill(tmp_path, range(start, start + 20))
    assert missing(tmp_path, range(600)) == []


@pytest.mark.parametrize("size", [0, 10, 24, 30, 24 + 24 * 3 + 5])
def test_a_torn_part_loses_entries_or_is_refused(tmp_path: Path, size: int) -> None:
    fill(tmp_path, range(10))
    (path,) = parts(tmp_path)
    os.truncate(path, size)
    if size < 24:
        with pytest.raises(InputError, match="damaged part of a cache"):
            missing(tmp_path, range(10))
    else:
        assert len(missing(tmp_path, range(10))) == 10 - (size - 24) // 24


@pytest.mark.parametrize("make", ["file", "full", "newer", "mark"])
def test_what_is_no_cache_is_refused_and_left_alone(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x"
    if make == "file":
        path.write_bytes(b"text\n")
    else:
        path.mkdir()
        name = "notes.txt" if make == "full" else cache_module.MARK
        mark = b"bitextfilter cache, format 2\n" if make == "newer" else b"else\n"
        (path / name).write_bytes(mark)
    before = sorted(tmp_path.rglob("*"))
    message = "a cache of another version" if make == "newer" else "not a cache"
    with pytest.raises(InputError, match=f"{path}: {message}.*; name a new folder, or an empty"):
        Cache(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_is_said_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, range(10))
    cache = Cache(tmp_path)
    cache.put(keys_of(range(10, 20)), values_of(range(10, 20)))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(OutputError, match=r"part: cannot be written: No space left on device"):
            cache.keep()
    assert missing(tmp_path, range(20)) == list(range(10, 20))
    cache.keep()
    assert missing(tmp_path, range(20)) == []


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file" / "cache")
    cache.put(keys_of(range(1)), values_of(range(1)))
    with pytest.raises(OutputError, match="cache: cannot be written: Not a directory"):
        cache.keep()


def add_and_fail(folder: Path) -> None:
    with Cache(folder) as cache:
        cache.put(keys_of(range(5)), values_of(range(5)))
        raise KeyError


def test_an_error_is_not_hidden_by_one_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KeyError):
        add_and_fail(tmp_path / "file" / "cache")


def test_an_error_elsewhere_does_not_lose_what_was_added(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        add_and_fail(tmp_path)
    assert missing(tmp_path, range(5)) == []


def test_drafts_of_the_killed_are_cleared_and_those_of_others_left(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    draft, other = tmp_path / ".0123.part.77.partial", tmp_path / ".out.tsv.77.partial"
    for path in (draft, other):
        path.write_bytes(b"half")
    fill(tmp_path, range(5, 10))
    assert (draft.exists(), other.exists()) == (False, True)


ADD = """
import random, sys
import numpy as np
from bitextfilter.io.cache import Cache
folder, first, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Cache(folder) as cache:
    for start in range(first, 8000, 40 * step):
        numbers = range(start, start + 40)
        keys = [random.Random(number).randbytes(16) for number in numbers]
        values = [random.Random(-number - 1).random() for number in numbers]
        found = cache.get(keys)
        cache.put(keys, np.array(values, dtype=np.float32))
        cache.keep()
        print(start, flush=True)
"""


def adding(folder: Path, first: int, step: int) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-c", ADD, str(folder), str(first), str(step)]
    return subprocess.Popen(line, stdout=subprocess.PIPE)


def test_several_processes_add_at_once(tmp_path: Path) -> None:
    running = [adding(tmp_path, first, 3) for first in (0, 0, 40, 80)]
    for process in running:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert missing(tmp_path, range(8000)) == []
    assert {path.suffix for path in tmp_path.iterdir()} == {".part", ""}


def test_killed_at_any_point(tmp_path: Path) -> None:
    """What a killed process said it has kept is there, and the next one goes on."""
    child = adding(tmp_path, 0, 1)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(random.Random(1).uniform(0.05, 0.8))
    child.send_signal(signal.SIGKILL)
    kept = [int(line) for line in child.communicate()[0].split()]
    assert missing(tmp_path, range((kept or [0])[-1] + 40)) == []
    fill(tmp_path, range(30000, 30010))
    assert missing(tmp_path, range(30000, 30010)) == []
    assert not list(tmp_path.glob(".*"))


def test_a_part_is_searched_where_it_lies(tmp_path: Path) -> None:
    """Looking into a part of 20 million entries (480 MB, mostly a hole) reads next to nothing."""
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    path = tmp_path / "x.part"
    write_part(path, [records_of(keys_of(range(10)), values_of(range(10)))])
    os.truncate(path, 24 + 24 * 20_000_000)
    part = open_part(path)
    before = resident()
    cache_parts.look_up(records_of(keys_of(range(100))), [part])
    assert resident() - before < 64 << 20


def resident() -> int:
    """Bytes of this process in memory that are its own."""
    fields = Path("/proc/self/status").read_text().split("\n")
    (line,) = (field for field in fields if field.startswith("VmRSS"))
    return int(line.split()[1]) << 10


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with Cache(folder) as cache:
        cache.put(keys_of(range(5)), values_of(range(5)))
        cache.keep()
        assert cache.get(keys_of(range(5)))[1].all()
        shutil.rmtree(folder)
        cache.put(keys_of(range(5, 9)), values_of(range(5, 9)))
    assert missing(folder, range(5, 9)) == []
