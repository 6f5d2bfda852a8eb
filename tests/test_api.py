"""The public names: which there are, what they cost, and that they do what the commands do."""

from __future__ import annotations

import gzip
import inspect
import json
import math
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from console import ROOT, command
from toys import sentences, toy_model

import bitextfilter
from bitextfilter import (
    BitextError,
    DeviceError,
    Filter,
    InputError,
    Model,
    SettingsError,
    align_documents,
    deduplicate,
    explain,
    filter_pairs,
    fix,
    load,
    mine,
    named_cut,
    noise,
    pair_documents,
    rank,
    read_rows,
    recheck,
    recovery,
    report,
    sample,
    split,
)

FUNCTIONS = {
    *(
        "Filter",
        "Model",
        "align_documents",
        "clean",
        "deduplicate",
        "filter_pairs",
        "fix",
        "load",
        "mine",
    ),
    *("noise", "rank", "read_rows", "recovery", "named_cut", "explain", "pair_documents"),
    *("recheck", "report", "sample", "split", "with_scores"),
}
ERRORS = {
    *("BitextError", "DeviceError", "InputError", "ModelError", "NotFoundError", "OutputError"),
    *("SettingsError", "WorkerError"),
}
PAIRS = [
    ("This is a house.", "Dies ist ein Haus."),
    ("This is a house.", "Dies ist ein Haus."),
    ("12345", "12345"),
    ("A very short text", "Ein Text " * 40),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return load(toy_model(tmp_path_factory.mktemp("models") / "aa-ba"))


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., str]:
    """What a command writes, in this process."""

    def run(name: str, *options: str, text: str | None = None) -> str:
        written = tmp_path / "written"
        read = []
        if text is not None:
            (tmp_path / "read").write_text(text, encoding="utf-8")
            read = ["-i", str(tmp_path / "read")]
        with pytest.raises(SystemExit) as done:
            command(name).main([*options, *read, "-o", str(written)])
        assert done.value.code == 0
        return written.read_text(encoding="utf-8")

    return run


def rows(pairs: list[Any]) -> str:
    return "".join("\t".join(map(str, pair)) + "\n" for pair in pairs)


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    line = [sys.executable, "-c", code]
    return subprocess.run(
        line, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_exactly_these_names_are_public() -> None:
    assert set(bitextfilter.__all__) == FUNCTIONS | ERRORS | {"__version__"}
    assert dir(bitextfilter) == sorted(bitextfilter.__all__)
    for name in bitextfilter.__all__:
        assert getattr(bitextfilter, name).__doc__
    assert all(issubclass(getattr(bitextfilter, name), BitextError) for name in ERRORS)


def test_no_room_takes_the_place_of_a_public_name() -> None:
    """Once a room is imported, Python finds it by its name in the package."""
    rooms = {path.parent.name for path in Path(bitextfilter.__file__).parent.glob("*/__init__.py")}
    assert "io" in rooms and rooms & set(bitextfilter.__all__) == set()


def test_every_public_name_is_on_the_page() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS | ERRORS if f"`{name}" not in text] == []


def test_names_are_listed_before_they_are_used_and_cost_what_they_need() -> None:
    heavy = "{'torch', 'numpy', 'click'} & set(sys.modules)"
    code = f"import sys, bitextfilter; print('load' in dir(bitextfilter), {heavy})"
    assert fresh(code) == "True set()\n"
    code = f"import sys; from bitextfilter import fix, Filter, read_rows; fix('a'); print({heavy})"
    assert fresh(code) == "set()\n"
    code = f"import sys; from bitextfilter import Filter; Filter(); print('torch' in {heavy})"
    assert fresh(code) == "False\n"


def test_help_knows_the_names() -> None:
    assert "load(" in pydoc.plain(pydoc.render_doc(bitextfilter))


@pytest.mark.parametrize("name", ["score", "encode"])
def test_one_sentence_is_not_a_list_of_letters(model: Model, name: str) -> None:
    other: Any = "ba" if name == "encode" else ["b1"]
    with pytest.raises(TypeError, match=r"s is one str, not a list of them; put it into a list"):
        getattr(model, name)("a1", other)
    with pytest.raises(TypeError, match=r"s\[1\] is None, not a str"):
        getattr(model, name)(["a1", None], other)
    with pytest.raises(TypeError, match=r"s is None, not a list of str"):
        getattr(model, name)(None, other)


def test_one_measure_may_be_a_name(model: Model) -> None:
    assert model.score(["a1"], ["b1"], "cosine") == model.score(["a1"], ["b1"], ["cosine"])
    with pytest.raises(SettingsError, match="'cosin' is none of"):
        model.score(["a1"], ["b1"], "cosin")


