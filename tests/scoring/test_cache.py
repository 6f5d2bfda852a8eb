"""A cache of numbers, by any process, after any accident; scores from it, to the last bit."""

from __future__ import annotations

import errno
import fcntl
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import score_table, sentences, toy_model, toy_words_model

from bitextfilter.errors import InputError, ModelError, OutputError, SettingsError
from bitextfilter.scoring import cached_scores as module
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.scoring.cached_scores import (
    CACHE_FILE,
    Cache,
    CachedScores,
    pair_keys,
    score_digest,
)
from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import Model, load


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
    with Cache(folder) as cache:
        values, found = cache.get(keys_of(numbers))
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values[found], values_of(numbers)[found])
    return [number for number, there in zip(numbers, found, strict=True) if not there]


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
        with Cache(folder) as cache:
            assert cache.get(keys_of(range(7)))[0].tobytes() == values.tobytes()


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
                if step == "open":
                    one.close()
                    one = Cache(folder)
        one.close()
        other.close()


def test_a_cache_that_is_open_follows_the_others(tmp_path: Path) -> None:
    fill(tmp_path, range(10))
    with Cache(tmp_path) as cache:
        for start in range(10, 200, 10):
            fill(tmp_path, range(start, start + 10))
            assert cache.get(keys_of(range(start + 10)))[1].all()


def damaged(data: bytes, folder: Path, numbers: range) -> list[int] | None:
    """Which of these are missing where the table is this *data*; None where it is refused."""
    (folder / CACHE_FILE).write_bytes(data)
    try:
        return missing(folder, numbers)
    except (InputError, OutputError) as error:
        refusal = str(error)
    reasons = (
        f"{folder / CACHE_FILE}: damaged cache; delete it",
        f"{folder}: not a cache of this version",
    )
    assert refusal.startswith((*reasons, f"{folder / CACHE_FILE}: cannot be used"))
    return None


def test_a_flipped_bit_never_changes_a_number(tmp_path: Path) -> None:
    """Bits all over a table of five hundred entries: each is harmless, a loss or an error."""
    fill(tmp_path, range(500))
    good = (tmp_path / CACHE_FILE).read_bytes()
    outcomes = set()
    places = random.Random(1)
    for bit in [*range(0, 800, 16), *(places.randrange(len(good) * 8) for _ in range(100))]:
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        lost = damaged(bytes(bad), tmp_path, range(500))
        outcomes.add("refused" if lost is None else "lost" if lost else "found")
    assert outcomes == {"refused", "lost", "found"}


