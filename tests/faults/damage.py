"""Damage to files that commands read again: a clear error, or the bytes of an undisturbed run.

A case is a folder made once, and the command that reads it. A trial damages copies of the folder.
Files with digests never change a result; those that users write give an error, or are read as they
stand.
"""

from __future__ import annotations

import functools
import json
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner, Result
from toys import WORDS, sentences, toy_model, toy_words_model
from translators import saved

from bitextfilter.commands import align, models, score, train_encoder, translate
from bitextfilter.commands import filter as filtering
from bitextfilter.commands.evaluate import main as evaluate
from bitextfilter.io.files import open_output
from bitextfilter.io.vectors import write_word_vectors
from bitextfilter.io.work_folder import WorkFolder
from bitextfilter.text.ngram_model import write_arpa
from bitextfilter.text.words import TokenUnits
from bitextfilter.training import loop
from bitextfilter.training.monolingual import NgramSettings, TokenCorpus, estimate

SECONDS = 60
"""A command that takes longer hangs."""

ATTACKS = 8
"""Damaged copies in a trial."""

_TINY = {
    "architecture": "autoencoder",
    "shape": {"embedding": 8, "hidden": 4},
    "segmentation": {"kind": "none", "vocabulary_size": 200},
    "training": {"batch_size": 16, "passes": 2, "validate_every": 3, "warmup": 2},
}
_RULES = """
default = true
languages = ["en", "de"]

[[rule]]
name = "length-ratio"
maximum = 3.0

[[rule]]
name = "score"
column = 3
min = 0.25
"""


class _HangsError(BaseException):
    """A command that does not end."""


@dataclass(frozen=True)
class Case:
    """A folder, and the command that reads it."""

    home: Path
    files: tuple[str, ...]
    """Patterns of the files to damage."""
    run: Callable[[Path], Result]
    """Runs the command in a copy of the folder; its results are stdout and what is below out*."""
    sealed: bool = True
    codes: tuple[int, ...] = (65, 66)
    """Exit codes of its errors."""


def call(main: object, *arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, [str(word) for word in arguments])  # type: ignore[arg-type]


def _home(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"damage-{name}-"))


def _pairs(folder: Path, count: int = 120) -> Path:
    path = folder / "pairs.tsv"
    rows = zip(*sentences(count, 5), strict=True)
    path.write_text("".join(f"{a}\t{b}\t0.5\n" for a, b in rows))
    return path


def _score(home: Path, *more: object) -> Result:
    return call(score.main, "-i", home / "pairs.tsv", "-o", home / "out.tsv", *more)


def _model(recurrent: bool) -> Case:
    home = _home("model")
    _pairs(home)
    if recurrent:
        toy_model(home / "model", recurrent=True)
    else:
        toy_words_model(home / "model")
    return Case(home, ("model/*",), lambda at: _score(at, "--model", at / "model"))


def _verified() -> Case:
    home = _home("verify")
    (toy_model(home / "model") / "card.md").write_text("# A toy\n")
    return Case(home, ("model/*s*",), lambda at: call(models.main, "verify", at / "model"))


def _translator() -> Case:
    home = _home("translator")
    saved(home / "model", 0)
    (home / "text").write_text("a1 a2\na3\n")
    return Case(
        home,
        ("model/*",),
        lambda at: call(translate.main, "--model", at / "model", "-i", at / "text"),
    )


def _cache() -> Case:
    home = _home("cache")
    _pairs(home)
    toy_model(home / "model")

    def run(at: Path) -> Result:
        return _score(at, "--model", at / "model", "--cache", at / "cache")

    run(home)
    (home / "out.tsv").unlink()
    return Case(home, ("cache/*",), run, codes=(65, 74))


def _stopped(owner: object, name: str, count: int, run: Callable[[], Result]) -> None:
    """Run a command that a Ctrl-C ends as a function is called for the *count*-th time."""
    real, calls = getattr(owner, name), []

    def counted(*arguments: object, **more: object) -> object:
        calls.append(1)
        if len(calls) == count:
            raise KeyboardInterrupt
        return real(*arguments, **more)

    with patch.object(owner, name, counted):
        assert run().exit_code == 130


def _shards() -> Case:
    home = _home("shards")
    _pairs(home)
    toy_model(home / "model")

    def run(at: Path) -> Result:
        more = "--resume", at / "parts", "--shard-rows", 25, "--on-error", "reject"
        return _score(at, "--model", at / "model", *more, "--rejects", at / "out.bad")

    (home / "pairs.tsv").write_text((home / "pairs.tsv").read_text().replace("a1 ", "\t", 3))
    _stopped(WorkFolder, "finish", 4, lambda: run(home))
    return Case(home, ("parts/*",), run)


