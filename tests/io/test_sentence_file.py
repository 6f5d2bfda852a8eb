"""Sentences on disk against a dict."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.spill import SentenceFile, write_distinct

SENTENCE = st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.lists(SENTENCE, max_size=9), max_size=5))
def test_each_once_in_order_with_its_copies(tmp_path: Path, windows: list[list[str]]) -> None:
    counts = Counter(sentence for window in windows for sentence in window)
    found = write_distinct(tmp_path / "some", windows)
    assert list(found) == list(counts)
    assert found.copies().tolist() == list(counts.values())
    assert found.characters.tolist() == [len(sentence) for sentence in counts]
    assert found[1:-1] == list(counts)[1:-1]
    assert found[::2] == list(counts)[::2]
    assert list(SentenceFile(tmp_path / "some")) == list(counts)


def test_thousands_in_windows_of_any_size(tmp_path: Path) -> None:
    sentences = [f"sentence {number * number % 7919}" for number in range(20_000)]
    counts = Counter(sentences)
    digests = set()
    for size in (7, 4096, 20_000):
        windows = [sentences[first : first + size] for first in range(0, len(sentences), size)]
        found = write_distinct(tmp_path / str(size), windows)
        assert list(found) == list(counts)
        assert found.copies().tolist() == list(counts.values())
        digests.add(found.digest())
    assert len(digests) == 1
    assert write_distinct(tmp_path / "other", [sorted(sentences)]).digest() not in digests
    assert write_distinct(tmp_path / "more", [sentences, sentences[:1]]).digest() not in digests


def test_what_is_no_place(tmp_path: Path) -> None:
    found = write_distinct(tmp_path / "some", [["a", "b"]])
    for place in (2, -1):
        with pytest.raises(IndexError):
            found[place]
    assert found[5:] == []
    assert found[2:1] == []


def test_missing_or_damaged(tmp_path: Path) -> None:
    write_distinct(tmp_path / "some", [["one", "two"]])
    for name in ("some.starts", "some.copies"):
        kept = (tmp_path / name).read_bytes()
        for damaged in (
            kept[:-8],
            kept[:8] + bytes(8) + kept[16:] if name.endswith("starts") else b"",
        ):
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(InputError, match="damaged"):
                SentenceFile(tmp_path / "some").copies()
        (tmp_path / name).write_bytes(kept)
    (tmp_path / "some").write_text("one\n")
    with pytest.raises(InputError, match=r"some: its sentences are damaged"):
        SentenceFile(tmp_path / "some")
    (tmp_path / "some").unlink()
    with pytest.raises(NotFoundError, match="some"):
        SentenceFile(tmp_path / "some")
    with pytest.raises(NotFoundError, match="none"):
        SentenceFile(tmp_path / "none")
