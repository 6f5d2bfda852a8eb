"""The search by torch against scanning, on a processor and as on a GPU: ties, tiles, bounds."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gpu import DEVICE

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import DeviceError
from bitextfilter.models import device as devices
from bitextfilter.search import torch_search
from bitextfilter.search.torch_search import (
    TILE,
    DeviceRows,
    Rows,
    room_for,
    search_on_processor,
    search_rows,
)
from bitextfilter.similarity.vectors import NO_ROW, Neighbours, merge_neighbours, scan, unit_rows

GENERATOR = np.random.default_rng(0)
DIM = 24
B = unit_rows(GENERATOR.standard_normal((1107, DIM)))
A = unit_rows(B[200:1100] + 0.15 * GENERATOR.standard_normal((900, DIM)))


@pytest.fixture(params=["float16", "bfloat16", "float32"], autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The format of a GPU, and those of processors, whatever this one is fast with."""
    form: str = request.param
    monkeypatch.setattr(torch_search, "product_type", lambda _: getattr(torch, form))
    return form


def on_device(units: Vectors) -> DeviceRows:
    rows = DeviceRows(len(units), units.shape[1], torch.device(DEVICE))
    for first in range(0, len(units), 500):
        rows.put(first, units[first : first + 500])
    return rows


def search(
    a: Vectors,
    b: Vectors,
    k: int,
    tile: tuple[int, int] = TILE,
    reached: tuple[Scores | None, Scores | None] = (None, None),
) -> tuple[Neighbours, Neighbours]:
    held = on_device if torch_search.product_type(devices.CPU) == torch.float16 else Rows
    return search_rows((held(a), held(b)), k, reached, tile)


def check(a: Vectors, b: Vectors, k: int = 10, tile: tuple[int, int] = TILE) -> None:
    """It finds what scanning finds, both ways, to the last bit, and fills up with nothing."""
    found = search(a, b, k, tile)
    for (cosines, numbers), (queries, base) in zip(found, ((a, b), (b, a)), strict=True):
        expected, there = scan(queries, base, k), min(k, len(base))
        assert (cosines.dtype, numbers.dtype) == (np.float32, np.int64)
        assert cosines.shape == numbers.shape == (len(queries), k)
        assert np.array_equal(numbers[:, :there], expected[1])
        assert cosines[:, :there].tobytes() == expected[0].tobytes()
        assert (numbers[:, there:] == NO_ROW).all()
        assert (cosines[:, there:] == -np.inf).all()


@pytest.mark.gate(4)
@pytest.mark.parametrize(
    ("k", "tile"),
    [(1, TILE), (4, (256, 512)), (10, (100, 77)), (10, (64, 2000)), (4, (2000, 33))],
)
def test_agrees_with_scanning_whatever_the_tile(k: int, tile: tuple[int, int]) -> None:
    check(A, B, k, tile)


def test_near_and_far_clusters_of_many_dimensions() -> None:
    """As of sentences: clusters of all widths, some rows far from all."""
    centres = np.repeat(GENERATOR.standard_normal((40, 300)), 20, axis=0)
    width = np.repeat(GENERATOR.uniform(0.01, 2, 40), 20)[:, None]
    a, b = (centres + width * GENERATOR.standard_normal(centres.shape) for _ in "ab")
    check(unit_rows(a), unit_rows(b[:700]), 4, (320, 200))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_few_dimensions(width: int) -> None:
    """Many pairs are nearer than rounding can tell."""
    check(*(unit_rows(GENERATOR.standard_normal((400, width))) for _ in range(2)), 4)


