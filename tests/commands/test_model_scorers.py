"""bitext-score by translators and language models."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke, table
from toys import toy_model
from translators import saved

from bitextfilter.models.folders import model_digest
from bitextfilter.text.ngram_model import write_arpa
from bitextfilter.text.words import TokenUnits
from bitextfilter.training.monolingual import NgramSettings, TokenCorpus, estimate
from bitextfilter.translation.translator import load_translator

RANDOM = np.random.default_rng(4)
ROWS = [
    tuple(
        " ".join(f"{letter}{n}" for n in RANDOM.integers(0, 20, RANDOM.integers(1, 9)))
        for letter in "ab"
    )
    for _ in range(12)
]
DATA = "".join(f"{source}\t{target}\n" for source, target in ROWS).encode()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    saved(path / "there", 0)
    saved(path / "back", 2, "ba")
    saved(path / "elsewhere", 0, "ac")
    saved(path / "same", 0, "aa")
    toy_model(path / "vectors")
    units = TokenUnits("words", lowercase=False)
    for side, name in enumerate(("source", "target")):
        corpus = TokenCorpus(units(row[side]) for row in ROWS)
        with open(path / f"{name}.arpa", "wb") as stream:
            write_arpa(estimate(corpus, NgramSettings(2), units).model, stream)
    return path


def call(folders: Path, *words: object, data: bytes = DATA, code: int = 0) -> Result:
    arguments = [str(word).replace("M/", f"{folders}/") for word in words]
    line = ("--score-only", "--digits", "9", *arguments)
    return invoke("bitext-score", *line, data=data, code=code)


BOTH = ("--translator", "M/there,M/back")


def test_columns_are_in_the_order_asked(folders: Path) -> None:
    words = ("--model", "M/vectors", "--language-models", "M/source.arpa,M/target.arpa")
    names = ("dual", "cosine", "translation", "log-linear", "language-model")
    together = table(call(folders, "--similarity", ",".join(names), *words, *BOTH))
    for place, name in enumerate(names):
        needs = BOTH if name in ("dual", "translation", "log-linear") else ()
        models = words[2:] if name in ("log-linear", "language-model") else ()
        model = words[:2] if name == "cosine" else ()
        alone = table(call(folders, "--similarity", name, *model, *needs, *models))
        assert [row[0] for row in alone] == [row[place] for row in together]
        assert len({row[0] for row in alone}) > 8
    dual, translation = (float(together[3][i]) for i in (0, 2))
    assert 0 < dual <= np.exp(translation) + 1e-4


def test_no_model_of_vectors_is_read_where_none_is_asked(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITEXTFILTER_MODEL", "nowhere")
    manifest = tmp_path / "run.json"
    words = ("--similarity", "translation", "--translator", "M/there")
    result = call(folders, *words, "--manifest", manifest)
    expected = load_translator(folders / "there").log_probabilities(*zip(*ROWS, strict=True))
    assert [float(row[0]) for row in table(result)] == pytest.approx(expected.tolist(), rel=1e-6)
    written = json.loads(manifest.read_text())
    facts = written["facts"]
    assert facts["translators"] == f"there {model_digest(folders / 'there')}"
    assert written["counts"]["overlong"] == 0 and "model" not in facts


def test_the_columns_may_be_the_other_way_round(folders: Path) -> None:
    swapped = "".join(f"{target}\t{source}\n" for source, target in ROWS).encode()
    words = ("--similarity", "translation,dual")
    straight = call(folders, *words, *BOTH).stdout
    assert call(folders, *words, *BOTH, "--scol", 2, "--tcol", 1, data=swapped).stdout == straight
    back = call(folders, *words, "--translator", "M/back,M/there", data=swapped).stdout
    assert back == straight
    backward = ("--similarity", "cosine,translation", "--translator", "M/back")
    with_model = table(call(folders, *backward, "--model", "M/vectors"))
    alone = table(call(folders, *backward[:1], "translation", *backward[2:], data=swapped))
    assert [row[1] for row in with_model] == [row[0] for row in alone]


def test_a_rejected_row_has_empty_scores_and_windows_do_not_matter(folders: Path) -> None:
    data = DATA + b"only one\n" + DATA
    words = ("--similarity", "translation,dual", *BOTH, "--on-error", "reject")
    first = call(folders, *words, data=data).stdout
    assert first.splitlines()[12] == "\t"
    for more in (("--batch-size", 4), ("--batch-size", 1, "--threads", 2)):
        assert call(folders, *words, *more, data=data).stdout == first


def test_an_interrupted_run_can_go_on(folders: Path, tmp_path: Path) -> None:
    words = ("--similarity", "translation", *BOTH)
    shards = ("--resume", tmp_path / "parts", "--shard-rows", 7)
    whole = call(folders, *words).stdout
    assert call(folders, *words, *shards, "--manifest", tmp_path / "run.json").stdout == whole
    facts = json.loads((tmp_path / "run.json").read_text())["facts"]
    named = [f"{name} {model_digest(folders / name)}" for name in ("there", "back")]
    assert facts["translators"] == ", ".join(named)


def test_an_interrupted_run_does_not_go_on_with_other_models(folders: Path, tmp_path: Path) -> None:
    words = ("--similarity", "translation,language-model", "--resume", tmp_path / "parts")
    models = tmp_path / "there", tmp_path / "words.arpa"
    shutil.copytree(folders / "there", models[0])
    shutil.copy(folders / "target.arpa", models[1])
    words = (*words, "--shard-rows", 7, "--translator", models[0], "--language-models",
             f",{models[1]}")  # fmt: skip
    call(folders, *words, data=DATA + b"bad\n", code=65)
    assert any((tmp_path / "parts").iterdir())
    before = models[1].read_bytes()
    models[1].write_bytes((folders / "source.arpa").read_bytes())
    assert "--language-models" in call(folders, *words, data=DATA, code=78).stderr
    models[1].write_bytes(before)
    shutil.rmtree(models[0])
    saved(models[0], 1)
    assert "--translator" in call(folders, *words, data=DATA, code=78).stderr
    shutil.rmtree(models[0])
    shutil.copytree(folders / "there", models[0])
    assert len(table(call(folders, *words, data=DATA))) == 12


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--similarity", "cosine", "--translator", "M/there"), 2, "--translator is for"),
        (("--translator", "M/there"), 2, "--translator is for"),
        (("--similarity", "translation", *BOTH, "--weights", "1,1,1,1"), 2, "--weights is for"),
        (("--similarity", "dual", *BOTH, "--language-models", "x"), 2, "--language-models is for"),
        (("--similarity", "translation"), 78, "translation needs --translator DIR"),
        (("--similarity", "dual", "--translator", "M/there"), 78, "--translator DIR,DIR"),
        (("--similarity", "dual", "--translator", "M/there,M/there"), 78,
         "is from aa into ba, not ba into aa"),
        (("--similarity", "dual", "--translator", "M/there,M/elsewhere"), 78,
         "is from aa into ce, not ba into aa"),
        (("--similarity", "dual", "--translator", "M/same,M/same"), 78, "one is enough"),
        (("--similarity", "cosine,translation", "--model", "M/vectors", "--translator",
          "M/elsewhere"), 78, "is from aa into ce, not aa into ba or ba into aa"),
        (("--similarity", "translation", "--translator", "M/1,M/2,M/3"), 2, "one folder, or two"),
        (("--similarity", "translation", "--translator", "M/none"), 66, "no model here"),
        (("--similarity", "translation", "--translator", "M/vectors"), 65, "no translator"),
        (("--similarity", "language-model", "--language-models", "M/none"), 66, "none"),
        (("--similarity", "language-model", "--language-models", "a,b,c"), 2, "one file a side"),
        (("--similarity", "log-linear", *BOTH, "--language-models", "M/source.arpa,M/target.arpa",
          "--weights", "1,2,3"), 2, "four numbers"),
        (("--similarity", "log-linear", *BOTH, "--language-models", "M/source.arpa,M/target.arpa",
          "--weights", "1,1,inf,-inf"), 2, "four numbers")
    ]
)  # fmt: skip
def test_what_does_not_fit_is_said(
    folders: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    assert message in call(folders, *words, code=code).stderr


@pytest.mark.parametrize("side", [0, 1])
def test_a_language_model_gives_mean_natural_logarithms_of_its_side(
    folders: Path, side: int
) -> None:
    """Against the file's own probabilities, of bigrams, in log10, worked out by hand."""
    names = ("M/source.arpa,", ",M/target.arpa")
    result = call(folders, "--similarity", "language-model", "--language-models", names[side])
    text = (folders / f"{('source', 'target')[side]}.arpa").read_text()
    weights = {}
    for line in text.splitlines():
        if line.count("\t"):
            probability, words, *backoff = line.split("\t")
            weights[tuple(words.split())] = (float(probability), float((*backoff, 0)[0]))
    for row, [score] in zip(ROWS, table(result), strict=True):
        words = ["<s>", *row[side].split(), "</s>"]
        total = 0.0
        for pair in itertools.pairwise(words):
            back = weights[pair[:1]][1] + weights[pair[1:]][0]
            total += weights[pair][0] if pair in weights else back
        assert float(score) == pytest.approx(math.log(10) * total / (len(words) - 1), abs=1e-5)


