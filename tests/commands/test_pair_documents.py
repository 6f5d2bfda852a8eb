"""bitext-pair-documents through its streams: collections, pages, bad documents, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toys import sentences

from bitextfilter.commands import align_documents, pair_documents
from bitextfilter.scoring.model import Model

SOURCES, TARGETS = sentences(240, 8, lengths=(4, 12))
SIZE = 8
SITE = "a1 a2 a3 a4 a5", "b1 b2 b3 b4 b5"
"""A line that all documents begin with."""


def texts(side: int) -> dict[str, list[str]]:
    """Documents by number: 0 to 24 of the source, 5 to 29 of the target, in another order."""
    lines, numbers = ((SOURCES, range(25)), (TARGETS, [*range(29, 4, -1)]))[side]
    return {
        f"{number:02}": [SITE[side], *lines[number * SIZE : (number + 1) * SIZE]]
        for number in numbers
    }


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    for side, name in enumerate(("aa", "ba")):
        for number, (key, lines) in enumerate(texts(side).items()):
            path = Path(name, str(number % 3), f"{key}.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
    return "aa", "ba"


def paired(model: Path, *words: str | Path, text: bytes = b"") -> Result:
    arguments = [*map(str, words), "--model", str(model)]
    return CliRunner().invoke(pair_documents.main, arguments, input=text)


def rows_of(done: Result) -> list[list[str]]:
    assert done.exit_code == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def jsonl(side: int, name: str = "text") -> bytes:
    values = {
        key: "\n".join(lines) if name == "text" else lines for key, lines in texts(side).items()
    }
    return b"".join(json.dumps({"id": k, name: v}).encode() + b"\n" for k, v in values.items())


def test_partners_are_found_and_the_others_left_out(model: Path, folders: tuple[str, str]) -> None:
    done = paired(model, *folders)
    rows = rows_of(done)
    assert sorted(Path(row[0]).stem for row in rows) == [f"{n:02}" for n in range(5, 25)]
    assert all(Path(source).stem == Path(target).stem for source, target, _ in rows)
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True) and 0.8 <= scores[-1] <= scores[0] <= 1
    assert "25 sources, 25 targets, 20 pairs" in done.stderr
    every = rows_of(paired(model, *folders, "--min-score", "none", "--digits", "2"))
    assert len(every) == 25 and every[0][2] == f"{scores[0]:.2f}"
    assert paired(model, *folders, "--min-score", "1.1").stdout == ""


def test_result_depends_on_nothing_but_documents(model: Path, folders: tuple[str, str]) -> None:
    wanted = paired(model, *folders).stdout
    found = paired(model, *folders, "--batch-size", "7", "--threads", "3").stdout
    assert found == wanted
    Path("a.jsonl").write_bytes(jsonl(0))
    shown = [
        (Path(a).stem, Path(b).stem, score)
        for a, b, score in (line.split("\t") for line in wanted.splitlines())
    ]
    for name in ("text", "sentences"):
        rows = rows_of(paired(model, "a.jsonl", "-", text=jsonl(1, name)))
        assert sorted(map(tuple, rows)) == sorted(shown)


def test_pairs_are_a_list_for_the_alignment(model: Path, folders: tuple[str, str]) -> None:
    Path("pairs.tsv").write_text(paired(model, *folders).stdout)
    words = ["-q", "--documents", "pairs.tsv", "--model", str(model)]
    links = CliRunner().invoke(align_documents.main, words)
    rows = [line.split("\t") for line in links.stdout.splitlines()]
    wanted = set(zip(SOURCES[5 * SIZE : 25 * SIZE], TARGETS[5 * SIZE : 25 * SIZE], strict=True))
    found = wanted & {(row[0], row[1]) for row in rows}
    assert links.exit_code == 0 and len(found) > 0.9 * len(wanted)
    objects = paired(model, *folders, "--texts")
    again = CliRunner().invoke(
        align_documents.main, ["-q", "--documents", "-", *words[-2:]], input=objects.stdout
    )
    assert again.stdout == links.stdout
    first = json.loads(objects.stdout.splitlines()[0])
    assert first["source"] == Path(first["source_id"]).read_text().splitlines()


def test_copies_are_paired_with_copies(model: Path, tmp_path: Path) -> None:
    def lines(side: int, names: str) -> bytes:
        found = list(texts(side).values())
        some = found[20:22] if side == 0 else found[8:10][::-1]
        rows = [{"id": n, "sentences": some[n in "xyz"]} for n in names]
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    (tmp_path / "a").write_bytes(lines(0, "pxyz"))
    done = paired(model, tmp_path / "a", "-", text=lines(1, "xpy"))
    assert sorted(row[:2] for row in rows_of(done)) == [["p", "p"], ["x", "x"], ["y", "y"]]
    assert "2 copies of sources" in done.stderr and "1 copies of targets" in done.stderr


def test_documents_of_one_sentence_and_of_very_many(model: Path, tmp_path: Path) -> None:
    many = sentences(3000, 5)
    sides = [
        [{"id": "one", "text": one}, {"id": "many", "sentences": lines}]
        for one, lines in zip((SOURCES[0], TARGETS[0]), many, strict=True)
    ]
    for name, side in zip("ab", sides, strict=True):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in side))
    rows = rows_of(paired(model, tmp_path / "a", tmp_path / "b", "--batch-size", "500"))
    assert sorted(row[:2] for row in rows) == [["many", "many"], ["one", "one"]]


def test_bad_documents_stop_or_are_left_out(model: Path, folders: tuple[str, str]) -> None:
    wanted = paired(model, *folders).stdout
    bad = {
        "aa/0/bytes.txt": (b"a1 a2\na\xff\n", "aa/0/bytes.txt:2: the line is not UTF-8"),
        "aa/1/binary.html": (b"\x89PNG\0", "aa/1/binary.html: a binary file"),
        "ba/0/blank.txt": (b"\n \n", "ba/0/blank.txt: no sentences"),
        "ba/1/empty.html": (b"<html></html>", "ba/1/empty.html: no text is found"),
    }
    for path, (data, reason) in bad.items():
        Path(path).write_bytes(data)
        stopped = paired(model, *folders)
        assert stopped.exit_code == 65 and reason in stopped.stderr and not stopped.stdout
        Path(path).unlink()
    for path, (data, _) in bad.items():
        Path(path).write_bytes(data)
    Path("aa/0/up").symlink_to("..")
    Path("pairs.tsv").touch()
    Path("aa/0/pairs.tsv").symlink_to("../../pairs.tsv")
    going = paired(model, *folders, "--keep-going", "-o", "pairs.tsv")
    assert going.exit_code == 0 and Path("pairs.tsv").read_text() == wanted
    assert "6 left out" in going.stderr and "is written by this run" in going.stderr
    assert all(f"left out: {reason}" in going.stderr for _, reason in bad.values())
    Path("aa/0/pairs.tsv").unlink()
    rejecting = paired(model, *folders, "--keep-going", "--on-error", "reject", "--rejects", "r")
    assert "4 left out" in rejecting.stderr and "1 rejected" in rejecting.stderr
    assert (
        Path("r").read_bytes() == b"2\taa/0/bytes.txt: the line is not UTF-8 at its byte 2\ta\xff\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["-", "-"], 2, "only one of SOURCE and TARGET"),
        (["aa", "missing"], 66, "missing: cannot be opened"),
        (["aa", "none"], 65, "none: no documents"),
        (["aa", "ba", "--min-score", "high"], 2, "nor is it recommended"),
        (["aa", "ba", "--resume", "aa"], 78, "aa is not empty"),
    ],
)
def test_misuse(
    model: Path, folders: tuple[str, str], words: list[str], code: int, reason: str
) -> None:
    Path("none").mkdir()
    done = paired(model, *words)
    assert done.exit_code == code and reason in done.stderr


def test_pages_are_documents(model: Path, folders: tuple[str, str]) -> None:
    wanted = paired(model, *folders).stdout.replace(".txt", ".html")
    for path in [*Path("aa").rglob("*.txt"), *Path("ba").rglob("*.txt")]:
        body = "".join(f"<p>{line}</p>" for line in path.read_text().splitlines())
        page = f"<!doctype html><html><body><nav>Menu</nav><main>{body}</main></body></html>"
        path.with_suffix(".html").write_text(page)
        path.unlink()
    found = paired(model, *folders).stdout
    assert found == wanted
    name = found.split("\t")[0]
    words = ["-q", *found.split("\t")[:2], "--model", str(model)]
    done = CliRunner().invoke(align_documents.main, words)
    rows = [line.split("\t")[:2] for line in done.stdout.splitlines()]
    first = int(Path(name).stem) * SIZE
    assert [SOURCES[first], TARGETS[first]] in rows and ["Menu", "Menu"] not in rows


def test_other_languages_are_told(
    model: Path, folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(sources: list[str], targets: list[str], _: object) -> str:
        return f"{len(sources)} and {len(targets)} lines look odd"

    monkeypatch.setattr("bitextfilter.scoring.row_checks.check_columns", told)
    assert "warning: 225 and 225 lines look odd" in paired(model, *folders).stderr
    assert "odd" not in paired(model, *folders, "--no-column-check").stderr


def test_stopped_run_goes_on(
    model: Path, folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = paired(model, *folders).stdout
    words = *folders, "--resume", "work", "--batch-size", "20"
    monkeypatch.setattr("bitextfilter.mining.document_pairing._SAFE_SENTENCES", 30)
    encode, calls = Model.encode_side, []

    def counted(self: Model, texts: Any, side: int) -> Any:
        calls.append(len(texts))
        if len(calls) in (8, 20):
            raise KeyboardInterrupt
        return encode(self, texts, side)

    monkeypatch.setattr(Model, "encode_side", counted)
    assert paired(model, *words).exit_code == 130
    assert paired(model, *words).exit_code == 130
    assert 8 + 7 < 20 and len(calls) == 20
    again = paired(model, *words)
    assert again.exit_code == 0 and again.stdout == wanted
    done = sum(calls)
    assert paired(model, *words).stdout == wanted and sum(calls) == done
    assert paired(model, *words[:-1], "7", "-k", "3").exit_code == 0 and sum(calls) == done
    Path("ba/0/29.txt").write_text("b1 b2\n")
    other = paired(model, *words)
    assert other.exit_code == 78 and "target documents was" in other.stderr