def _search(*more: str) -> Case:
    home = _home("search")
    for name, side in zip("ab", sentences(400, 5), strict=True):
        (home / name).write_text("".join(f"{line}\n" for line in side))
    toy_model(home / "model")

    def run(at: Path) -> Result:
        place = "--model", at / "model", "-o", at / "out.tsv", "--resume", at / "work"
        return call(align.main, at / "a", at / "b", "--min-score", "none", *place, *more)

    assert run(home).exit_code == 0
    (home / "out.tsv").unlink()
    if more:  # only indexes, which are searched again
        for path in [*home.glob("work/*/done"), *home.glob("work/*/*.nearest.*")]:
            path.unlink()
    return Case(home, ("work/*", "work/*/*"), run)


def _index() -> Case:
    home = _home("index")
    for name, side in zip("ab", sentences(400, 5), strict=True):
        (home / name).write_text("".join(f"{line}\n" for line in side))
    toy_model(home / "model")
    words = "--min-score", "none", "--model"
    made = call(
        align.main, home / "a", home / "b", *words, home / "model", "--index-save", home / "index"
    )
    assert made.exit_code == 0, made.stderr
    return Case(
        home,
        ("index/*",),
        lambda at: call(align.main, at / "a", *words, at / "model", "--index-load", at / "index"),
    )


