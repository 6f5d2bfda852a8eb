"""The whole main job on an invented language pair: train, score, align, classify, evaluate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from console import command
from toys import invented_pairs as pairs

LARGEST_ERROR = 5.0
"""Percent of the 200 test pairs, CSLS, mean of both directions; guessing gives 99.5."""


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    return path


def bitext(name: str, *arguments: object, stdin: str | None = None) -> str:
    """Run a command in this process; returns what it wrote to stdout."""
    done = CliRunner().invoke(command(f"bitext-{name}"), list(map(str, arguments)), input=stdin)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train, dev and test pairs and a model trained on them from scratch."""
    folder: Path = tmp_path_factory.mktemp("toy")
    for name, count, seed in (("train", 3000, 1), ("dev", 100, 2), ("test", 200, 3)):
        write(folder / f"{name}.tsv", pairs(count, seed))
    settings = {
        "architecture": "autoencoder",
        "shape": {"embedding": 64, "hidden": 32},
        "segmentation": {"kind": "none", "vocabulary_size": 500},
        "training": {
            "batch_size": 60, "passes": 5, "learning_rate": 0.008, "warmup": 20, "samples": 100,
            "validate_every": 100,
        },
    }  # fmt: skip
    (folder / "settings.json").write_text(json.dumps(settings))
    bitext(
        "train-encoder", "--languages", "xh,yo", "--pairs", folder / "train.tsv", "--development",
        folder / "dev.tsv", "--settings", folder / "settings.json", "--threads", 1, "-o",
        folder / "model",
    )  # fmt: skip
    return folder


def test_the_encoder_recovers_translations(home: Path) -> None:
    names = ("--similarity", "csls,random")
    out = bitext(
        "evaluate", "recovery", home / "test.tsv", "--model", home / "model", "--json", *names
    )
    errors = {row["similarity"]: row["mean"] for row in json.loads(out)["results"]}
    assert errors["csls"] <= LARGEST_ERROR
    assert errors["random"] > 90


def test_scores_tell_translations_from_others(home: Path) -> None:
    good = pairs(200, 3)
    bad = [(a, d) for (a, _), (_, d) in zip(good, good[1:] + good[:1], strict=True)]
    text = write(home / "both.tsv", good + bad).read_text(encoding="utf-8")
    out = bitext("score", "--model", home / "model", "--similarity", "csls", stdin=text)
    scores = np.array([float(line.rsplit("\t", 1)[1]) for line in out.splitlines()])
    right, wrong = scores[:200], scores[200:]
    assert (right[:, None] > wrong).mean() > 0.99


def test_alignment_finds_the_pairs_of_two_shuffled_files(home: Path) -> None:
    rows = pairs(200, 3)
    order = np.random.default_rng(4).permutation(200)
    (home / "source").write_text("".join(f"{a}\n" for a, _ in rows))
    (home / "target").write_text("".join(f"{rows[i][1]}\n" for i in order))
    out = bitext("align", "--model", home / "model", home / "source", home / "target")
    found = [tuple(line.split("\t")[:2]) for line in out.splitlines()]
    right = set(found) & set(rows)
    assert len(right) >= 0.95 * len(rows)
    assert len(right) >= 0.95 * len(found)


def test_a_classifier_is_trained_on_top(home: Path) -> None:
    noise = pairs(1500, 5)
    rows = [(a, d) for (a, _), (_, d) in zip(noise, noise[1:] + noise[:1], strict=True)]
    write(home / "noise.tsv", rows)
    bitext(
        "train-classifier", "--model", home / "model", "--noisy", home / "noise.tsv", "-o",
        home / "classified", home / "train.tsv", "--set", "training.epochs=6",
    )  # fmt: skip
    good = pairs(200, 3)
    bad = [(a, d) for (a, _), (_, d) in zip(good, good[1:] + good[:1], strict=True)]
    text = "".join(f"{a}\t{b}\n" for a, b in good + bad)
    out = bitext("score", "--model", home / "classified", "--score-only", stdin=text)
    scores = np.array([float(line) for line in out.splitlines()])
    assert ((scores > 0.5) == (np.arange(400) < 200)).mean() > 0.9