def test_the_manifest_names_the_language_models_by_content(folders: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "run.json"
    models = "M/source.arpa,M/target.arpa"
    line = ("--similarity", "language-model", "--language-models", models, "--manifest", manifest)
    call(folders, *line)
    digests = [
        hashlib.sha256((folders / f"{name}.arpa").read_bytes()).hexdigest()[:12]
        for name in ("source", "target")
    ]
    (line,) = [row for row in manifest.read_text().splitlines() if '"language_models"' in row]
    assert f"source.arpa {digests[0]}, target.arpa {digests[1]}" in line
    assert str(folders) not in line


MODELS = ("--language-models", "M/source.arpa,M/target.arpa")


def remembered(folders: Path, cache: Path, *words: object, data: bytes = DATA) -> tuple[int, int]:
    """Rows cached and scored; what is written, and counted otherwise, is as without a cache."""
    words = (*words, "--model", "M/vectors")
    plain = call(folders, *words, data=data)
    found = call(folders, *words, "--cache", cache, "--batch-size", 8, data=data)
    assert found.stdout == plain.stdout
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", found.stderr)}
    return counts["cached"], counts["scored"]


def test_a_cache_keeps_the_scores_of_models(folders: Path, tmp_path: Path) -> None:
    words = (*BOTH, *MODELS)
    every = ("--similarity", "dual,cosine,translation,log-linear,language-model", *words)
    assert remembered(folders, tmp_path, *every) == (0, 12)
    assert remembered(folders, tmp_path, *every) == (12, 0)
    some = ("--similarity", "log-linear,translation", *words)
    assert remembered(folders, tmp_path, *some) == (12, 0)
    data = DATA + b"a1 a2\tb3\n"
    assert remembered(folders, tmp_path, "--similarity", "cosine", data=data) == (12, 1)
    assert remembered(folders, tmp_path, *every, data=data) == (12, 1)


@pytest.mark.gate(3)
@pytest.mark.parametrize(
    ("first", "then", "known"),
    [
        (("translation", *BOTH), ("translation", "--translator", "M/there"), False),
        (("translation", "--translator", "M/there"), ("translation", "--translator", "M/other"),
         False),
        (("translation", *BOTH), ("dual", *BOTH), False),
        (("translation,language-model", *BOTH, *MODELS), ("translation", *BOTH), True),
        (("translation,language-model", *BOTH, *MODELS), ("language-model", *MODELS), True),
        (("language-model", *MODELS), ("language-model", "--language-models", "M/source.arpa,"),
         False),
        (("language-model", *MODELS),
         ("language-model", "--language-models", "M/target.arpa,M/source.arpa"), False),
        (("log-linear", *BOTH, *MODELS), ("log-linear", *BOTH, *MODELS, "--weights", "1,1,1,0"),
         False),
        (("log-linear", *BOTH, *MODELS),
         ("log-linear", *BOTH, *MODELS, "--weights", ".25,.25,.25,.25"), True)
    ]
)  # fmt: skip
def test_other_models_score_again(
    folders: Path, tmp_path: Path, first: tuple[str, ...], then: tuple[str, ...], known: bool
) -> None:
    saved(folders / "other", 1)
    remembered(folders, tmp_path, "--similarity", *first)
    assert remembered(folders, tmp_path, "--similarity", *then) == ((12, 0) if known else (0, 12))


def test_overlong_pairs_are_counted_whether_cached_or_not(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitextfilter.scoring.model_scorers.LONGEST", 5)
    line = ("--similarity", "translation", *BOTH, "--cache", tmp_path)
    cut = sum(max(len(side.split()) for side in row) > 5 for row in ROWS)
    assert 0 < cut < 12
    for cached in (0, 12):
        result = call(folders, *line)
        assert f"{cached} cached, {12 - cached} scored" in result.stderr
        assert f" {cut} overlong" in result.stderr