def _training() -> Case:
    home = _home("training")
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2)):
        rows = zip(*sentences(count, seed), strict=True)
        (home / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    (home / "settings.json").write_text(json.dumps(_TINY))

    def run(at: Path, *more: str) -> Result:
        files = "--development", at / "dev.tsv", "--pairs", at / "train.tsv"
        words = "--settings", at / "settings.json", "--languages", "aa,ba", "--threads", 1
        return call(train_encoder.main, "-o", at / "out", *files, *words, *more)

    _stopped(loop, "update", 5, lambda: run(home))
    return Case(home, ("out.training/*",), lambda at: run(at, "--resume"))


def _rules() -> Case:
    home = _home("rules")
    _pairs(home)
    (home / "rules.toml").write_text(_RULES)
    return Case(
        home,
        ("rules.toml",),
        lambda at: call(
            filtering.main, "-i", at / "pairs.tsv", "-o", at / "out", "--rules", at / "rules.toml"
        ),
        sealed=False,
        codes=(65, 66, 78),
    )


def _arpa() -> Case:
    home = _home("arpa")
    _pairs(home)
    with open_output(home / "lm.arpa") as stream:
        units = TokenUnits()
        corpus = TokenCorpus(map(units, sentences(80, 3)[0]))
        write_arpa(estimate(corpus, NgramSettings(3), units).model, stream)
    return Case(
        home,
        ("lm.arpa",),
        lambda at: call(
            filtering.main, "-i", at / "pairs.tsv", "-o", at / "out",
            "--rule", f"perplexity:source={at / 'lm.arpa'},maximum=60",
        ),
        sealed=False,
        codes=(65, 66, 78),
    )  # fmt: skip


def _vectors() -> Case:
    home, chooser = _home("vectors"), np.random.default_rng(1)
    for name, side in (("source", "a"), ("target", "b")):
        with open_output(home / f"{name}.vec") as stream:
            vectors = chooser.standard_normal((WORDS, 6)).astype(np.float32)
            write_word_vectors(stream, [f"{side}{n}" for n in range(WORDS)], vectors)
    (home / "words.tsv").write_text("".join(f"a{n}\tb{n}\n" for n in range(WORDS)))
    return Case(
        home,
        ("*.vec", "words.tsv"),
        lambda at: call(
            evaluate, "words", "--source", at / "source.vec", "--target", at / "target.vec",
            at / "words.tsv",
        ),
        sealed=False,
    )  # fmt: skip


def _neighbours() -> Case:
    home = _home("neighbours")
    _pairs(home)
    shutil.move(toy_model(home / "other") / "neighbours.npz", home / "own.npz")
    toy_model(home / "model", background=False)
    return Case(
        home,
        ("own.npz",),
        lambda at: _score(
            at, "--model", at / "model", "--similarity", "csls", "--neighbours", at / "own.npz"
        ),
        sealed=False,
    )


CASES: dict[str, Callable[[], Case]] = {
    "a model of words": functools.partial(_model, False),
    "a recurrent model": functools.partial(_model, True), "a verified model": _verified,
    "a translator": _translator, "a cache": _cache, "shards": _shards, "an exact search": _search,
    "a search by index": functools.partial(_search, "--index", "ivf", "--recall", "0.5"),
    "a search in clusters": functools.partial(_search, "--index", "clusters", "--recall", "0.5"),
    "a saved index": _index, "a training": _training, "rules": _rules, "a language model": _arpa,
    "word vectors": _vectors, "neighbours": _neighbours,
}  # fmt: skip


@functools.cache
def prepared(name: str) -> tuple[Case, bytes]:
    """Return a case and its result without damage."""
    with _few_rows():
        case = CASES[name]()
        with tempfile.TemporaryDirectory() as folder:
            found = _outcome(case, Path(folder) / "home")
    assert found.code == 0, f"{name}: {found.errors}"
    return case, found.results


@dataclass(frozen=True)
class Outcome:
    """The end of a command in a copy of a case's folder."""

    code: int
    results: bytes
    errors: str


def _outcome(case: Case, home: Path, change: Callable[[Path], object] = lambda _: None) -> Outcome:
    shutil.copytree(case.home, home)
    change(home)
    with limited():
        done = case.run(home)
    outputs = sorted(path for path in home.glob("out*") if path.suffix != ".training")
    files = [path for out in outputs for path in [out, *sorted(out.rglob("*"))] if path.is_file()]
    results = done.stdout_bytes.replace(bytes(home), b"HOME")
    results += b"".join(bytes(path.relative_to(home)) + path.read_bytes() for path in files)
    return Outcome(done.exit_code, results, done.stderr)


@contextmanager
def _few_rows() -> Iterator[None]:
    """Let small files have indexes."""
    with patch("bitextfilter.mining.collection_mining._FEWEST_ROWS", 10):
        yield


@contextmanager
def limited() -> Iterator[None]:
    """Raise AssertionError if the block takes too long."""

    def hang(_number: int, _frame: FrameType | None) -> None:
        raise _HangsError

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(SECONDS)
    try:
        yield
    except _HangsError:
        raise AssertionError(f"no end after {SECONDS} s") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _flip(chooser: Random, content: bytearray) -> bytearray:
    for _ in range(chooser.choice((1, 1, 1, 2, 8, 64))):
        if content:
            content[chooser.randrange(len(content))] ^= 1 << chooser.randrange(8)
    return content


def _cut(chooser: Random, content: bytearray) -> bytearray:
    return content[: chooser.randrange(len(content) + 1)]


def _zero(chooser: Random, content: bytearray) -> bytearray:
    start, size = chooser.randrange(len(content) + 1), chooser.choice((1, 16, 512, 4096))
    content[start : start + size] = bytes(len(content[start : start + size]))
    return content


def _remove(chooser: Random, content: bytearray) -> bytearray:
    start = chooser.randrange(len(content) + 1)
    del content[start : start + chooser.choice((1, 4, 100))]
    return content


def _insert(chooser: Random, content: bytearray) -> bytearray:
    start = chooser.randrange(len(content) + 1)
    content[start:start] = chooser.randbytes(chooser.choice((1, 4, 100)))
    return content


def _append(chooser: Random, content: bytearray) -> bytearray:
    return content + chooser.randbytes(chooser.choice((1, 32, 5000)))


_DAMAGES = (_flip, _flip, _flip, _flip, _cut, _zero, _remove, _insert, _append)


def damaged(chooser: Random, home: Path, files: list[Path]) -> str:
    """Damage one of the files, or swap two; return what was done."""
    path = chooser.choice(files)
    if len(files) > 1 and chooser.random() < 0.08:
        other = chooser.choice([file for file in files if file != path])
        both = path.read_bytes(), other.read_bytes()
        path.write_bytes(both[1])
        other.write_bytes(both[0])
        return f"{path.relative_to(home)} swapped with {other.relative_to(home)}"
    damage = chooser.choice(_DAMAGES)
    before = path.read_bytes()
    after = damage(chooser, bytearray(before))
    path.write_bytes(after)
    pairs = enumerate(zip(before, after, strict=False))
    first = next((n for n, (a, b) in pairs if a != b), min(len(before), len(after)))
    size = f"{len(before)} bytes, now {len(after)}"
    return f"{path.relative_to(home)}: {damage.__name__} from byte {first} ({size})"


def attack(name: str, home: Path, change: Callable[[Path], object]) -> str:
    """Change a copy of a case's folder, made at *home*, and read it.

    Returns the kind of end. Raises AssertionError for a broken promise.
    """
    case, expected = prepared(name)
    done: list[object] = []
    with _few_rows():
        found = _outcome(case, home, lambda at: done.append(change(at)))
    told = f"{name}: {done}: exit {found.code}\n{found.errors[-2000:]}"
    if found.code == 0:
        assert not case.sealed or found.results == expected, f"another result: {told}"
        return "same" if found.results == expected else "read as they stand"
    assert found.code in case.codes, f"exit code: {told}"
    assert "Traceback" not in found.errors, told
    line = found.errors.splitlines()[-1]
    assert line.startswith("bitext-") and (not case.sealed or str(home) in line), f"unclear: {told}"
    return "errors"


def attack_at_random(name: str, chooser: Random, home: Path) -> Counter[str]:
    """Damage some files of a copy of a case's folder, and read it."""
    globs = prepared(name)[0].files

    def change(at: Path) -> list[str]:
        files = sorted(path for glob in globs for path in at.glob(glob) if path.is_file())
        return [damaged(chooser, at, files) for _ in range(chooser.choice((1, 1, 1, 2)))]

    return Counter({"damages": 1, attack(name, home, change): 1})


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """Damage some copies of one case's folder."""
    name, counts = chooser.choice(list(CASES)), Counter[str]()
    for number in range(ATTACKS):
        home = folder / str(number)
        counts += attack_at_random(name, chooser, home)
        shutil.rmtree(home)
    return counts
