"""bitext-align-documents through its streams: links, lists, JSON lines, bad documents."""

from __future__ import annotations

import gzip
import json
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from console import ROOT, invoke, says_one_line, table
from toys import sentences, toy_model

from bitextfilter.commands.align_documents import DocumentReader
from bitextfilter.commands.frame.options import Common
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.documents import ListedPair
from bitextfilter.mining import documents
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.documents import Alignment
from bitextfilter.scoring.model import load

Files = tuple[Path, Path]

SOURCES, TARGETS = sentences(40, 7)
# Documents in which targets 5 and 6 are one line, and only the target has a line 20.
OTHER = sentences(1, 99)[1][0]
LINES = (
    SOURCES,
    [*TARGETS[:5], f"{TARGETS[5]} {TARGETS[6]}", *TARGETS[7:21], OTHER, *TARGETS[21:]],
)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    paths = tmp_path / "source.txt", tmp_path / "target.txt"
    for path, lines in zip(paths, LINES, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def linked(model: Path | None, *words: object, text: bytes = b"", code: int = 0) -> Result:
    words = (*words, *(() if model is None else ("--model", model)))
    return invoke("bitext-align-documents", *words, data=text, code=code)


def links_of(text: str) -> list[tuple[list[int], list[int]]]:
    rows = [line.split(":") for line in text.splitlines()]
    return [(json.loads(row[0]), json.loads(row[1])) for row in rows]


def test_pairs_are_in_order_with_scores(model: Path, files: Files) -> None:
    done = linked(model, *files)
    rows = table(done)
    assert [SOURCES[5] + " " + SOURCES[6], LINES[1][5]] in [row[:2] for row in rows]
    expected = {(s, t) for s, t in zip(SOURCES, TARGETS, strict=True)}
    assert sum(tuple(row[:2]) in expected for row in rows) >= 35
    places = [SOURCES.index(row[0]) for row in rows if row[0] in SOURCES]
    assert places == sorted(places)
    assert all(-1 <= float(row[2]) <= 1 and len(row[2].split(".")[1]) == 4 for row in rows)
    assert f"80 rows, 0 rejected, 1 documents, {len(rows)} links" in done.stderr


def test_links_say_which_lines(model: Path, files: Files) -> None:
    done = linked(model, *files, "--links", "--skip", "0.6")
    table(done)
    links = links_of(done.stdout)
    assert ([5, 6], [5]) in links
    assert ([], [20]) in links
    assert [i for link in links for i in link[0]] == list(range(40))
    assert [j for link in links for j in link[1]] == list(range(40))
    scores = [line.split(":")[2] for line in done.stdout.splitlines()]
    assert [score == "" for score in scores] == [not (s and t) for s, t in links]


def test_evaluate_reads_what_align_writes(model: Path, files: Files) -> None:
    links = linked(model, *files, "--links").stdout
    gold = [f"[{i}]:[{i}]" for i in range(5)] + ["[5,6]:[5]"]
    gold += [f"[{i}]:[{i - 1}]" for i in range(7, 21)] + ["[]:[20]"]
    gold += [f"[{i}]:[{i}]" for i in range(21, 40)]
    path = files[0].with_name("gold.links")
    path.write_text("\n".join(gold))
    rows = table(invoke("bitext-evaluate", "alignment", path, data=links))
    assert [row[:2] for row in rows[1:4]] == [
        ["strict", name] for name in ("precision", "recall", "f1")
    ]
    assert float(rows[3][2]) > 0.9


def test_blank_lines_are_no_sentences_but_count(model: Path, files: Files) -> None:
    whole = links_of(linked(model, *files, "--links").stdout)
    files[0].write_text("\n\n" + files[0].read_text().replace("\n", "\n \n"))
    spaced = links_of(linked(model, *files, "--links").stdout)
    assert spaced == [([2 + 2 * i for i in source], target) for source, target in whole]


def test_neither_streams_nor_threads_nor_batches_count(model: Path, files: Files) -> None:
    whole = linked(model, *files).stdout
    for words in (("--threads", "1"), ("--threads", "2"), ("--batch-size", "3")):
        assert linked(model, *files, *words).stdout == whole
    assert linked(model, files[0], "-", text=files[1].read_bytes()).stdout == whole
    packed = files[1].with_name("target.txt.gz")
    packed.write_bytes(gzip.compress(files[1].read_bytes()))
    assert linked(model, files[0], packed).stdout == whole


def test_score_first_least_score_and_output(model: Path, files: Files) -> None:
    rows = table(linked(model, *files))
    middle = sorted(float(row[2]) for row in rows)[len(rows) // 2] - 0.00005
    out = files[0].with_name("out.tsv")
    done = linked(model, *files, "--score-first", "--min-score", str(middle), "-o", out)
    assert done.stdout == ""
    written = [line.split("\t") for line in out.read_text().splitlines()]
    assert written == [[row[2], *row[:2]] for row in rows if float(row[2]) >= middle]


def test_links_below_the_least_score_leave_their_lines_out(model: Path, files: Files) -> None:
    whole = linked(model, *files, "--links", "--digits", "9").stdout.splitlines()
    scores = sorted(float(line.split(":")[2]) for line in whole if line.split(":")[2])
    least = scores[len(scores) // 2]
    done = linked(model, *files, "--links", "--min-score", repr(least), "--digits", "9")
    links = links_of(done.stdout)
    assert [i for link in links for i in link[0]] == list(range(40))
    assert [j for link in links for j in link[1]] == list(range(40))
    kept = {line for line in whole if line.split(":")[2] and float(line.split(":")[2]) >= least}
    assert {line for line in done.stdout.splitlines() if line.split(":")[2]} == kept
    assert len(kept) == len([score for score in scores if score >= least]) < len(scores)


def test_the_model_is_asked_as_it_should_be(
    model: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(model)
    assert loaded.background is not None
    calls = []

    def spy(source: list[str], target: list[str], **given: Any) -> Alignment:
        calls.append(given)
        encoders = given["model"].encoders
        vectors = [encode(side) for encode, side in zip(encoders, LINES, strict=True)]
        for found, side, language in zip(vectors, LINES, loaded.languages, strict=True):
            assert (found == loaded.encode(list(side), language)).all()
        return Alignment([], 0.0)

    monkeypatch.setattr(documents, "align_by_vectors", spy)
    linked(model, *files, "--largest", "3", "--skip", "0.5")
    (given,) = calls
    own = fields(LinkSettings)
    assert [getattr(given["settings"], one.name) for one in own] == [*astuple(LinkSettings(3, 0.5))]
    for found, known in zip(given["model"].background, ("source", "target"), strict=True):
        assert (found == getattr(loaded.background, known)).all()
    assert given["model"].scorer is None
    linked(model, *files, "--classifier")
    judged = calls[1]["model"].scorer(SOURCES, TARGETS)
    assert (judged == loaded.score(SOURCES, TARGETS, ("mlp",))["mlp"]).all()


def test_a_classifier_must_be_there(model: Path, files: Files) -> None:
    bare = toy_model(model.parent / "bare", classifier=False)
    done = linked(bare, *files, "--classifier", code=78)
    says_one_line(done, 78, "--classifier: the model", "has none")


def test_a_list_of_documents(model: Path, files: Files) -> None:
    alone = linked(model, *files).stdout
    outputs = [files[0].with_name(name) for name in ("one.tsv", "two.tsv")]
    listed = files[0].with_name("list.tsv")
    listed.write_text("".join(f"{files[0]}\t{files[1]}\t{out}\n" for out in outputs))
    done = linked(model, "--documents", listed)
    assert done.stdout == ""
    assert [out.read_text() for out in outputs] == [alone, alone]
    listed.write_text(f"\ufeff{files[0]}\t{files[1]}\n\n{files[0]}\t{files[1]}\t-\n")
    assert linked(model, "--documents", listed).stdout == alone + alone
    done = linked(model, "--documents", listed, "--links", code=65)
    assert "links of several documents in one file cannot be told apart" in done.stderr


def test_json_lines(model: Path, files: Files) -> None:
    alone = linked(model, *files).stdout
    out = files[0].with_name("links.txt")
    texts = [path.read_text() for path in files]
    lines = [
        {"source": texts[0], "target": texts[1]},
        {"source": list(LINES[0]), "target": texts[1], "output": str(out)},
    ]
    listed = "".join(json.dumps(line) + "\n" for line in lines)
    assert linked(model, "--documents", "-", text=listed.encode()).stdout == alone
    assert out.read_text() == alone


@pytest.mark.parametrize("by", ["words", "length"])
def test_without_a_model(files: Files, by: str) -> None:
    done = linked(None, *files, "--links", "--by", by)
    links = links_of(done.stdout)
    assert [i for link in links for i in link[0]] == list(range(40))
    assert "model" not in done.stderr.splitlines()[-1]


def test_unrelated_documents_are_warned_of(model: Path, files: Files) -> None:
    assert "do not look like translations" not in linked(model, *files).stderr
    files[1].write_text("".join(f"{line}\n" for line in sentences(40, 99)[1]))
    assert "target.txt do not look like translations" in linked(model, *files).stderr


def test_documents_in_other_languages_are_warned_of(tmp_path: Path) -> None:
    paths = tmp_path / "english.txt", tmp_path / "german.txt"
    texts = "The dog and the cat are in the house with us.", "Der Hund und die Katze sind im Haus."
    for path, text in zip(paths, texts, strict=True):
        path.write_text(f"{text}\n" * 30)
    assert "columns look swapped" not in linked(Path("en-de"), *paths).stderr
    done = linked(Path("en-de"), *reversed(paths))
    assert "english.txt: the columns look swapped" in done.stderr
    done = linked(Path("en-de"), *reversed(paths), "--no-column-check")
    assert "columns look swapped" not in done.stderr


def test_each_side_is_divided_by_its_own_rules() -> None:
    reader = DocumentReader(Run("x", [], Common()), ("de", "en"))
    line = "Am 3. Mai kam er."
    rows = [f"{line}\n".encode()]
    source, target = reader._both(ListedPair(rows, rows), "x:1")
    assert source.sentences == [line]
    assert target.sentences == ["Am 3.", "Mai kam er."]
    assert target.numbers == [0, 0]


def test_splitting_into_sentences(model: Path, tmp_path: Path) -> None:
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, lines in zip(paths, (SOURCES, TARGETS), strict=True):
        path.write_text(" ".join(f"{line.capitalize()}." for line in lines[:20]) + "\n")
    rows = table(linked(model, *paths, "--split", "en,de"))
    assert len(rows) > 15
    assert all(row[0].endswith(".") for row in rows)


@pytest.mark.parametrize("sides", [("", ""), ("one\n", ""), ("", "one\n"), ("\n\n", "one\n")])
def test_empty_documents(model: Path, tmp_path: Path, sides: tuple[str, str]) -> None:
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, text in zip(paths, sides, strict=True):
        path.write_text(text)
    done = linked(model, *paths, "--links")
    assert done.stdout == {("one\n", ""): "[0]:[]:\n"}.get(sides, "[]:[0]:\n" if sides[1] else "")


def test_a_missing_file_stops_or_is_left_out(model: Path, files: Files) -> None:
    alone = linked(model, *files).stdout
    listed = files[0].with_name("list.tsv")
    listed.write_text(f"{files[0]}\tmissing.txt\n{files[0]}\t{files[1]}\n")
    done = linked(model, "--documents", listed, "-q", code=66)
    says_one_line(done, 66, "missing.txt")
    done = linked(model, "--documents", listed, "--keep-going")
    assert done.stdout == alone
    assert "left out: missing.txt" in done.stderr
    assert "1 left out" in done.stderr
    listed.write_text(f"only one\n{files[0]}\t{files[1]}\n")
    done = linked(model, "--documents", listed, "--keep-going")
    assert done.stdout == alone
    assert "left out: " in done.stderr
    assert "list.tsv:1: 1 columns" in done.stderr


def test_bad_lines_stop_or_are_rejected(model: Path, files: Files) -> None:
    whole = links_of(linked(model, *files, "--links").stdout)
    lines = files[0].read_bytes().split(b"\n")
    files[0].write_bytes(b"\n".join([b"a\tb", b"\xff", *lines]))
    done = linked(model, *files, code=65)
    assert "source.txt:1: a tab in the line" in done.stderr
    rejects = files[0].with_name("rejects")
    words = ("--on-error", "reject", "--rejects", rejects, "--links")
    links = links_of(linked(model, *files, *words).stdout)
    assert links == [([i + 2 for i in source], target) for source, target in whole]
    rejected = [line.split(b"\t") for line in rejects.read_bytes().splitlines()]
    assert [line[0] for line in rejected] == [b"1", b"2"]
    assert rejected[0][1].endswith(b"source.txt: a tab in the line")


def test_bytes_that_are_no_text_are_rejected_in_json_too(model: Path, tmp_path: Path) -> None:
    line = json.dumps({"source": "a1 a2\n\ud800", "target": "b1 b2"})
    rejects = tmp_path / "rejects"
    words = ("--documents", "-", "--on-error", "reject", "--rejects", rejects)
    done = linked(model, *words, text=line.encode())
    assert table(done)[0][:2] == ["a1 a2", "b1 b2"]
    assert b"stdin:1 (source): the line is not UTF-8" in rejects.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.txt\n", "list.tsv:1: 1 columns"),
        ("a\tb\tc\td\n", "list.tsv:1: 4 columns"),
        ("a\t\n", "list.tsv:1: '' is no name of a file"),
        ("\n", "list.tsv: no documents"),
        ("a\0\tb\n", "list.tsv:1: 'a\\x00' is no name of a file"),
        ("-\t-\n", "list.tsv:1: stdin can be read once only"),
        ("a\t-\nb\t-\n", "cannot be opened"),
        ("list.tsv\tb\tlist.tsv\n", "list.tsv:1: list.tsv is read by this run"),
        ("/dev/null\tb\tb\n", "list.tsv:1: b is read by this run"),
        (
            "/dev/null\t/dev/null\tx\n/dev/null\t/dev/null\t./x\n",
            "list.tsv:2: ./x would be written",
        ),
    ],
)
def test_bad_lists(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = tmp_path / "list.tsv"
    listed.write_text(text)
    code = 66 if message == "cannot be opened" else 65
    assert message in linked(model, "--documents", listed, code=code).stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no JSON"),
        ("[]", "1 columns"),
        ('{"source": "a"}', "no target"),
        ('{"source": 3, "target": "b"}', "no source"),
        ('{"source": ["a", 1], "target": "b"}', "no source"),
        ('{"source": "a", "target": "b", "output": 1}', "1 is no name of a file"),
        ('{"source": "a", "target": "b", "output": ""}', "'' is no name of a file"),
        ('{"source": "a", "target": "b", "output": "\\u0000"}', "'\\x00' is no name of a file"),
        ('{"source": "a", "target": "b", "output": "\\ud800"}', "'\\ud800' is no name of a file"),
        ('{"source": ["a\\nb"], "target": "b"}', "a sentence of the source has a line end in it"),
        ('{"source": ' + "[" * 100_000, "no JSON"),
    ],
)
def test_bad_json(model: Path, tmp_path: Path, line: str, message: str) -> None:
    listed = tmp_path / "list.jsonl"
    listed.write_text(line + "\n")
    done = linked(model, "--documents", listed, code=65)
    assert f"list.jsonl:1: {message}" in done.stderr


def test_a_list_is_not_written_over(model: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("a\tb\n")
    for option in ("-o", "--manifest", "--rejects"):
        words = ("--documents", listed, option, listed, "-q", "--on-error", "reject")
        says_one_line(linked(model, *words, code=2), 2, "is written by this run")
        assert listed.read_text() == "a\tb\n"


@pytest.mark.parametrize("words", [[], ["--links"], ["--min-score", "0.5"]])
def test_the_older_name(model: Path, files: Files, words: list[str]) -> None:
    line = ("--monotonic", *files, *words, "--model", model)
    older = invoke("bitext-align", *line)
    assert older.stdout == linked(model, *files, *words).stdout
    assert "the command for documents is bitext-align-documents" in older.stderr
    assert invoke("bitext-align", "-q", *line).stderr == ""


EXAMPLES = Path(__file__).parents[2] / "examples" / "pairs.en-de.tsv"
ROWS = [line.split("	") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
SAMPLE = [row[:2] for row in ROWS if row[2].startswith("good")]


@pytest.fixture
def half(tmp_path: Path) -> Files:
    """Translations in order, then as many sentences a side in different orders."""
    rows = [*SAMPLE[:18], *reversed(SAMPLE[18:])]
    sides = [row[0] for row in SAMPLE], [row[1] for row in rows]
    paths = tmp_path / "en.txt", tmp_path / "de.txt"
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def test_links_among_low_ones_are_left_out_by_default(half: Files) -> None:
    whole = table(linked(None, *half, "--min-score", "none"))
    done = linked(None, *half)
    rows = table(done)
    right = {tuple(row) for row in SAMPLE[:18]}
    assert right <= {tuple(row[:2]) for row in rows}
    assert rows == [row for row in whole if row in rows]
    assert len(rows) < len(whole)
    assert f"{len(whole) - len(rows)} below the cut" in done.stderr
    assert "a link and two on either side is below 0.2 (--min-score none keeps them)" in done.stderr
    assert linked(None, *half, "--min-score", "balanced").stdout == done.stdout
    lowest = min(float(row[2]) for row in whole)
    assert table(linked(None, *half, "--min-score", str(lowest - 1))) == whole


@pytest.mark.parametrize("way", ["words", "length"])
def test_other_ways_have_no_cut_of_their_own(half: Files, way: str) -> None:
    usual = linked(None, *half, "--by", way)
    assert usual.stdout == linked(None, *half, "--by", way, "--min-score", "none").stdout
    assert "below" not in usual.stderr
    asked = linked(None, *half, "--by", way, "--min-score", "balanced", code=2)
    assert "--min-score balanced is for --by model" in asked.stderr


def test_one_warning_of_other_languages(half: Files) -> None:
    done = linked(None, *half[::-1])
    assert done.stderr.count("warning: ") == 1
    assert "look swapped" in done.stderr and "--languages de,en reads them so" in done.stderr
    right = linked(None, *half[::-1], "--languages", "de,en")
    assert "warning: " not in right.stderr
    turned, own = [[row[1], row[0], row[2]] for row in table(right)], table(linked(None, *half))
    sure = [row for row in own if row[:2] in SAMPLE[:18]]
    assert len(sure) == 18 and sure == [row for row in turned if row[:2] in SAMPLE[:18]]


def test_lines_of_several_sentences_get_a_hint(tmp_path: Path) -> None:
    paths = tmp_path / "en.txt", tmp_path / "de.txt"
    for side, path in enumerate(paths):
        lines = [" ".join(row[side] for row in SAMPLE[n : n + 4]) for n in range(0, 36, 4)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    hint = "many lines hold several sentences: --split L1,L2 divides them"
    both = json.dumps({"source": paths[0].read_text(), "target": paths[1].read_text()}) + "\n"
    assert linked(None, "--documents", "-", text=2 * both.encode()).stderr.count(hint) == 1
    assert hint in linked(None, *paths).stderr
    for path in paths:
        path.write_text("".join(f"{row[0]}\n" for row in SAMPLE), encoding="utf-8")
    assert hint not in linked(None, *paths, "--by", "length").stderr


def test_what_it_wrote_is_an_anchor_of_all(model: Path, files: Files) -> None:
    links = linked(model, *files, "--links", "--skip", "0.6").stdout
    kept = files[0].with_name("kept.links")
    kept.write_text(links)
    again = linked(model, *files, "--links", "--anchors", kept)
    assert again.stdout == links
    assert f"{len(links.splitlines())} anchors" in again.stderr
    story = [ROOT / "examples/align-documents" / f"story.{end}" for end in ("en.txt", "de.txt")]
    gold = story[0].with_name("story.links")
    found = linked(None, *story, "--by", "length", "--links", "--anchors", gold).stdout
    assert links_of(found) == links_of(gold.read_text())


@pytest.mark.parametrize("way", [(), ("--classifier",), ("--min-score", "1")])
def test_anchors_hold(model: Path, files: Files, way: tuple[str, ...]) -> None:
    files[0].write_text("\n" + files[0].read_text())  # lines count from 0, and blank ones as well
    kept = files[0].with_name("kept.links")
    kept.write_text("[30, 31]:[25]:0.1\n\n[4]:[3]\n[9]:[]\n")
    links = links_of(linked(model, *files, "--links", "--anchors", kept, *way).stdout)
    assert ([30, 31], [25]) in links
    assert ([4], [3]) in links
    assert ([9], []) in links
    assert [i for link in links for i in link[0]] == list(range(1, 41))
    if not way:
        assert ([2], [1]) in links


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("[0]:[0]\n[1]-[1]\n", "kept.links:2: no link: '[1]-[1]'"),
        ("[3]:[3]\n[2]:[4]\n", "kept.links:2: links cross: this one and line 1"),
        ("[3]:[3]\n[5]:[3]\n", "kept.links:2: a target sentence stands in two links: this one"),
        ("[3,5]:[3]\n", "kept.links:1: the source sentences of a link must be neighbours"),
        ("[3]:[3]\n[40]:[39]\n", "kept.links:2: line 40 of the source is no sentence; lines are"),
        ("a\t[3]:[3]\n", "kept.links:1: no link"),
    ],
)
def test_anchors_that_cannot_hold(files: Files, lines: str, message: str) -> None:
    kept = files[0].with_name("kept.links")
    kept.write_text(lines)
    done = linked(None, *files, "--by", "length", "--anchors", kept, code=65)
    assert message in done.stderr
    assert done.stdout == ""


def test_anchors_of_many_documents(files: Files) -> None:
    out = [files[0].with_name(name) for name in ("one.links", "two.links")]
    listed = files[0].with_name("list.jsonl")
    document = {"source": files[0].read_text(), "target": files[1].read_text()}
    rows = [{**document, "output": str(path), "document": path.stem} for path in out]
    listed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    kept = files[0].with_name("kept.links")
    kept.write_text("two\t[8]:[3,4]\n")
    words = ("--by", "length", "--links", "--documents", listed, "--anchors", kept)
    linked(None, *words)
    assert [([8], [3, 4]) in links_of(path.read_text()) for path in out] == [False, True]
    listed.write_text(listed.read_text() + "no\tfile\n")
    kept.write_text("no\t[0]:[0]\n")
    assert "1 left out" in linked(None, *words, "--keep-going").stderr
    kept.write_text("two\t[8]:[3,4]\nthree\t[0]:[0]\n")
    done = linked(None, *words, "--keep-going", code=65)
    assert "kept.links:2: no document 'three'" in done.stderr
    kept.write_text("two\t[8]:[3,4]\n")
    listed.write_text("".join(json.dumps({**rows[1], "output": str(path)}) + "\n" for path in out))
    assert "kept.links:1: the document 'two' stands twice" in linked(None, *words, code=65).stderr
    kept.write_text("[8]:[3,4]\n")
    assert "kept.links:1: no link: '[8]:[3,4]'; a line is" in linked(None, *words, code=65).stderr


def test_headings_are_linked_in_their_order(files: Files) -> None:
    sides = [path.read_text().split("\n")[:-1] for path in files]
    for lines, places in zip(sides, ((3, 20, 30), (9, 22, 28)), strict=True):
        for number, place in enumerate(places, 1):
            lines.insert(place, f"# {number}")
    for path, lines in zip(files, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    words = (*files, "--by", "length", "--links", "--chapters", "^# ")
    done = linked(None, *words)
    links = links_of(done.stdout)
    assert all(pair in links for pair in [([3], [9]), ([20], [22]), ([30], [28])])
    assert "3 anchors" in done.stderr
    kept = files[0].with_name("kept.links")
    kept.write_text("[20]:[23]\n")
    crossing = linked(None, *words, "--anchors", kept, code=65)
    assert "kept.links:1: a source sentence stands in two links: this one and a heading" in (
        crossing.stderr
    )
    kept.write_text("[20]:[22]\n[3]:[9]\n[20]:[22]\n")
    same = linked(None, *words, "--anchors", kept)
    assert same.stdout == done.stdout
    assert "3 anchors" in same.stderr
    nothing = linked(None, *words, "--chapters", "zzz").stderr
    assert "0 and 0 lines match --chapters: none is an anchor" in nothing
    files[0].write_text(files[0].read_text() + "# 4\n")
    done = linked(None, *words)
    assert "4 and 3 lines match --chapters: none is an anchor" in done.stderr
    assert links_of(done.stdout) != links


def test_chapters_that_take_too_long(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.filters.custom.PATIENCE", 0.1)
    files[0].write_text("a" * 40 + "!\n")
    done = linked(None, *files, "--by", "length", "--chapters", "^(a|aa)+$", code=65)
    assert "--chapters takes too long on 'aaaa" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--chapters", "("], "regular-expression: '(': missing )"),
        (["--anchors", "x", "--split", "en,de"], "--anchors has numbers of lines"),
        (["--anchors", "x", "-o", "x"], "x is written by this run"),
        (["--anchors", "-"], "stdin can be read once only"),
    ],
)
def test_misuse_of_anchors(
    files: Files, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(files[0].parent)
    Path("x").write_text("[0]:[0]\n")
    source = "-" if words == ["--anchors", "-"] else files[0]
    assert message in linked(None, source, files[1], "--by", "length", *words, code=2).stderr
