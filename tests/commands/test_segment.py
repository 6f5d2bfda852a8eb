"""bitext-segment through its streams."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.segment import _KINDS, main
from bitextfilter.text.segment import SEGMENTERS

TEXT = "Das Haus\tthe house\nEin kleiner Baum\ta small tree\n" * 30


def bitext_segment(*words: str | Path, text: str | bytes = b"") -> Result:
    content = text.encode() if isinstance(text, str) else text
    return CliRunner().invoke(main, [str(word) for word in words], input=content)


def learnt(folder: Path, *options: str) -> Path:
    done = bitext_segment(
        "learn", "-q", "-o", folder, "--vocabulary-size", "60", *options, text=TEXT
    )
    assert (done.exit_code, done.output) == (0, "")
    return folder


def test_kinds_are_those_there_are() -> None:
    assert set(_KINDS) == set(SEGMENTERS)


@pytest.mark.parametrize("kind", _KINDS)
def test_join_undoes_apply(kind: str, tmp_path: Path) -> None:
    folder = learnt(tmp_path / "pieces", "--kind", kind)
    text = "Das  HAUS\r\n\nEin\u2028Baum, unseen: \u2581日本\n \u200b\nlast"
    normalised = "das haus\r\n\nein baum, unseen: _日本\n\nlast"
    cut = bitext_segment("apply", "-q", "--segmenter", folder, text=text)
    assert cut.exit_code == 0
    assert cut.stdout.count("\n") == text.count("\n")
    joined = bitext_segment("apply", "-q", "--segmenter", folder, "--join", text=cut.stdout_bytes)
    assert joined.stdout_bytes.decode() == normalised


def test_case_is_kept_if_asked_and_remembered(tmp_path: Path) -> None:
    folder = learnt(tmp_path / "pieces", "--keep-case", "--kind", "none")
    assert (
        bitext_segment("apply", "-q", "--segmenter", folder, text="Das Haus").stdout == "Das Haus"
    )


def test_bom_is_written_back(tmp_path: Path) -> None:
    folder = learnt(tmp_path / "pieces", "--kind", "none")
    done = bitext_segment("apply", "-q", "--segmenter", folder, text="\ufeffHaus\n")
    assert done.stdout_bytes == "\ufeffhaus\n".encode()


def test_files_are_learnt_from_together_and_the_same_each_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gz", tmp_path / "other.txt"
    one.write_bytes(gzip.compress(TEXT.encode()))
    other.write_text("Zebra crossing\n" * 30, encoding="utf-8")
    contents = []
    for name in ("first", "second"):
        manifest = tmp_path / f"{name}.json"
        done = bitext_segment(
            "learn", "--kind", "bpe", "-o", tmp_path / name, "--manifest", manifest, one, other
        )
        assert done.exit_code == 0
        assert json.loads(manifest.read_text(encoding="utf-8"))["counts"]["rows"] == 90
        contents.append({f.name: f.read_bytes() for f in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]
    assert (
        bitext_segment("apply", "-q", "--segmenter", tmp_path / "first", text="zebra haus").stdout
        == "▁zebra ▁haus"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"ok\nnot \xff\n", "stdin:2: the line is not UTF-8"), (b"a\0b\n", "stdin:1: NUL")],
)
def test_lines_that_are_not_text(text: bytes, message: str, tmp_path: Path) -> None:
    failed = bitext_segment("learn", "-o", tmp_path / "new", text=text)
    assert failed.exit_code == 65
    assert message in failed.stderr
    assert not (tmp_path / "new").exists()
    folder = learnt(tmp_path / "pieces")
    output = tmp_path / "out"
    failed = bitext_segment("apply", "--segmenter", folder, "-o", output, text=text)
    assert failed.exit_code == 65
    assert message in failed.stderr
    assert not output.exists()


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious", encoding="utf-8")
    failed = bitext_segment("learn", "-o", tmp_path, text=TEXT)
    assert (failed.exit_code, "name a new folder" in failed.stderr) == (74, True)
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    failed = bitext_segment("learn", "-o", tmp_path, text=TEXT)
    assert (failed.exit_code, list(tmp_path.iterdir())) == (74, [])
    assert f"{tmp_path}: exists; name a new folder" in failed.stderr