def test_every_bit_of_an_entry_is_guarded(tmp_path: Path) -> None:
    fill(tmp_path, range(4))
    good = (tmp_path / CACHE_FILE).read_bytes()
    start = good.index(keys_of(range(2, 3))[0])
    for bit in range(8 * start, 8 * (start + 24)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        assert damaged(bytes(bad), tmp_path, range(2, 3)) == [2]


def test_an_entry_that_was_damaged_can_be_added_again(tmp_path: Path) -> None:
    fill(tmp_path, range(20))
    data = bytearray((tmp_path / CACHE_FILE).read_bytes())
    data[data.index(keys_of(range(5, 6))[0]) + 17] ^= 1
    assert damaged(bytes(data), tmp_path, range(20)) == [5]
    fill(tmp_path, range(5, 6))
    assert missing(tmp_path, range(20)) == []


@pytest.mark.parametrize("size", [1, 99, 5000, 20000, -1])
def test_a_torn_table_is_refused_or_loses_entries(tmp_path: Path, size: int) -> None:
    fill(tmp_path, range(2000))
    lost = damaged((tmp_path / CACHE_FILE).read_bytes()[:size], tmp_path, range(2000))
    assert lost is None or lost


def test_a_process_killed_before_its_first_entry_leaves_an_empty_cache(tmp_path: Path) -> None:
    (tmp_path / CACHE_FILE).touch()
    assert missing(tmp_path, range(3)) == [0, 1, 2]
    fill(tmp_path, range(3))
    assert missing(tmp_path, range(3)) == []


@pytest.mark.parametrize("make", ["file", "full", "newer", "other"])
def test_what_is_no_cache_is_refused_and_left_alone(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x"
    if make == "file":
        path.write_bytes(b"text\n")
    elif make == "full":
        path.mkdir()
        (path / "notes.txt").write_bytes(b"else\n")
    elif make == "newer":
        fill(path, range(1))
        with sqlite3.connect(path / CACHE_FILE) as base:
            base.execute("pragma user_version = 99")
        base.close()
    else:
        path.mkdir()
        (path / CACHE_FILE).write_bytes(b"else\n")
    before = {file: file.is_file() and file.read_bytes() for file in tmp_path.rglob("*")}
    message = "not a cache of this version of bitextfilter; name a new folder, or an empty one"
    message = (
        f"{path / CACHE_FILE}: damaged cache; delete it"
        if make == "other"
        else f"{path}: {message}"
    )
    with pytest.raises(InputError, match=message):
        Cache(path)
    assert {file: file.is_file() and file.read_bytes() for file in tmp_path.rglob("*")} == before


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    fill(tmp_path, range(10))
    with Cache(tmp_path) as cache:
        cache.put(keys_of(range(10, 2000)), values_of(range(10, 2000)))
        assert cache._base is not None
        cache._base.execute("pragma max_page_count = 10")
        with pytest.raises(
            OutputError, match=f"{CACHE_FILE}: cannot be used: database or disk is full"
        ):
            cache.keep()
        assert missing(tmp_path, range(20)) == list(range(10, 20))
        assert cache.get(keys_of(range(2000)))[1].all()
        cache._base.execute("pragma max_page_count = 1000000")
    assert missing(tmp_path, range(2000)) == []


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


ADD = """
import random, sys
import numpy as np
from bitextfilter.scoring.cached_scores import Cache
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
    assert [path.name for path in tmp_path.iterdir()] == [CACHE_FILE]


def test_a_table_that_appears_while_the_folder_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Path.iterdir

    def made_meanwhile(folder: Path) -> Iterator[Path]:
        monkeypatch.setattr(Path, "iterdir", look)
        fill(tmp_path, range(5))
        return look(folder)

    monkeypatch.setattr(Path, "iterdir", made_meanwhile)
    assert missing(tmp_path, range(5)) == []


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
    assert [path.name for path in tmp_path.iterdir()] == [CACHE_FILE]


def test_a_message_of_sqlite_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    whole = (tmp_path / CACHE_FILE).read_bytes()
    (tmp_path / CACHE_FILE).write_bytes(whole.replace(b"CREATE TABLE", b"CREATE TAB\xccE", 1))
    with pytest.raises(InputError, match="damaged cache; delete it"):
        Cache(tmp_path)


def test_a_file_system_without_locks_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    fill(tmp_path, range(3))
    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(OutputError, match="cannot be written: No locks available"):
        Cache(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [CACHE_FILE]


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with Cache(folder) as cache:
        cache.put(keys_of(range(5)), values_of(range(5)))
        cache.keep()
        assert cache.get(keys_of(range(5)))[1].all()
        shutil.rmtree(folder)
        cache.put(keys_of(range(5, 9)), values_of(range(5, 9)))
    assert missing(folder, range(5, 9)) == []


def test_a_table_that_another_process_made_anew_is_not_written_beside(tmp_path: Path) -> None:
    with Cache(tmp_path) as cache:
        cache.put(keys_of(range(5)), values_of(range(5)))
        cache.keep()
        (tmp_path / CACHE_FILE).unlink()
        fill(tmp_path, range(5, 7))
        cache.put(keys_of(range(7, 9)), values_of(range(7, 9)))
    assert missing(tmp_path, range(9)) == [0, 1, 2, 3, 4]


def test_a_damaged_name_of_the_table_is_damage(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    data = (tmp_path / CACHE_FILE).read_bytes().replace(b"scores", b"shores")
    (tmp_path / CACHE_FILE).write_bytes(data)
    with pytest.raises(InputError, match="damaged cache; delete it"):
        missing(tmp_path, range(5))


SOURCES, TARGETS = sentences(200, 5)
ALL = list(MEASURES)


@pytest.fixture(scope="module", params=["plain", "words"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A toy model, and one whose classifier reads words."""
    folder = tmp_path_factory.mktemp("models") / "toy"
    made = toy_model if request.param == "plain" else toy_words_model
    return load(made(folder, calibrated=True))


class Scorer:
    """``score_table`` by a cache."""

    calls: ClassVar[list[tuple[int, tuple[str, ...]]]] = []
    """How many pairs were computed, and by what, in each call."""

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        self.cached = CachedScores(cache, counts)

    def __call__(
        self,
        model: Model,
        sources: Sequence[str],
        targets: Sequence[str],
        measures: Sequence[str],
        background: BackgroundSample | None = None,
    ) -> np.ndarray:
        model = model if background is None else replace(model, background=background)

        def compute(
            left: Sequence[str], right: Sequence[str], names: Sequence[str]
        ) -> dict[str, np.ndarray]:
            self.calls.append((len(left), tuple(names)))
            return model.score(left, right, names)

        digests = {name: score_digest(model, name) for name in measures}
        found = self.cached(digests, sources, targets, compute)
        return np.column_stack([found[name] for name in measures])


@pytest.fixture
def computed() -> list[tuple[int, tuple[str, ...]]]:
    """``Scorer.calls`` from now on."""
    Scorer.calls.clear()
    return Scorer.calls


def run(folder: Path, *call: Any) -> tuple[np.ndarray, Counter[str]]:
    """Score by a cache that is opened and closed: a run of its own."""
    counts: Counter[str] = Counter()
    with Cache(folder) as cache:
        return Scorer(cache, counts)(*call), counts


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_the_same_scores_and_each_once(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    expected = score_table(model, SOURCES, TARGETS, ALL)
    for cached in (0, 200, 200):
        scores, counts = run(tmp_path, model, SOURCES, TARGETS, ALL)
        assert same(scores, expected)
        assert counts == {"cached": cached, "scored": 200 - cached}
    assert computed == [(200, tuple(ALL))]


def test_in_another_order_with_repetitions_and_new_pairs(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    run(tmp_path, model, SOURCES[:150], TARGETS[:150], ["mlp", "csls"])
    order = np.random.default_rng(1).choice(200, 500).tolist()
    new = len({place for place in order if place >= 150})
    mixed = [SOURCES[i] for i in order], [TARGETS[i] for i in order]
    scores, counts = run(tmp_path, model, *mixed, ["csls", "mlp"])
    assert same(scores, score_table(model, *mixed, ["csls", "mlp"]))
    assert counts == {"cached": 500 - new, "scored": new}
    assert computed == [(150, ("mlp", "csls")), (new, ("csls", "mlp"))]


def test_only_what_is_missing_is_computed(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    run(tmp_path, model, SOURCES[:80], TARGETS[:80], ["cosine"])
    run(tmp_path, model, SOURCES[40:120], TARGETS[40:120], ["mlp"])
    scores, counts = run(tmp_path, model, SOURCES[:80], TARGETS[:80], ["mlp", "cosine"])
    assert same(scores, score_table(model, SOURCES[:80], TARGETS[:80], ["mlp", "cosine"]))
    assert computed[1:] == [(80, ("mlp",)), (40, ("mlp",))]
    assert counts == {"cached": 40, "scored": 40}
    scores, counts = run(tmp_path, model, SOURCES, TARGETS, ["mlp", "cosine"])
    assert same(scores, score_table(model, SOURCES, TARGETS, ["mlp", "cosine"]))
    assert counts == {"cached": 80, "scored": 120}


def test_swapped_sides_and_moved_bounds_are_other_pairs(model: Model, tmp_path: Path) -> None:
    pairs = [("a1 a2", "b1"), ("a1", "a2 b1"), ("b1", "a1 a2"), ("a1 a2b1", "a3"), ("a1 a2 b1", "")]
    for source, target in pairs:
        scores, counts = run(tmp_path, model, [source], [target], ["mlp", "cosine"])
        assert counts["scored"] == 1
        assert same(scores, score_table(model, [source], [target], ["mlp", "cosine"]))


TEXTS = st.text(st.sampled_from("ab\t\n\0:19ä\ud800"), max_size=5)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=50))
def test_keys_are_equal_where_pairs_are(pairs: list[tuple[str, str]]) -> None:
    tricky = [("a\tb", "c"), ("a", "b\tc"), ("ab", "c"), ("a", "bc"), ("1:a", "b"), ("1", ":ab")]
    pairs += [*tricky, ("", "abc"), ("abc", "")]
    assert len(set(pair_keys(b"context", pairs))) == len(set(pairs))
    assert len({key for c in (b"1", b"2") for key in pair_keys(c, tricky)}) == 2 * len(tricky)


def test_other_neighbours_miss_where_they_matter(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    call = model, SOURCES[:30], TARGETS[:30], ["mlp", "csls", "ratio"]
    run(tmp_path, *call)
    own = model.background
    assert own is not None
    others = [
        BackgroundSample(own.target, own.source, own.k),
        BackgroundSample(own.source, own.target, own.k + 1),
        BackgroundSample(own.source[:-1], own.target, own.k),
        model.sample(SOURCES, TARGETS, own.k),
    ]
    for other in others:
        scores, counts = run(tmp_path, *call, other)
        assert same(scores, score_table(*call, other))
        assert counts == {"cached": 0, "scored": 30}
        assert computed[-1] == (30, ("csls", "ratio"))
    own_file = BackgroundSample.load(model.folder / BACKGROUND)
    assert run(tmp_path, *call, own_file)[1] == {"cached": 30, "scored": 0}


def test_one_cache_for_two_models_and_neighbours_in_turns(
    model: Model, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whose scores they are is asked at each call, not once."""
    other = load(toy_model(tmp_path_factory.mktemp("models") / "other", dim=8))
    sample = model.sample(SOURCES, TARGETS, 3)
    counts: Counter[str] = Counter()
    with Cache(tmp_path) as cache:
        score = Scorer(cache, counts)
        for _ in range(2):
            for some, background in ((model, None), (other, None), (model, sample)):
                call = some, SOURCES[:9], TARGETS[:9], ["cosine", "distance"], background
                assert same(score(*call), score_table(*call))
    assert counts == {"cached": 27, "scored": 27}


@pytest.mark.parametrize("what", ["SCORES", "__version__", "arithmetic", "_version", "model"])
def test_whatever_else_decides_a_score_is_in_the_key(
    model: Model, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = SOURCES[:5], TARGETS[:5], ["cosine"]
    run(tmp_path, model, *call)
    values = {
        "SCORES": module.SCORES + 1,
        "__version__": "99",
        "arithmetic": lambda: ["another"],
        "_version": lambda name: "99" if name == "torch" else "1",
        "model": model,
    }
    if what == "model":
        digest = "0" * 64
        model = replace(model, digest=digest[:12])
        monkeypatch.setattr(module, "full_model_digest", lambda folder: digest)
    else:
        owner = model.encoder if what == "arithmetic" else module
        monkeypatch.setattr(owner, what, values[what])
    assert run(tmp_path, model, *call)[1]["scored"] == 5
    assert run(tmp_path, model, *call)[1]["scored"] == 0


def test_a_model_that_has_changed_meanwhile_is_refused(model: Model, tmp_path: Path) -> None:
    other = replace(model, digest="0123456789ab")
    with pytest.raises(ModelError, match="has changed since it was read"):
        run(tmp_path, other, ["a1"], ["b1"], ["cosine"])


def test_what_a_model_refuses_is_refused(model: Model, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'cos' is none of"):
        run(tmp_path, model, ["a1"], ["b1"], ["cos"])
    with pytest.raises(SettingsError, match="needs neighbours"):
        run(tmp_path, replace(model, background=None), ["a1"], ["b1"], ["csls"])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        run(tmp_path, model, ["a1", "a2"], ["b1"], ["cosine"])


def test_no_pairs(model: Model, tmp_path: Path) -> None:
    assert run(tmp_path, model, [], [], ALL)[0].shape == (0, len(ALL))