@pytest.mark.gate(5)
@pytest.mark.parametrize(("pairs", "many"), [(1 << 16, 1), (50, 8), (1 << 16, 1 << 40)])
def test_duplicates_and_ties(pairs: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each row there are nine copies here and four there; computed singly, or by whole tiles."""
    for name in ("_PAIRS", "_GROUPS", "_COPIED"):
        monkeypatch.setattr(torch_search, name, pairs)
    monkeypatch.setattr(torch_search, "_MANY", many)
    monkeypatch.setattr(torch_search, "_BLOCK", (100, 70))
    b = np.repeat(B[:70], 9, axis=0)[GENERATOR.permutation(630)]
    a = np.repeat(B[:150], 4, axis=0)[GENERATOR.permutation(600)]
    check(a, b, 10, (400, 300))
    check(a, b, 3)


def test_what_rounding_cannot_tell_apart() -> None:
    a, b = A[:600].copy(), B[:700].copy()
    a[5:305] = b[10:310] = unit_rows(A[:1] + 1e-7 * GENERATOR.standard_normal((300, DIM)))
    check(a, b, 4, (128, 300))


def test_rows_like_nothing_and_rows_all_alike() -> None:
    a, b = A[:400].copy(), B[:500].copy()
    a[::50] = 0
    b[::40] = 0
    check(a, b)
    check(a, np.zeros_like(b))
    check(np.repeat(A[:1], 300, axis=0), np.repeat(B[:1], 400, axis=0))
    check(A[:400], -np.abs(B[:400]))
    check(np.abs(A[:400]), -np.abs(B[:400]), 1)


@pytest.mark.parametrize("rows", [0, 1, 10, 11, 33])
def test_small_sides(rows: int) -> None:
    check(A[:rows], B[:30])
    check(B[:30], A[:rows], 3, (32, 7))


@pytest.mark.gate(3)
@pytest.mark.parametrize("sample", [32, 500])
def test_floors_of_any_sample(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_search, "_SAMPLE", sample)
    check(A, B, 4, (512, 512))


def test_parts_joined_by_what_was_reached() -> None:
    """Of either side's rows, each part is searched for what is nearer than all before."""
    k, best = 4, scan(A, B[:600], 4)
    backward = np.full(len(B), -np.inf, np.float32)
    for first, last in ((600, 700), (700, 1107)):
        given = best[0][:, -1], backward[first:last]
        (cosines, numbers), _ = search(A, B[first:last], k, (128, 256), given)
        numbers[numbers != NO_ROW] += first
        best = merge_neighbours(best, (cosines, numbers), k)
    expected = scan(A, B, k)
    assert np.array_equal(best[0], expected[0])
    assert np.array_equal(best[1], expected[1])


def test_nothing_is_found_below_what_was_reached() -> None:
    above = np.full(len(A), 2.0, np.float32), np.full(len(B), 2.0, np.float32)
    for cosines, numbers in search(A, B, 4, reached=above):
        assert (cosines == -np.inf).all()
        assert (numbers == NO_ROW).all()


@pytest.mark.parametrize("form", ["float16"], indirect=True)
def test_rows_are_kept_to_the_last_bit() -> None:
    rows = np.zeros((4, 5), np.float32)
    rows[0] = [1, 1e-3, 2e-7, 0, -1e-5]
    rows[1, 2], rows[2, :3] = -1, [0.999, 0.0446, 1e-4]
    units = unit_rows(rows)
    kept = on_device(units)
    assert np.array_equal(kept.exact(torch.arange(4, device=DEVICE)).cpu().numpy(), units)
    assert kept.zero.tolist() == [False, False, False, True]
    lost = kept.rounded.double().cpu().numpy() - units
    assert np.sqrt((lost**2).sum(axis=1)).max() <= kept.error() <= 2.0**-11


@pytest.mark.parametrize("threads", [1, 3])
def test_torch_keeps_its_number_of_threads(threads: int) -> None:
    before = torch.get_num_threads()
    found = search_on_processor((A, B), 4, threads=threads)
    assert torch.get_num_threads() == before
    assert np.array_equal(found[0][1], scan(A, B, 4)[1])


def noise(like: torch.Tensor) -> torch.Tensor:
    """Return numbers from -1 to 1, as many and where others are."""
    return torch.from_numpy(GENERATOR.uniform(-1, 1, like.shape)).to(like.device)


def test_the_error_of_products_covers_coarse_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that lose, at each addition, as much as a GPU's may: the neighbours are the same."""

    def coarse(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        exactly = left.double() @ right.double()
        return out.copy_(exactly + left.shape[1] * 2.0**-22 * noise(out))

    monkeypatch.setattr(torch, "mm", coarse)
    check(A, B, 4, (256, 512))


def off_by(most: float) -> Callable[..., torch.Tensor]:
    """Return products of which any is off by up to so much."""

    def products(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        exactly = left.double() @ right.double()
        return out.copy_(exactly + most * noise(out))

    return products


def truncated(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Return sums that are rounded to float16 at each addition."""
    out.zero_()
    for one, other in zip(left.T, right, strict=True):
        out += one[:, None] * other
    return out


@pytest.mark.parametrize("form", ["float16"], indirect=True)
@pytest.mark.parametrize(
    "products",
    [
        off_by(0.01),
        truncated,
        lambda _, __, out: out.zero_(),
        lambda left, right, out: out.copy_(0.9 * (left.double() @ right.double())),
        lambda left, right, out: out.copy_(-(left.double() @ right.double())),
        lambda _, __, out: out.fill_(torch.nan),
    ],
    ids=["off", "float16 sums", "none", "low", "negative", "no numbers"],
)
@pytest.mark.gate(6)
@pytest.mark.parametrize("tile", [TILE, (256, 512)])
def test_wrong_products_are_noticed(
    products: Callable[..., torch.Tensor], tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the bound, by the cosines, or by rows that find too few."""
    monkeypatch.setattr(torch, "mm", products)
    wide = [unit_rows(GENERATOR.standard_normal((300, 256))) for _ in "ab"]
    wide[0][:200] = wide[1][:200]
    with pytest.raises(DeviceError, match="its products of vectors are wrong, beyond rounding"):
        search(wide[0], wide[1], 4, tile)


@pytest.mark.parametrize("form", ["float16"], indirect=True)
def test_numbers_too_low_for_float16_may_be_taken_for_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """As some GPUs do, with rows and with products."""

    def flushed(left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        left, right, exactly = (
            each.where(each.abs() >= 2.0**-14, 0.0)
            for each in (left, right, left.double() @ right.double())
        )
        assert torch.equal(left.double() @ right.double(), exactly)
        return out.copy_(exactly)

    rows = [GENERATOR.standard_normal((400, 9)) * (1.0, *[1e-5] * 8) for _ in "ab"]
    rows[0][:, 0], rows[1][:, 0] = 1.0, GENERATOR.uniform(-1e-5, 1e-5, 400)
    monkeypatch.setattr(torch, "mm", flushed)
    check(unit_rows(rows[0]), unit_rows(rows[1]), 4, (64, 100))


@pytest.mark.parametrize("form", ["float16"], indirect=True)
@pytest.mark.parametrize(
    "names",
    [
        ("allow_fp16_reduced_precision_reduction", "allow_fp16_accumulation"),
        ("allow_fp16_reduced_precision_reduction",),
    ],
)
@pytest.mark.parametrize("allowed", [True, False])
def test_sums_in_float32_whatever_was_allowed(
    allowed: bool, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older versions of torch have one setting only."""
    assert set(vars(torch._C)) >= {f"_get_cublas_{name}" for name in names}
    settings = SimpleNamespace(**dict.fromkeys(names, allowed))
    monkeypatch.setattr(torch.backends.cuda, "matmul", settings)
    seen, multiply = list[bool](), torch.mm

    def noting(*given: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        seen.extend(vars(settings).values())
        return multiply(*given, out=out)

    monkeypatch.setattr(torch, "mm", noting)
    check(A[:100], B[:100], 4)
    assert seen
    assert not any(seen)
    assert vars(settings) == dict.fromkeys(names, allowed)


@pytest.mark.parametrize("form", ["float16"], indirect=True)
@pytest.mark.parametrize(
    ("gibibytes", "tile", "rows"),
    [
        (139, TILE, 40e6),
        (79, (1 << 15, 1 << 17), 25e6),
        (22, (1 << 14, 1 << 16), 7e6),
        (2, None, 3e5),
    ],
)
def test_sizes_by_memory(gibibytes: int, tile: tuple[int, int] | None, rows: float) -> None:
    free = gibibytes << 30
    room = room_for(free, 512, 4)
    assert tile in (None, room.tile)
    assert 2 * room.tile[0] * room.tile[1] <= free // 8
    assert room.rows >= rows
    assert room.rows * 4 * 512 < 0.9 * free


@pytest.mark.parametrize("form", ["float16"], indirect=True)
def test_no_memory_no_rows() -> None:
    room = room_for(1 << 20, 512, 4)
    assert room.rows == 0
    assert room.tile == (1 << 10, 1 << 13)
