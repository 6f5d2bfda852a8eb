"""bitext-align-documents --as: chunks, whole documents and objects, and a pipe behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke, table
from toys import sentences

Files = tuple[str, str]

SOURCES, TARGETS = sentences(30, 7)
OTHER = sentences(1, 99)[1][0]
COLUMNS = [
    *("source", "target", "score", "lowest", "document", "paragraphs", "source-lines"),
    *("target-lines", "links", "source-unaligned", "target-unaligned"),
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Paragraphs of five sentences; the target has one more, behind its line 12."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("a.txt", SOURCES), ("b.txt", TARGETS)):
        text = "".join(f"{line}\n" + "\n" * (n % 5 == 4) for n, line in enumerate(lines))
        if name == "b.txt":
            text = text.replace(f"{TARGETS[12]}\n", f"{TARGETS[12]}\n{OTHER}\n")
        Path(name).write_text(text)
    return "a.txt", "b.txt"


def linked(model: Path, *words: str, text: str = "") -> Result:
    line = (*words, "--model", model, "--largest", "1")
    return invoke("bitext-align-documents", *line, data=text)


def rows_of(done: Result) -> list[dict[str, str]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in table(done)]


def test_chunks_end_at_holes_and_at_paragraphs(model: Path, files: Files) -> None:
    links = linked(model, *files, "--links").stdout.splitlines()
    assert f"[]:[{12 + 2 + 1}]:" in links, "the toy model finds the hole"
    rows = rows_of(linked(model, *files, "--as", "paragraphs"))
    assert rows[0]["source"] == " ".join(SOURCES[:13])
    assert rows[0]["target"] == " ".join(TARGETS[:13])
    spans = [[row[name] for name in COLUMNS[5:9]] for row in rows[:2]]
    assert spans == [["0:3", "0:15", "0:15", "13"], ["2:6", "15:35", "16:36", "17"]]
    assert {row["document"] for row in rows} == {"a.txt"}
    assert all(row["target-unaligned"] == "0.0000" for row in rows)


@pytest.mark.parametrize("count", ["words", "characters"])
def test_chunks_are_short_enough(model: Path, files: Files, count: str) -> None:
    def size(text: str) -> int:
        return len(text.split()) if count == "words" else len("".join(text.split()))

    most = 3 * max(map(size, SOURCES + TARGETS))
    words = ("--as", "paragraphs", "--most-words", str(most), "--count", count)
    rows = rows_of(linked(model, *files, *words))
    assert all(max(size(row["source"]), size(row["target"])) <= most for row in rows)
    assert " ".join(row["source"] for row in rows) == " ".join(SOURCES)
    assert len(rows) > 5


def test_scores_are_those_of_the_links(model: Path, files: Files) -> None:
    pairs = table(linked(model, *files, "--digits", "9"))
    sizes = [len(f"{pair[0]} {pair[1]}".split()) for pair in pairs]
    scores = [float(pair[2]) for pair in pairs]
    (row,) = rows_of(linked(model, *files, "--as", "documents", "--digits", "9"))
    mean = sum(s * n for s, n in zip(scores, sizes, strict=True)) / sum(sizes)
    assert float(row["score"]) == pytest.approx(mean, abs=1e-8)
    assert float(row["lowest"]) == min(scores)


def test_low_scores_are_holes(model: Path, files: Files) -> None:
    rows = table(linked(model, *files))
    least = sorted(float(row[2]) for row in rows)[5] - 0.00005
    held = rows_of(linked(model, *files, "--as", "paragraphs", "--min-score", str(least)))
    good = [row[0] for row in rows if float(row[2]) >= least]
    assert " ".join(row["source"] for row in held) == " ".join(good)
    assert all(float(row["lowest"]) >= least for row in held)


def test_documents_are_whole_and_marked(model: Path, files: Files) -> None:
    (row,) = rows_of(linked(model, *files, "--as", "documents"))
    parts = row["source"].split(" ¶ ")
    assert parts == [" ".join(SOURCES[n : n + 5]) for n in range(0, 30, 5)]
    assert OTHER in row["target"].split(" ¶ ")[2]
    assert row["paragraphs"] == "0:6"
    (plain,) = rows_of(linked(model, *files, "--as", "documents", "--mark", ""))
    assert plain["source"] == " ".join(SOURCES)
    (marked,) = rows_of(linked(model, *files, "--as", "paragraphs", "--hole", "9", "--mark", "<p>"))
    assert marked["source"] == row["source"].replace("¶", "<p>")


def test_objects_hold_everything(model: Path, files: Files) -> None:
    made = json.loads(linked(model, *files, "--as", "jsonl").stdout)
    assert [len(part) for part in made["source"]] == [5] * 6
    assert [len(part) for part in made["target"]] == [5, 5, 6, 5, 5, 5]
    texts = [[line for part in made[side] for line in part] for side in ("source", "target")]
    for source, target, found in made["links"]:
        assert (found is None) == (not source or not target)
        if found is not None:
            pair = [texts[0][source[0]], texts[1][target[0]]]
            assert pair in [list(both) for both in zip(SOURCES, TARGETS, strict=True)]
    links = linked(model, *files, "--links").stdout.splitlines()
    assert len(links) == len(made["links"])
    lines = Path("b.txt").read_text().split("\n")
    assert [lines[n] for n in made["target_lines"]] == texts[1]
    assert made["document"] == "a.txt"
    assert 0 < made["target_unaligned"] < 0.1 and made["source_unaligned"] == 0


def test_many_documents_and_their_names(model: Path, files: Files) -> None:
    texts = {
        side: Path(file).read_text() for side, file in zip(("source", "target"), files, strict=True)
    }
    given = [{**texts, "document": "one\ttwo\n\ud800"}, texts, {**texts, "output": "own.tsv"}]
    list_ = "".join(json.dumps(one) + "\n" for one in given)
    words = ("--documents", "-", "--as", "documents", "--header")
    done = linked(model, *words, text=list_)
    header, *rows = table(done)
    assert header == COLUMNS
    assert [row[4] for row in rows] == ["one two \\ud800", "stdin:2"]
    own = [line.split("\t") for line in Path("own.tsv").read_text().splitlines()]
    assert own[0] == COLUMNS and own[1][4] == "stdin:3" and len(own) == 2
    done = linked(model, *words[:2], "--as", "jsonl", text=list_)
    assert [json.loads(line)["document"] for line in done.stdout.splitlines()] == [
        "one two \\ud800",
        "stdin:2",
    ]


def test_without_links_there_are_no_rows(model: Path, files: Files) -> None:
    Path("b.txt").write_text("")
    for form in ("paragraphs", "documents"):
        assert linked(model, *files, "--as", form).stdout == ""
    made = json.loads(linked(model, *files, "--as", "jsonl").stdout)
    assert made["score"] is made["lowest"] is None
    assert made["target"] == [] and made["source_unaligned"] == 1


def test_a_line_is_a_paragraph_where_lines_are_split(model: Path, files: Files) -> None:
    for file, lines in zip(files, (SOURCES, TARGETS), strict=True):
        rows = [" ".join(f"{s.capitalize()}." for s in lines[n : n + 5]) for n in range(0, 30, 5)]
        Path(file).write_text("\n".join(rows) + "\n")
    made = json.loads(linked(model, *files, "--as", "jsonl", "--split", "en,de").stdout)
    assert len(made["source"]) == len(made["target"]) == 6


def test_columns_pass_through_a_pipe(model: Path, files: Files) -> None:
    words = ("--as", "paragraphs", "--header", "--most-words", "40")
    text = linked(model, *files, *words).stdout
    steps = (
        ("bitext-score", ["--header", "--model", str(model), "--similarity", "cosine"]),
        ("bitext-filter", ["--header", "--rule", "length:maximum=500", "--rule", "cosine>=-1"]),
        ("bitext-dedup", ["--header"]),
        (
            "bitext-rank",
            ["--header", "--column", "lowest", "--min-score", "-1", "--order", "input"],
        ),
    )
    names, given = [*COLUMNS, "cosine"], text.splitlines()
    for command, options in steps:
        text = invoke(command, "-q", *options, data=text).stdout
        lines = text.splitlines()
        assert lines[0].split("\t") == names
        assert [line.rpartition("\t")[0] for line in lines] == given
    invoke("bitext-report", "--header", "--column", "lowest", "-o", "page.html", data=text)
    done = invoke("bitext-convert", "-q", "--header", "--to", "jsonl", data=text)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(row) for row in rows] == [names] * (len(given) - 1)
    keep = ["--from", "jsonl", "--header", "--keep", ",".join(names[2:])]
    assert invoke("bitext-convert", "-q", *keep, data=done.stdout).stdout == text
