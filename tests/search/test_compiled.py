"""The compiled search against numpy and scanning: sums, bounds, ties, all kinds of kernel."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from compiler import build

from bitextfilter.arrays import Vectors
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.search import compiled as compiled_search
from bitextfilter.search.compiled import (
    LOOKS,
    Aim,
    Part,
    RoundedRows,
    Turning,
    choose_steps,
    even_axes,
    kernel,
    learn_rotation,
    search_parts,
    turning_error,
)
from bitextfilter.similarity.vectors import Neighbours, scan, unit_products, unit_rows

GENERATOR = np.random.default_rng(5)
needs_library = pytest.mark.skipif(not compiled_search.LIBRARY.path.exists(), reason="not compiled")


@pytest.fixture(autouse=True)
def library_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says."""
    monkeypatch.delenv(NO_COMPILED, raising=False)


def kinds() -> range:
    """All kinds of kernel that this processor can run."""
    return range(kernel() + 1)


def clustered(rows: int, dim: int, noise: float, seed: int = 0) -> Vectors:
    """Rows near one of 40 others, a tenth of them copies, some of nothing but zeros."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((40, dim)) * np.geomspace(1, 0.05, dim)
    made = centres[generator.integers(40, size=rows)] + noise * generator.standard_normal(
        (rows, dim)
    )
    made[generator.integers(rows, size=rows // 10)] = made[rows // 2]
    made[rows // 3] = 0
    return unit_rows(made)


def turned(a: Vectors, b: Vectors, split: int | None = None, room: float = 1.0) -> Turning:
    """How both sides are turned; *room*: of the range of the integers."""
    rotation = learn_rotation((a, b), Aim((len(a), len(b)), 4, LOOKS[0]))
    if split is not None:
        rotation = rotation._replace(split=split)
    turning = choose_steps(rotation, (a, b))
    return turning._replace(steps=turning.steps * np.float32(room))


def searched(
    a: Vectors, b: Vectors, k: int, turning: Turning, kind: int | None = None, threads: int = 1
) -> tuple[Neighbours, Neighbours]:
    parts = [
        Part(rows, RoundedRows(rows, turning, side, threads), None)
        for side, rows in enumerate((a, b))
    ]
    return search_parts((parts[0], parts[1]), k, threads, kind)


def check(found: tuple[Neighbours, Neighbours], a: Vectors, b: Vectors, k: int) -> None:
    """The same as scanning, to the last bit."""
    for (cosines, rows), queries, base in zip(found, (a, b), (b, a), strict=True):
        expected = scan(queries, base, k)
        columns = min(k, len(base))
        assert (cosines.dtype, rows.dtype) == (np.float32, np.int64)
        assert np.array_equal(rows[:, :columns], expected[1])
        assert np.array_equal(cosines[:, :columns], expected[0])
        assert (rows[:, columns:] == -1).all()


@needs_library
@pytest.mark.parametrize("dim", [1, 2, 3, 5, 17, 64, 129, 520])
def test_agrees_with_scanning(dim: int) -> None:
    a, b = clustered(397, dim, 0.1), clustered(461, dim, 0.1, 1)
    for split in {1, dim // 2 or 1, dim}:
        turning = turned(a, b, split)
        for kind in kinds():
            check(searched(a, b, 4, turning, kind), a, b, 4)


@needs_library
@pytest.mark.parametrize("sizes", [(1, 1), (1, 50), (13, 1), (12, 32), (97, 3), (700, 1000)])
def test_any_sizes_and_threads(sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_search, "_CALL", 192)
    a, b = unit_rows(GENERATOR.standard_normal((sizes[0], 24))), clustered(sizes[1] + 9, 24, 0.3)
    b = b[: sizes[1]]
    for k, threads in ((1, 1), (3, 3), (60, 2)):
        check(searched(a, b, k, turned(a, b), threads=threads), a, b, k)


@needs_library
def test_what_integers_cannot_tell_apart() -> None:
    """Near-duplicates by the hundred, copies in any order, rows all alike, and all of zeros."""
    a, b = clustered(600, 48, 1e-4), clustered(500, 48, 1e-4, 1)
    for one, other in ((a, b), (np.repeat(a[:60], 10, axis=0), b), (a, np.zeros_like(b))):
        check(searched(one, other, 5, turned(one, other)), one, other, 5)
    same = np.repeat(a[:1], 300, axis=0)
    check(searched(same, same, 5, turned(same, same)), same, same, 5)


@needs_library
def test_numbers_out_of_range_only_cost_time() -> None:
    """A sample may be unlike all other rows."""
    a, b = clustered(400, 40, 0.2), clustered(300, 40, 0.2, 1)
    for split in (8, 40):
        for room in (0.3, 0.01, 30.0):
            check(searched(a, b, 4, turned(a, b, split, room)), a, b, 4)
    odd = turned(unit_rows(np.eye(40)[:3]), unit_rows(np.eye(40)[3:9]))
    check(searched(a, b, 4, odd), a, b, 4)


@needs_library
@pytest.mark.parametrize(("room", "deviations"), [(1.0, np.inf), (0.5, np.inf), (0.5, 6), (1.0, 6)])
def test_bounds_hold_and_are_close(room: float, deviations: float) -> None:
    """Heads with spares, and heads with tails, against exact products."""
    a, b = clustered(300, 100, 0.3), clustered(200, 100, 0.3, 1)
    turning = turned(a, b, 32, room)._replace(deviations=deviations)
    one, other = RoundedRows(a, turning, 0), RoundedRows(b, turning, 1)
    units = turning.steps.astype(np.float64).prod(axis=0)
    heads, tails, lengths = [], [], []
    for side, rounded in enumerate((one, other)):
        tiles = rounded.arrays["heads"].transpose(0, 2, 1, 3)
        rows = tiles.reshape(-1, turning.head)[: len(rounded.arrays["tails"])]
        flip = np.uint8(128 * side)
        heads.append((rows ^ flip).view(np.int8).astype(np.int64))
        tails.append((rounded.arrays["tails"] ^ flip).view(np.int8).astype(np.int64))
        lengths.append(rounded.arrays["lengths"].astype(np.float64))
    exact = unit_products(a, b)
    above = exact - units[0] * (heads[0] @ heads[1].T)
    loose = one.looseness(other)[:, None], other.looseness(one)
    assert (above <= np.maximum(*loose)).all()
    # Of a row with numbers out of range, every pair takes a closer look; its own bound is enough.
    assert room < 1 or all((above <= each).all() for each in loose)
    places = slice(0, turning.head - 8)
    whole = units[0] * (heads[0][:, places] @ heads[1][:, places].T)
    whole += units[1] * (tails[0] @ tails[1].T)
    slack = turning.rotation.error + sum(
        np.multiply.outer(lengths[0][:, i], lengths[1][:, i] + lengths[1][:, 2 + i])
        + np.multiply.outer(lengths[0][:, 2 + i], lengths[1][:, i])
        for i in (0, 1)
    )
    assert (np.abs(whole - exact) <= slack).all()
    assert room < 1 or slack.max() < (0.05 if deviations == np.inf else 0.03)
    assert deviations == np.inf or room < 1 or np.abs(whole - exact).max() > slack.max() / 5


@needs_library
@pytest.mark.parametrize("head", [4, 36, 512])
def test_sums_of_tiles(head: int) -> None:
    """Extreme and random heads, by every kind, against 64-bit integers."""
    library = compiled_search.LIBRARY.needed()
    library.nearest_rows_tile.restype = ctypes.c_int64
    extremes = np.array([-128, 127], np.int8)
    for a, b in (
        (np.full((24, head), -128, np.int8), np.full((64, head), 255, np.uint8)),
        (np.full((24, head), 127, np.int8), np.full((64, head), 255, np.uint8)),
        (GENERATOR.choice(extremes, (24, head)), GENERATOR.choice([0, 255], (64, head))),
        (GENERATOR.integers(-128, 128, (24, head)), GENERATOR.integers(0, 256, (64, head))),
        (np.zeros((24, head)), np.zeros((64, head))),
    ):
        products = a.astype(np.int64) @ b.astype(np.int64).T
        start = GENERATOR.integers(-1000, 1000, 24)
        products += start[:, None]
        own, other = (GENERATOR.choice(products.ravel(), size) for size in products.shape)
        sides = []
        for rows, width, limits in ((a, 12, own), (b, 32, other)):
            packed = rows.astype(np.int16).astype(np.uint8).reshape(-1, width, head // 4, 4)
            arrays = {
                "heads": np.ascontiguousarray(packed.transpose(0, 2, 1, 3)),
                "start": np.ascontiguousarray(start, np.int32),
                "limits": np.ascontiguousarray(limits, np.int32),
            }
            sides.append(compiled_search._Side(rows=len(rows), **arrays))
        both = (compiled_search._Side * 2)(*sides)
        search = compiled_search._Search(head=head, sides=both)
        reach = products >= np.minimum.outer(own, other)
        for kind in kinds():
            for row in (0, 12):
                for column in (0, 32):
                    sums, places = np.zeros((12, 32), np.int32), np.zeros(12 * 32, np.int32)
                    count = library.nearest_rows_tile(
                        ctypes.byref(search),
                        *map(ctypes.c_int64, (row, column, kind)),
                        ctypes.c_void_p(sums.ctypes.data),
                        ctypes.c_void_p(places.ctypes.data),
                    )
                    part = slice(row, row + 12), slice(column, column + 32)
                    assert np.array_equal(places[:count], np.flatnonzero(reach[part]))
                    assert not count or np.array_equal(sums, products[part])


def test_turning_changes_products_by_no_more_than_its_error() -> None:
    rows = unit_rows(GENERATOR.standard_normal((200, 60)))
    exact = rows.astype(np.float64) @ rows.astype(np.float64).T
    for noise in (0.0, 1e-4):
        matrix = np.linalg.qr(GENERATOR.standard_normal((60, 60)))[0].astype(np.float32)
        matrix += np.float32(noise) * GENERATOR.standard_normal((60, 60)).astype(np.float32)
        after = (rows @ matrix).astype(np.float64)
        changed = float(np.abs(after @ after.T - exact).max())
        assert changed <= turning_error(matrix) < 0.01 + 200 * noise


def test_a_library_of_another_layout_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.c"
    old.write_text("long nearest_rows_layout(void) { return 99; }\n")
    library = build(tmp_path / "_nearest_rows.so", old, "-shared", "-fPIC")
    monkeypatch.setattr(compiled_search.LIBRARY, "path", library)
    assert kernel() == 0


@needs_library
@pytest.mark.parametrize("side", [0, 1])
def test_some_of_rounded_rows_are_these_rows_rounded(side: int) -> None:
    a = clustered(397, 130, 0.1)
    turning = turned(a, clustered(461, 130, 0.1, 1), room=0.9)
    rounded = RoundedRows(a, turning, side)
    for count in (0, 1, 11, 12, 32, 96, 600):
        places = GENERATOR.integers(len(a), size=count)
        taken, whole = row_by_row(rounded.take(places)), row_by_row(rounded)
        assert taken.keys() == whole.keys()
        for name, numbers in taken.items():
            assert np.array_equal(numbers[:count], whole[name][places]), name
            assert (numbers[count:] == (128 * side if name == "heads" else 0)).all()
        beyond, (lost, kept) = rounded._beyond[places], rounded.head_lengths()
        lengths = whole["lengths"][places].astype(np.float64)
        longest = lengths[~beyond, 2].max(initial=0)
        most = lengths[:, 0] * (kept + lost) + lost * longest + turning.rotation.error
        expected = np.where(beyond, 4, most * 1.0001).astype(np.float32)
        assert np.array_equal(rounded.take(places).looseness(rounded), expected)


def row_by_row(rounded: RoundedRows) -> dict[str, np.ndarray]:
    """The arrays of rounded rows, heads in order."""
    heads = rounded.arrays["heads"].transpose(0, 2, 1, 3)
    return rounded.arrays | {"heads": heads.reshape(-1, rounded.turning.head)}


SCALES = np.geomspace(1, 0.01, 24)


def test_variances_become_their_roots() -> None:
    turn = np.linalg.qr(GENERATOR.standard_normal((24, 24)))[0]
    sides = [
        ((GENERATOR.standard_normal((rows, 24)) * SCALES + shift) @ turn).astype(np.float32)
        for rows, shift in ((3000, 0.5), (2000, -0.2))
    ]
    even = even_axes((sides[0], sides[1]))
    moved = np.concatenate([even.turn(own, side) for side, own in enumerate(sides)])
    centred = np.concatenate([own - own.mean(axis=0) for own in sides]).astype(np.float64)
    before, after = (
        np.sort(np.linalg.eigvalsh(rows.T @ rows / len(rows))) for rows in (centred, moved)
    )
    assert abs(moved[:3000].mean(axis=0)).max() < 1e-5, "each side is centred by its own mean"
    np.testing.assert_allclose(after, before / np.sqrt(before + 0.05 * before.mean()), rtol=1e-3)


def test_rows_all_alike_are_turned_to_nothing() -> None:
    rows = np.full((5, 3), 0.25, np.float32)
    even = even_axes((rows, rows))
    assert np.isfinite(even.matrix).all()
    assert not even.turn(rows, 0).any()


def test_rows_that_are_alike_need_longer_heads() -> None:
    """Rows of a topic differ by what most axes have little of."""
    topics = GENERATOR.standard_normal((50, 96)) * np.geomspace(1, 0.02, 96)
    noise = 0.1 * GENERATOR.standard_normal((2, 6000, 96))
    one, other = (unit_rows(topics[GENERATOR.integers(50, size=6000)] + own) for own in noise)
    topic = unit_rows(topics[0] + noise[0]), unit_rows(topics[0] + noise[1])
    aim = Aim((6000, 6000), 4, 1500.0)
    apart, alike = learn_rotation((one, other), aim), learn_rotation((one, other), aim, topic)
    assert alike.split > apart.split
    assert np.allclose(alike.matrix @ alike.matrix.T, np.eye(96), atol=1e-4)
