"""bitext-pair-documents through its streams: collections, pages, bad documents, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from console import invoke, table
from toys import sentences

from bitextfilter.commands import align_documents, pair_documents
from bitextfilter.scoring.model import Model

SOURCES, TARGETS = sentences(128, 8, lengths=(4, 12))
SIZE = 8
SITE = "a1 a2 a3 a4 a5", "b1 b2 b3 b4 b5"
"""A line that all documents begin with."""


def texts(side: int) -> dict[str, list[str]]:
    """Documents by number: 0 to 11 of the source, 4 to 15 of the target, in another order."""
    lines, numbers = ((SOURCES, range(12)), (TARGETS, [*range(15, 3, -1)]))[side]
    return {
        f"{number:02}": [SITE[side], *lines[number * SIZE : (number + 1) * SIZE]]
        for number in numbers
    }


def written() -> tuple[str, str]:
    """Write the documents as files of two folders."""
    for side, name in enumerate(("aa", "ba")):
        for number, (key, lines) in enumerate(texts(side).items()):
            path = Path(name, str(number % 3), f"{key}.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
    return "aa", "ba"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    return written()


@pytest.fixture(scope="module")
def wanted(model: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The pairs of the two folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("wanted"))
        return paired(model, *written()).stdout


def paired(model: Path, *words: str | Path, text: bytes = b"", code: int | None = 0) -> Result:
    return invoke(pair_documents.main, *words, "--model", model, data=text, code=code)


def jsonl(side: int, name: str = "text") -> bytes:
    values = {
        key: "\n".join(lines) if name == "text" else lines for key, lines in texts(side).items()
    }
    return b"".join(json.dumps({"id": k, name: v}).encode() + b"\n" for k, v in values.items())


def test_partners_are_found_and_the_others_left_out(model: Path, folders: tuple[str, str]) -> None:
    done = paired(model, *folders)
    rows = table(done)
    assert sorted(Path(row[0]).stem for row in rows) == [f"{n:02}" for n in range(4, 12)]
    assert all(Path(source).stem == Path(target).stem for source, target, _ in rows)
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True) and 0.8 <= scores[-1] <= scores[0] <= 1
    assert "12 sources, 12 targets, 8 pairs" in done.stderr
    every = table(paired(model, *folders, "--min-score", "none", "--digits", "2"))
    assert len(every) == 12 and every[0][2] == f"{scores[0]:.2f}"
    assert paired(model, *folders, "--min-score", "1.1").stdout == ""


def test_result_depends_on_nothing_but_documents(
    model: Path, folders: tuple[str, str], wanted: str
) -> None:
    assert paired(model, *folders, "--batch-size", "7", "--threads", "3").stdout == wanted
    Path("a.jsonl").write_bytes(jsonl(0))
    rows = [line.split("\t") for line in wanted.splitlines()]
    shown = [[Path(a).stem, Path(b).stem, score] for a, b, score in rows]
    for name in ("text", "sentences"):
        found = table(paired(model, "a.jsonl", "-", text=jsonl(1, name)))
        assert sorted(found) == sorted(shown)


def test_pairs_are_a_list_for_the_alignment(
    model: Path, folders: tuple[str, str], wanted: str
) -> None:
    Path("pairs.tsv").write_text(wanted)
    words = (align_documents.main, "-q", "--model", model, "--documents")
    links = invoke(*words, "pairs.tsv")
    pairs = {*zip(SOURCES[4 * SIZE : 12 * SIZE], TARGETS[4 * SIZE : 12 * SIZE], strict=True)}
    found = pairs & {(row[0], row[1]) for row in table(links)}
    assert len(found) > 0.9 * len(pairs)
    objects = paired(model, *folders, "--texts").stdout
    assert invoke(*words, "-", data=objects).stdout == links.stdout
    first = json.loads(objects.splitlines()[0])
    assert first["source"] == Path(first["source_id"]).read_text().splitlines()


def test_copies_are_paired_with_copies(model: Path, tmp_path: Path) -> None:
    def lines(side: int, names: str) -> bytes:
        found = list(texts(side).values())
        some = found[10:12] if side == 0 else found[4:6][::-1]
        rows = [{"id": n, "sentences": some[n in "xyz"]} for n in names]
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    (tmp_path / "a").write_bytes(lines(0, "pxyz"))
    done = paired(model, tmp_path / "a", "-", text=lines(1, "xpy"))
    assert sorted(row[:2] for row in table(done)) == [["p", "p"], ["x", "x"], ["y", "y"]]
    assert "2 copies of sources" in done.stderr and "1 copies of targets" in done.stderr


def test_documents_of_one_sentence_and_of_very_many(model: Path, tmp_path: Path) -> None:
    many = sentences(1200, 5)
    sides = [
        [{"id": "one", "text": one}, {"id": "many", "sentences": lines}]
        for one, lines in zip((SOURCES[0], TARGETS[0]), many, strict=True)
    ]
    for name, side in zip("ab", sides, strict=True):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in side))
    rows = table(paired(model, tmp_path / "a", tmp_path / "b", "--batch-size", "500"))
    assert sorted(row[:2] for row in rows) == [["many", "many"], ["one", "one"]]


def test_bad_documents_stop_or_are_left_out(
    model: Path, folders: tuple[str, str], wanted: str
) -> None:
    bad = {
        "aa/0/bytes.txt": (b"a1 a2\na\xff\n", "aa/0/bytes.txt:2: the line is not UTF-8"),
        "aa/1/binary.html": (b"\x89PNG\0", "aa/1/binary.html: a binary file"),
        "ba/0/blank.txt": (b"\n \n", "ba/0/blank.txt: no sentences"),
        "ba/1/empty.html": (b"<html></html>", "ba/1/empty.html: no text is found"),
    }
    for path, (data, reason) in bad.items():
        Path(path).write_bytes(data)
        stopped = paired(model, *folders, code=65)
        assert reason in stopped.stderr and not stopped.stdout
        Path(path).unlink()
    for path, (data, _) in bad.items():
        Path(path).write_bytes(data)
    Path("aa/0/up").symlink_to("..")
    Path("pairs.tsv").touch()
    Path("aa/0/pairs.tsv").symlink_to("../../pairs.tsv")
    going = paired(model, *folders, "--keep-going", "-o", "pairs.tsv")
    assert Path("pairs.tsv").read_text() == wanted
    assert "6 left out" in going.stderr and "is written by this run" in going.stderr
    assert all(f"left out: {reason}" in going.stderr for _, reason in bad.values())
    Path("aa/0/pairs.tsv").unlink()
    rejecting = paired(model, *folders, "--keep-going", "--on-error", "reject", "--rejects", "r")
    assert "4 left out" in rejecting.stderr and "1 rejected" in rejecting.stderr
    said = b"2\taa/0/bytes.txt: the line is not UTF-8 at its byte 2\ta\xff\n"
    assert Path("r").read_bytes() == said


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        ("- -", 2, "only one of SOURCE and TARGET"),
        ("aa missing", 66, "missing: cannot be opened"),
        ("aa none", 65, "none: no documents"),
        ("aa ba --min-score high", 2, "nor is it balanced or none"),
        ("aa ba --resume aa", 78, "aa is not empty"),
    ],
)
@pytest.mark.usefixtures("folders")
def test_misuse(model: Path, words: str, code: int, reason: str) -> None:
    Path("none").mkdir()
    assert reason in paired(model, *words.split(), code=code).stderr


def test_pages_are_documents(model: Path, folders: tuple[str, str], wanted: str) -> None:
    for path in [*Path("aa").rglob("*.txt"), *Path("ba").rglob("*.txt")]:
        body = "".join(f"<p>{line}</p>" for line in path.read_text().splitlines())
        page = f"<!doctype html><html><body><nav>Menu</nav><main>{body}</main></body></html>"
        path.with_suffix(".html").write_text(page)
        path.unlink()
    found = paired(model, *folders).stdout
    assert found == wanted.replace(".txt", ".html")
    words = ("-q", *found.split("\t")[:2], "--model", model)
    rows = [row[:2] for row in table(invoke(align_documents.main, *words))]
    first = int(Path(found.split("\t")[0]).stem) * SIZE
    assert [SOURCES[first], TARGETS[first]] in rows and ["Menu", "Menu"] not in rows


def test_other_languages_are_told(
    model: Path, folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(sources: list[str], targets: list[str], _: object) -> str:
        return f"{len(sources)} and {len(targets)} lines look odd"

    monkeypatch.setattr("bitextfilter.scoring.row_checks.check_columns", told)
    assert "warning: 108 and 108 lines look odd" in paired(model, *folders).stderr
    assert "odd" not in paired(model, *folders, "--no-column-check").stderr


def test_stopped_run_goes_on(
    model: Path, folders: tuple[str, str], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = *folders, "--resume", "work", "--batch-size", "10"
    monkeypatch.setattr("bitextfilter.mining.document_pairing._SAFE_SENTENCES", 15)
    encode, calls = Model.encode_side, []

    def counted(self: Model, texts: Any, side: int) -> Any:
        calls.append(len(texts))
        if len(calls) in (8, 20):
            raise KeyboardInterrupt
        return encode(self, texts, side)

    monkeypatch.setattr(Model, "encode_side", counted)
    Path("work").mkdir()
    Path("work/.plan.json.1.partial").write_text("{")  # of a run that was killed at its start
    paired(model, *words, code=130)
    paired(model, *words, code=130)
    assert 8 + 7 < 20 and len(calls) == 20
    assert paired(model, *words).stdout == wanted
    done = sum(calls)
    assert paired(model, *words).stdout == wanted and sum(calls) == done
    paired(model, *words[:-1], "7", "-k", "3")
    assert sum(calls) == done
    Path("ba/0/15.txt").write_text("b1 b2\n")
    assert "target documents was" in paired(model, *words, code=78).stderr
