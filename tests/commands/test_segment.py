"""bitext-segment through its streams."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke

from bitextfilter.commands.segment import main
from bitextfilter.text.segment import SEGMENTERS

TEXT = "Das Haus\tthe house\nEin kleiner Baum\ta small tree\n" * 30


def segment(*words: object, text: str | bytes = b"", code: int = 0) -> Result:
    return invoke(main, *words, data=text, code=code)


def applied(folder: Path, text: str | bytes, *words: str) -> bytes:
    return segment("apply", "-q", "--segmenter", folder, *words, text=text).stdout_bytes


def learnt(folder: Path, *options: str) -> Path:
    words = ("learn", "-q", "-o", folder, "--vocabulary-size", "60", *options)
    assert segment(*words, text=TEXT).output == ""
    return folder


@pytest.mark.parametrize("kind", SEGMENTERS)
def test_join_undoes_apply(kind: str, tmp_path: Path) -> None:
    folder = learnt(tmp_path / "pieces", "--kind", kind)
    text = "Das  HAUS\r\n\nEin\u2028Baum, unseen: \u2581日本\n \u200b\nlast"
    normalised = "das haus\r\n\nein baum, unseen: _日本\n\nlast"
    cut = applied(folder, text)
    assert cut.count(b"\n") == text.count("\n")
    assert applied(folder, cut, "--join").decode() == normalised


def test_case_is_kept_if_asked_and_a_bom_written_back(tmp_path: Path) -> None:
    kept = learnt(tmp_path / "pieces", "--keep-case", "--kind", "none")
    assert applied(kept, "Das Haus") == b"Das Haus"
    plain = learnt(tmp_path / "others", "--kind", "none")
    assert applied(plain, "\ufeffHaus\n") == "\ufeffhaus\n".encode()


def test_files_are_learnt_from_together_and_the_same_each_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gz", tmp_path / "other.txt"
    one.write_bytes(gzip.compress(TEXT.encode()))
    other.write_text("Zebra crossing\n" * 30, encoding="utf-8")
    contents = []
    for name in ("first", "second"):
        manifest = tmp_path / f"{name}.json"
        words = ("--kind", "bpe", "-o", tmp_path / name, "--manifest", manifest)
        segment("learn", *words, one, other)
        assert json.loads(manifest.read_text(encoding="utf-8"))["counts"]["rows"] == 90
        contents.append({f.name: f.read_bytes() for f in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]
    assert applied(tmp_path / "first", "zebra haus").decode() == "▁zebra ▁haus"


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"ok\nnot \xff\n", "stdin:2: the line is not UTF-8"), (b"a\0b\n", "stdin:1: NUL")],
)
def test_lines_that_are_not_text(text: bytes, message: str, tmp_path: Path) -> None:
    folder, output = learnt(tmp_path / "pieces"), tmp_path / "out"
    for words in (("learn",), ("apply", "--segmenter", folder)):
        assert message in segment(*words, "-o", output, text=text, code=65).stderr
        assert not output.exists()


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    """Nor is an empty one."""
    for files in ([], ["mine"]):
        for name in files:
            (tmp_path / name).write_text("precious", encoding="utf-8")
        failed = segment("learn", "-o", tmp_path, text=TEXT, code=74)
        assert f"{tmp_path}: exists; name a new folder" in failed.stderr
        assert [f.name for f in tmp_path.iterdir()] == files