def test_filtering_keeps_the_rows_of_the_command(ran: Callable[..., str]) -> None:
    pairs = list(read_rows(ROOT / "examples/pairs.en-de.tsv"))
    options = ("-q", "--languages", "en,de")
    explained = ran("bitext-filter", *options, "--explain", text=rows(pairs))
    found = list(Filter(languages=("en", "de")).explain(iter(pairs)))
    assert rows([(*pair, verdict) for pair, verdict in found]) == explained
    kept = filter_pairs(iter(pairs), languages=("en", "de"))
    assert rows(list(kept)) == ran("bitext-filter", *options, text=rows(pairs))


def test_filters_are_used_again_and_read_columns() -> None:
    rule = Filter(["length:maximum=20", "score>=0.5", "-2<3"])
    scored = [("a", "b", 1, 0.5), ("a", "b", 1, 0.4), ("a", "b", 3, 0.5), ("a", "b", 1, None)]
    assert [list(rule(scored)), list(rule(scored))] == [scored[:1], scored[:1]]
    verdict = next(Filter(without=["only-numbers"]).explain(PAIRS[2:]))[1]
    assert "alphabet-ratio" in verdict and "only-numbers" not in verdict
    assert "language" in Filter().passed_over


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: Filter("no-such-rule"), SettingsError, "no rule is called 'no-such-rule'"),
        (lambda: Filter("cosine>=0.5"), SettingsError, "a pair has no column 'cosine'"),
        (lambda: Filter(without=["numbers"]), SettingsError, "without 'numbers'"),
        (lambda: Filter(languages="en"), TypeError, "languages are two codes"),  # type: ignore[arg-type]
        (lambda: list(filter_pairs("ab")), TypeError, "pairs is 'ab', not pairs"),
        (lambda: list(filter_pairs([*PAIRS, "ab"])), TypeError, r"pairs\[4\] is 'ab'"),
        (lambda: list(filter_pairs([("a", None)])), TypeError, r"pairs\[0\] has None for a text"),
        (lambda: rank([("a", "b")]), TypeError, r"pairs\[0\] has 2 members"),
        (lambda: rank([], top_lines=-1), SettingsError, "top_lines"),
        (lambda: rank([], count_side="left"), SettingsError, "count_side 'left'"),
        (lambda: list(noise([("a", "b", "c")], 0.1)), TypeError, "has 3 members"),  # type: ignore[list-item]
        (lambda: fix("a", "spelling"), SettingsError, "repair 'spelling' is none of"),
        (lambda: fix("a", language="xx"), SettingsError, "'xx' is not the code of a language"),
        (lambda: deduplicate([], match="alike"), SettingsError, "'alike' is none of"),
        (lambda: rank([], count="bytes"), SettingsError, "count 'bytes' is none of words"),
        (lambda: rank([], order="best"), SettingsError, "order 'best' is none of ranked"),
        (lambda: rank([], fold=(3, 2)), SettingsError, "is not a part such as"),
        (lambda: sample([]), SettingsError, "nothing says how much to keep"),
        (
            lambda: sample([], top_lines=1, clusters=0),
            SettingsError,
            "clusters must be at least 1",
        ),
        (lambda: split([], {"train": 0.1}), SettingsError, "no part called 'train'"),
        (lambda: split([], {"a": 0.6, "b": 0.6}), SettingsError, "120 % together"),
        (lambda: split([], {"a": 1.5}), SettingsError, "a share of 0 to 1"),
        (lambda: split([], {"a": 1}, by="luck"), SettingsError, "by 'luck' is none of"),
        (lambda: report([], names=("a", "b")), SettingsError, "2 names are given for 1 columns"),
        (
            lambda: report([], shown=0),
            SettingsError,
            "shown must be at least 1, at most 100, not 0",
        ),
        (lambda: report([], count="bytes"), SettingsError, "count 'bytes' is none of"),
        (lambda: report([], model="en-de"), SettingsError, "'score' is none of|no cut"),
        (lambda: rank([("a", "b", 0.5)], min_score="balancd"), SettingsError, "balanced"),  # type: ignore[arg-type]
        (lambda: load("multi"), SettingsError, r'load\("multi", languages=\("vi", "zh"\)\)'),
        (lambda: load("en-de", languages="en"), TypeError, "languages are two codes"),  # type: ignore[arg-type]
        (lambda: load("en-de", languages=("en", "fr")), SettingsError, "a model of en-de, not"),
        (lambda: Filter(languages=("en", "qq")), SettingsError, "'qq' is not the code of a"),
        (lambda: deduplicate([], only_against=True), SettingsError, "needs texts of against"),
        (
            lambda: named_cut("en-de", measure="joint", use="filtering"),
            SettingsError,
            "no cut for filtering",
        ),
        (
            lambda: named_cut("en-de", "strict", "mlp"),
            SettingsError,
            "mlp has no strict cut, probability has one",
        ),
        (
            lambda: rank([("a", "b", 0.5)], right_share=0.5),
            SettingsError,
            "right_share needs min_score",
        ),
        (lambda: align_documents(None, [], []), SettingsError, "needs one"),
        (lambda: align_documents(None, [], [], by="luck"), SettingsError, "'luck' is none of"),
        (
            lambda: align_documents(None, ["a"], ["b"], by="length", anchors=[([0], [0]), 3]),
            SettingsError,
            r"anchors\[1\] must be source and target indices, not 3",
        ),
        (
            lambda: align_documents(None, ["a"], ["b"], by="length", anchors=[([0], [1])]),
            SettingsError,
            r"anchors\[0\]: no target sentence 1",
        ),
        (
            lambda: align_documents(None, [], [], largest=11),
            SettingsError,
            "largest must be at least 1, at most 10, not 11",
        ),
    ],
)
def test_misuse_is_refused_in_plain_words(make: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()


GOOD: dict[str, dict[str, Any]] = {
    "Filter": {}, "clean": {"pairs": PAIRS, "languages": ("en", "de")},
    "align_documents": {"model": None, "sources": ["a"], "targets": ["b"], "by": "length"},
    "deduplicate": {"pairs": PAIRS}, "explain": {"model": ..., "sources": [], "targets": []},
    "filter_pairs": {"pairs": PAIRS}, "fix": {"text": "a"}, "load": {"name_or_folder": "en-de"},
    "mine": {"model": ..., "sources": [], "targets": [], "min_score": "none"},
    "noise": {"pairs": PAIRS, "rates": 0.1},
    "pair_documents": {"model": ..., "sources": {}, "targets": {}}, "rank": {"pairs": []},
    "read_rows": {"path": "no.tsv"}, "named_cut": {},
    "recovery": {"model": ..., "sources": ["a1"], "targets": ["b1"]}, "report": {"pairs": []},
    "recheck": {
        "model": ..., "sources": ["a1"], "targets": ["b1"],
        "scores": [0.5], "low": 0.1, "high": 0.9,
    },
    "sample": {"pairs": [], "model": ..., "top_lines": 1}, "split": {"pairs": [], "parts": {}},
    "with_scores": {"pairs": [], "path": "no.parquet"},
}  # fmt: skip
"""Arguments of each function; for `...` a model."""


@pytest.mark.parametrize("name", sorted(FUNCTIONS - {"Model"}))
@pytest.mark.parametrize("wrong", [object(), b"x", {object(): None}, 1j])
def test_a_value_of_another_type_is_refused_with_its_name(
    model: Model, name: str, wrong: object
) -> None:
    function = getattr(bitextfilter, name)
    good = {key: model if value is ... else value for key, value in GOOD[name].items()}
    for argument in inspect.signature(function).parameters:
        with pytest.raises((SettingsError, TypeError)) as found:
            list(function(**{**good, argument: wrong}))
        assert str(found.value).startswith(argument), (argument, str(found.value))
        assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: load("en-de", threads=0), "threads must be at least 1, not 0"),
        (lambda: load("en-de", "gpu"), "device must be cpu, cuda or cuda:N, not 'gpu'"),
        (lambda: list(read_rows("a", 0)), "source is a column from 1"),
        (lambda: deduplicate([], similarity=math.nan), "similarity must be a number, not nan"),
        (lambda: deduplicate([], shingle=0), "shingle must be at least 1, not 0"),
        (lambda: deduplicate([], match="alike"), "match 'alike' is none of exact"),
        (lambda: deduplicate([], against_match="alike"), "against_match 'alike' is none of exact"),
        (lambda: deduplicate([], against_words=(0, 1, 1)), "against_words must be at least 1"),
        (lambda: noise([], 2), "rates must be at least 0, at most 1, not 2"),
        (lambda: noise([], {"copied": None}), "rates: that of 'copied' must be a number"),  # type: ignore[dict-item]
        (lambda: rank([], min_score="balancd"), "; did you mean balanced?"),  # type: ignore[arg-type]
        (lambda: rank([], similarity="cosin"), "similarity 'cosin' is none of probability"),
        (lambda: rank([], top_fraction=1.5), "top_fraction must be at least 0, at most 1, not 1.5"),
        (
            lambda: split(PAIRS, {"dev": -1}),
            "parts: 'dev' is a number of pairs, or a share of 0 to",
        ),
        (lambda: split(PAIRS, {"dev": True}), "parts: 'dev' is a number of pairs"),
        (
            lambda: split(PAIRS, {"dev": 1}, group=9),
            "group: no pair has a column 9; the first has 2",
        ),
        (lambda: report([("a", "b", 1)], columns=(9,)), "columns: no pair has a column 9"),
        (lambda: report([("a", "b", 1)], columns=()), "columns must be numbers"),
        (lambda: report([("a", "b", 1)], label=4), "label: no pair has a column 4"),
        (lambda: list(Filter("9>=0.5")(PAIRS)), "rules: no pair has a column 9; the first has 2"),
        (lambda: named_cut(name="best"), "name 'best' is none of lenient, balanced, strict"),
        (lambda: named_cut(measure="cosin"), "measure 'cosin' is none of probability"),
        (lambda: named_cut(use="training"), "use 'training' is none of filtering"),
        (lambda: named_cut(5), "model must be a loaded model, a str or a path, not 5"),  # type: ignore[arg-type]
        (lambda: align_documents(None, [], [], skip=-1), "skip must be at least 0, at most 100"),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_name(make: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        make()


def test_messages_name_arguments_not_options(model: Model) -> None:
    with pytest.raises(DeviceError, match=r"^device='cuda:99': there is no .*; use device='cpu'$"):
        load("en-de", "cuda:99")
    reason = Filter().passed_over["language"]
    assert "languages=('en', 'de')" in reason and "--" not in reason
    with pytest.raises(TypeError, match=r"^against\[0\] is 'text', not \(source, target\)"):
        deduplicate(PAIRS, against=["text"])
    with pytest.raises(ValueError, match="1 source and 2 target"):
        recovery(model, ["a1"], ["b1", "b2"])
    with pytest.raises(SettingsError, match="language must be a str, not 5"):
        model.encode(["a1"], 5)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    scored = [("a", "b", 0.5), ("c", "d", 0.9)]
    assert rank(scored, top_lines=np.int64(1), min_score=np.float32(0.1)) == scored[1:]
    assert len(list(deduplicate(scored, similarity=np.float32(0.5), shingle=np.int8(3)))) == 2
    assert split(scored, {"dev": np.int64(1)}) == split(scored, {"dev": 1})


def test_what_can_stream_does() -> None:
    def endless() -> Iterator[tuple[str, str]]:
        number = 0
        while True:
            number += 1
            yield f"House number {number} is red.", f"Das Haus Nummer {number} ist rot."

    streams: list[Iterator[Any]] = [
        filter_pairs(endless()),
        deduplicate(endless()),
        noise(endless(), 0.5, words=(1, 60)),
    ]
    assert [len(list(islice(stream, 9_000))) for stream in streams] == [9_000] * 3


@pytest.mark.parametrize("match", ["exact", "normalised"])
@pytest.mark.parametrize("by", ["pair", "source", "either"])
@pytest.mark.parametrize("keep", ["first", "best"])
def test_duplicates_go_as_the_command_drops_them(
    ran: Callable[..., str], match: str, by: str, keep: str
) -> None:
    texts = ["A house.", "a house", "One cat", "A cat!"]
    pairs = [(texts[n * 3 % 4], texts[n * 5 % 7 % 4], n * 7 % 5 / 4) for n in range(30)]
    found = rows(list(deduplicate(pairs, match=match, by=by, keep=keep)))
    assert found == ran("bitext-dedup", "-q", f"--match={match}", f"--by={by}", f"--keep={keep}",
                        text=rows(pairs))  # fmt: skip


def test_pairs_that_wait_come_after_those_that_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from bitextfilter.api import pairs as windows
    from bitextfilter.io.spill import KeyTable

    monkeypatch.setattr(windows, "WINDOW", 7)
    rooms = iter([True, True] + [False] * 99)
    monkeypatch.setattr(KeyTable, "has_room", lambda *_: next(rooms))
    pairs = [(str(n % 23), str(n % 23)) for n in range(60)]
    assert list(deduplicate(pairs)) == pairs[:23]


def test_noise_is_that_of_the_command(ran: Callable[..., str]) -> None:
    pairs = list(read_rows(ROOT / "examples/pairs.en-de.tsv"))
    found = noise(iter(pairs), 0.7, seed=3, languages=("en", "de"), words=(2, 60))
    options = ("-q", "--rate=all=0.7", "--seed=3", "--languages=en,de", "--words=2-60")
    assert rows(list(found)) == ran("bitext-noise", *options, text=rows(pairs))
    assert {label for _, _, label in noise(pairs, {"copied": 1.0}, words=(1, 99))} == {
        "clean",
        "copied",
    }


def test_ranking_is_that_of_the_command(ran: Callable[..., str]) -> None:
    scored = [(f"s {n}", "t " * (n % 5 + 1) + "t", n * 7 % 11 / 8) for n in range(40)]
    text = rows(scored)
    assert rows(rank(iter(scored))) == ran("bitext-rank", "-q", text=text)
    found = rank(scored, top_words=50, min_score=0.5, top_fraction=0.7, count_side="both")
    options = ("--top-words=50", "--min-score=0.5", "--top-fraction=0.7", "--count-side=both")
    assert rows(found) == ran("bitext-rank", "-q", *options, text=text)
    assert rank([("a", "b", None), ("c", "d", 0), ("e", "f", math.nan)], top_lines=2) == [
        ("c", "d", 0),
        ("a", "b", None),
    ]


@pytest.mark.parametrize("similarity", [None, "csls", "euclidean", "joint"])
def test_mining_finds_the_pairs_of_the_command(
    model: Model, tmp_path: Path, ran: Callable[..., str], similarity: str
) -> None:
    sides = sentences(60, seed=1)
    for name, side in zip("ab", sides, strict=True):
        (tmp_path / name).write_text("\n".join([*side, side[0]]) + "\n")
    found = mine(model, iter(sides[0]), reversed(sides[1]), similarity=similarity, min_score=-9.0)
    files = str(tmp_path / "a"), str(tmp_path / "b")
    options = ["-q", "--model", str(model.folder), "--min-score=-9"]
    options += [] if similarity is None else ["--similarity", similarity]
    written = ran("bitext-align", *options, *files).splitlines()
    assert sorted(f"{s}\t{t}\t{score:.4f}" for s, t, score in found) == sorted(written)
    assert [score for *_, score in found] == sorted((score for *_, score in found), reverse=True)


@pytest.mark.parametrize("by", ["model", "words", "length"])
def test_documents_are_aligned_as_by_the_command(
    model: Model, tmp_path: Path, ran: Callable[..., str], by: str
) -> None:
    sides = sentences(12, seed=2)
    sides[1][3:5] = [" ".join(sides[1][3:5])]
    for name, side in zip("ab", sides, strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n")
    found = align_documents(model if by == "model" else None, *sides, by=by)
    files = str(tmp_path / "a"), str(tmp_path / "b")
    options = ["-q", "--monotonic", "--links", "--by", by]
    options += ["--model", str(model.folder)] if by == "model" else []
    lines = [
        f"{source}:{target}:{'' if score is None else f'{score:.4f}'}".replace(" ", "")
        for source, target, score in found
    ]
    assert lines == ran("bitext-align", *options, *files).split("\n")[:-1]
    align = partial(align_documents, model if by == "model" else None, *sides, by=by)
    held = align(anchors=[([8, 9], [6])])
    assert ([8, 9], [6]) in [link[:2] for link in held]
    assert [link[:2] for link in align(anchors=held)] == [link[:2] for link in held]


def test_recovery_counts_what_is_found(model: Model) -> None:
    sources, targets = sentences(40, seed=3)
    found = recovery(model, [*sources, sources[0]], [*targets, targets[0]], ("cosine", "mlp"))
    assert list(found) == ["cosine", "mlp"]
    assert (found["cosine"].mean, found["cosine"].pairs, found["cosine"].set_aside) == (0, 40, 1)
    with pytest.raises(SettingsError, match="'cosin' is no measure"):
        recovery(model, sources, targets, "cosin")
    with pytest.raises(InputError, match="no pairs"):
        recovery(model, [], [])


def test_texts_are_fixed() -> None:
    assert fix("Caf&eacute;  “au lait” ") == "Café “au lait”"
    assert (fix("LÃ–SUNG"), fix("LÃ–SUNG", language="deu")) == ("LÃ–SUNG", "LÖSUNG")
    assert fix("  “x” ", "quotes") == fix("  “x” ", ["quotes"]) == '  "x" '


def test_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv.gz"
    path.write_bytes(gzip.compress(b"en\tx\tde\tscore\na\t\tb\t0.5\n \t\tb\t1\nc\t\td\t\nonly\n"))
    bad: list[tuple[int, str]] = []

    def keep(number: int, reason: str) -> None:
        bad.append((number, reason))

    found = list(read_rows(path, "en", "de", "score", header=True, on_bad=keep))
    assert found[0] == ("a", "b", 0.5) and found[1][:2] == ("c", "d") and math.isnan(found[1][2])
    assert bad == [
        (3, "the source is empty"),
        (5, "1 column, expected at least 3 (target= de)"),
    ]
    with pytest.raises(InputError, match=r"rows.tsv.gz:3: the source is empty; on_bad=FUNCTION"):
        list(read_rows(path, 1, 3, header=True))


def test_a_header_that_may_be_a_row_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("Hi\tHallo\na\tb\n")
    with pytest.warns(UserWarning, match="rows.tsv:1: 'Hi', 'Hallo' is taken for the names of"):
        assert list(read_rows(path, header=True)) == [("a", "b")]
    assert list(read_rows(path, "Hi", "Hallo", header=True)) == [("a", "b")]


ROWS = [
    tuple(line.split("\t")[:2])
    for line in (ROOT / "examples/pairs.en-de.tsv").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def shipped() -> Model:
    return load("en-de")


@pytest.fixture(scope="module")
def scored(shipped: Model) -> list[tuple[Any, ...]]:
    scores = shipped.score(*zip(*ROWS, strict=True))["probability"]
    return [(*row, round(float(score), 4)) for row, score in zip(ROWS, scores, strict=True)]


def test_languages_have_any_spelling() -> None:
    assert load("en-de", languages=("en-US", "deu_Latn")).languages == ("en", "de")
    assert load("multi", languages=("ces", "pl-PL")).languages == ("cs", "pl")
    plain = list(Filter(languages=("en", "de")).explain(ROWS))
    assert list(Filter(languages=("eng", "de_DE")).explain(ROWS)) == plain
    damaged = [list(noise(ROWS, 0.9, languages=pair)) for pair in (("en", "de"), ("en-GB", "deu"))]
    assert damaged[0] == damaged[1]


@pytest.mark.parametrize("name", ["lenient", "balanced", "strict"])
def test_a_cut_by_name_is_that_of_the_commands(
    ran: Callable[..., str], shipped: Model, scored: list[tuple[Any, ...]], name: Any
) -> None:
    kept = rows(rank(scored, min_score=name))
    assert kept == ran("bitext-rank", "-q", f"--min-score={name}", text=rows(scored))
    assert kept == rows(rank(scored, min_score=name, model=shipped, similarity="probability"))
    assert kept == rows(rank(scored, min_score=named_cut(name=name).threshold))
    kept = rows(list(filter_pairs(scored, f"score>={name}")))
    options = ("-q", "--rule", f"score>={name}")
    assert kept == ran("bitext-filter", *options, text=rows(scored))


def test_a_cut_of_the_raw_classifier_is_that_of_the_commands(
    ran: Callable[..., str], shipped: Model
) -> None:
    scores = shipped.score(*zip(*ROWS, strict=True), "mlp")["mlp"]
    text = rows([(*row, round(float(score), 4)) for row, score in zip(ROWS, scores, strict=True)])
    pairs = [(s, t, float(score)) for s, t, score in (r.split("\t") for r in text.splitlines())]
    kept = rows(rank(pairs, min_score="balanced", similarity="mlp"))
    options = ("-q", "--min-score=balanced", "--similarity=mlp")
    assert kept == ran("bitext-rank", *options, text=text)
    least = named_cut(measure="mlp").threshold
    assert 0 < least < 0.5 and kept == rows(rank(pairs, min_score=least)) != rows(rank(pairs))


def test_what_a_cut_says(shipped: Model) -> None:
    cuts = [named_cut(name=name) for name in ("lenient", "balanced", "strict")]
    assert {cut.measure for cut in cuts} == {"probability"}
    assert 0 < cuts[0].threshold < cuts[1].threshold == 0.5 < cuts[2].threshold < 1
    for kept in ([cut.right for cut in cuts], [cut.wrong for cut in cuts]):
        assert 1 > kept[0] > kept[1] > kept[2] > 0
    assert cuts[1] == named_cut() == named_cut(shipped) == named_cut("en-de", measure="probability")
    assert cuts[1].basis == f"labelled crawls in de,en, model en-de {shipped.digest}"
    assert named_cut("en-de", measure="mlp").basis.startswith("for filtering, by f1, model en-de ")
    mined = named_cut("en-de", measure="joint")
    assert mined.basis.startswith("for mining, ") and mined.wrong is None
    assert named_cut("multi:en,fr", measure="mlp").basis.startswith("for filtering of en,fr, ")
    assert named_cut("multi:fr,en").basis.startswith("labelled crawls in en,fr, model multi ")
    assert named_cut("multi:cs,pl").basis.startswith("labelled crawls in other languages, ")


@pytest.mark.parametrize("share", [0.2, 0.9, "estimate"])
def test_a_share_of_right_rows_is_that_of_the_command(
    ran: Callable[..., str], shipped: Model, scored: list[tuple[Any, ...]], share: Any
) -> None:
    kept = rows(rank(scored, min_score=0.5, right_share=share))
    options = ("-q", "--min-score=0.5", f"--right-share={share}")
    assert kept == ran("bitext-rank", *options, text=rows(scored))
    assert kept == rows(rank(scored, min_score="balanced", right_share=share, model=shipped))
    usual, count = len(rank(scored, min_score=0.5)), len(kept.splitlines())
    assert {0.2: count < usual, 0.9: count > usual, "estimate": 0 < count < len(scored)}[share]


def test_scores_of_another_model_are_refused(scored: list[tuple[Any, ...]]) -> None:
    said = r"pairs\[\d+\] has the score .*, but .* by probability of en-de-autoencoder; model= "
    with pytest.raises(InputError, match=said):
        rank(scored, min_score="balanced", model="en-de-autoencoder")
    with pytest.raises(InputError, match=said):
        list(Filter("score>=balanced", model="en-de-autoencoder")(scored))


def test_scores_that_may_be_of_another_model_are_warned_of(
    shipped: Model, scored: list[tuple[Any, ...]]
) -> None:
    own = shipped.score(*zip(*ROWS, strict=True), "csls")["csls"].tolist()
    pairs = [(*row, score) for row, score in zip(ROWS, own, strict=True)]
    assert rank(pairs, min_score="balanced", similarity="csls")
    with pytest.warns(UserWarning, match="are of other neighbours, or") as found:
        rank(scored, min_score="balanced", similarity="csls")
    assert found[0].filename == __file__
    rank(scored, min_score="balanced", similarity="joint")


def test_every_choice_of_rank_is_that_of_the_command(
    ran: Callable[..., str], scored: list[tuple[Any, ...]]
) -> None:
    text = rows(scored)
    found = rank(scored, fold=(8, 10), order="input")
    assert rows(found) == ran("bitext-rank", "-q", "--fold=8/10", "--order=input", text=text)
    found = rank(scored, sample=9, seed=3, min_score=0.5)
    options = ("--sample=9", "--seed=3", "--min-score=0.5")
    assert rows(found) == ran("bitext-rank", "-q", *options, text=text)
    for unit in ("characters", "subwords"):
        found = rank(scored, top_words=300, count=unit, count_side="source")
        options = ("--top-words=300", f"--count={unit}", "--count-side=source")
        assert rows(found) == ran("bitext-rank", "-q", *options, text=text)


def test_a_sample_is_that_of_the_command(
    ran: Callable[..., str], shipped: Model, scored: list[tuple[Any, ...]]
) -> None:
    found = rows(sample(scored, shipped, top_lines=20, clusters=6, seed=2))
    options = ("-q", "--top-lines=20", "--clusters=6", "--seed=2")
    assert found == ran("bitext-sample", *options, text=rows(scored))
    found = rows(sample(scored, drop_similar=0.5, top_words=200))
    options = ("-q", "--drop-similar=0.5", "--top-words=200")
    assert found == ran("bitext-sample", *options, text=rows(scored))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        (
            {"by": "source", "match": "exact", "seed": 2},
            ["--by=source", "--match=exact", "--seed=2"],
        ),
        ({"by": "none", "group": 3}, ["--by=none", "--group=3"]),
    ],
)
def test_parts_are_those_of_the_command(
    tmp_path: Path, options: dict[str, Any], words: list[str]
) -> None:
    pairs = [(*row, f"document {number % 7}") for number, row in enumerate(ROWS)]
    (tmp_path / "read").write_text(rows(pairs), encoding="utf-8")
    for parts in ({"dev": 10, "test": 0.2}, {"test": 0.3}):
        line = [f"--part={name}={size}" for name, size in parts.items()]
        line = [word.replace("=0.2", "=20%").replace("=0.3", "=30%") for word in line]
        with pytest.raises(SystemExit) as done:
            command("bitext-split").main(
                [*line, *words, "-q", "-i", str(tmp_path / "read"), "-o", f"{tmp_path}/{{}}.tsv"]
            )
        assert done.value.code == 0
        found = split(iter(pairs), parts, **options)
        assert list(found) == [*parts, "train"]
        for name, some in found.items():
            assert rows(some) == (tmp_path / f"{name}.tsv").read_text(encoding="utf-8")


def test_texts_of_a_test_set_go_as_by_the_command(ran: Callable[..., str], tmp_path: Path) -> None:
    test, text = tmp_path / "test.tsv", rows(ROWS)
    near = [(f"{source} Well.", target) for source, target in ROWS[4:9]]
    swapped = [row[::-1] for row in ROWS[20:24]]
    others = [*ROWS[:4], *near, *swapped]
    test.write_text(rows(others), encoding="utf-8")
    against = ("-q", "--against", str(test))
    choices: list[dict[str, Any]] = [
        {},
        {"against_by": "pair"},
        {"by": "target", "against_by": "target"},
        {"against_match": "exact"},
        {"overlap": 0.9, "ngram": 1, "languages": ("eng", "de")},
        {"against_words": (9, 9, 9), "match": "normalised"},
    ]
    for options in choices:
        words = []
        for name, value in options.items():
            given = {"languages": "eng,de", "against_words": "9,9,9"}.get(name, str(value))
            words += [f"--{name.replace('_', '-')}", given]
        found = rows(list(deduplicate(ROWS, against=others, **options)))
        assert found == ran("bitext-dedup", *against, *words, text=text)
        assert 0 < len(found) < len(text)
    twice = [*ROWS[5:], *ROWS[5:]]
    found = rows(list(deduplicate(twice, against=others, only_against=True)))
    assert found == ran("bitext-dedup", *against, "--only-against", text=rows(twice))
    for side in ("source", "target"):
        lines = [row[side == "target"] for row in ROWS[:9]]
        test.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options = {f"against_{side}": lines}
        found = rows(list(deduplicate(ROWS, **options)))
        assert found == ran("bitext-dedup", "-q", f"--against-{side}", str(test), text=text)
    with pytest.raises(SettingsError, match="against_source is not for by='target', 'any'"):
        deduplicate(ROWS, by="target", against_source=["a"])


def test_explanations_are_those_of_the_command(ran: Callable[..., str], shipped: Model) -> None:
    written = ran("bitext-score", "-q", "--explain", text=rows(ROWS[:12]))
    sources, targets = map(list, zip(*ROWS[:12], strict=True))
    found = explain(shipped, sources, targets)
    assert ["; ".join(reasons) for reasons in found] == [
        line.split("\t")[-1] for line in written.splitlines()
    ]
    with pytest.raises(ValueError, match="1 source and 2 target"):
        explain(shipped, ["a"], ["b", "c"])


def test_rechecked_scores_are_those_of_the_command(ran: Callable[..., str], shipped: Model) -> None:
    options = ("--recheck", "multi", "--between", "0.01,0.99", "--digits", "7", "--score-only")
    written = ran("bitext-score", "-q", *options, text=rows(ROWS))
    sources, targets = map(list, zip(*ROWS, strict=True))
    slow, scores = load("multi:en,de"), shipped.score(sources, targets)["probability"]
    found = recheck(slow, sources, targets, scores, low=0.01, high=0.99)
    assert written.split() == [f"{score:.7f}" for score in found]
    with pytest.raises(SettingsError, match="low below high"):
        recheck(slow, sources, targets, scores, low=0.5, high=0.5)


def test_mining_has_the_defaults_of_the_command(
    ran: Callable[..., str], shipped: Model, tmp_path: Path
) -> None:
    sources, targets = map(list, zip(*ROWS, strict=True))
    files = []
    for name, side in (("en", sources), ("de", sorted(targets))):
        files.append(str(tmp_path / name))
        Path(files[-1]).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    for least in (None, "none"):
        found = mine(shipped, sources, sorted(targets), min_score=least)
        options = () if least is None else ("--min-score", least)
        written = ran("bitext-align", "-q", *options, *files).splitlines()
        assert sorted(f"{s}\t{t}\t{score:.4f}" for s, t, score in found) == sorted(written)


def test_mining_without_a_known_cut_says_so(model: Model) -> None:
    sides = sentences(20, seed=1)
    with pytest.warns(UserWarning, match="wrong pairs are returned, too: the model"):
        found = mine(model, *sides)
    assert found == mine(model, *sides, min_score="none")
    with pytest.raises(SettingsError, match="has no cut"):
        mine(model, *sides, min_score="balanced")


def test_documents_are_paired_as_by_the_command(
    ran: Callable[..., str], shipped: Model, tmp_path: Path
) -> None:
    sides: list[dict[str, list[str]]] = [{}, {}]
    files = [str(tmp_path / name) for name in ("en.jsonl", "de.jsonl")]
    for documents, path, code in zip(sides, files, ("en", "de"), strict=True):
        text = (ROOT / f"examples/mine-wikipedia-style/articles.{code}.tsv").read_text("utf-8")
        for line in text.splitlines():
            name, sentence = line.split("\t")
            documents.setdefault(name, []).append(sentence)
        lines = (json.dumps({"id": n, "sentences": some}) for n, some in documents.items())
        Path(path).write_text("\n".join(lines), encoding="utf-8")
    for least in ("balanced", "none"):
        found = pair_documents(shipped, *sides, min_score=least)
        written = ran("bitext-pair-documents", "-q", f"--min-score={least}", *files)
        assert rows([(*names, f"{score:.4f}") for *names, score in found]) == written != ""
    with pytest.raises(SettingsError, match="the document 'a' has no sentences"):
        pair_documents(shipped, {"a": []}, {"b": ["c"]})


def test_a_page_is_that_of_the_command(
    ran: Callable[..., str], scored: list[tuple[Any, ...]]
) -> None:
    words = {"model": "en-de", "title": "read", "languages": ("eng", "de")}
    page = report(scored, names=["probability"], **words)  # type: ignore[arg-type]
    options = ("--names=probability", "--model=en-de", "--title=read", "--languages=en,de")
    written = ran("bitext-report", "-q", *options, text=rows(scored))
    for part in ("<svg", "balanced"):
        assert page.count(part) == written.count(part) > 0
    figures = [line for line in written.splitlines() if "<svg" in line]
    assert figures == [line for line in page.splitlines() if "<svg" in line]
