"""Documents: lists, links and collections of them."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.documents import (
    DocumentStore,
    ListedDocument,
    link_line,
    read_collection,
    read_links,
)


def told(path: Path | str, text: bytes | None = None) -> list[str]:
    """The names of documents, and the messages of errors."""
    stream = None if text is None else io.BytesIO(text)
    return [
        found.name if isinstance(found, ListedDocument) else str(found)
        for found in read_collection(str(path), stream)
    ]


def test_folder_is_read_in_order_with_its_subfolders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/2.txt", "a/1/x.txt", "a/.git/x", "a/.hidden", "a/b.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("text\n")
    Path("a/1/up").symlink_to("..")
    Path("a/itself").symlink_to("itself")
    Path("a/nothing").symlink_to("missing")
    os.mkfifo("a/pipe")
    assert told("a/") == [
        "a/1/up: a folder that was read already; remove the link to it",
        "a/1/x.txt",
        "a/2.txt",
        "a/b.txt",
        "a/itself: neither a file nor a folder",
        "a/nothing: neither a file nor a folder",
        "a/pipe: neither a file nor a folder",
    ]


def test_names_that_break_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a\tb").write_text("text\n")
    assert "is no name of a document; rename it" in told(tmp_path)[0]


def test_lines_are_objects_or_paths(tmp_path: Path) -> None:
    text = (
        b'\xef\xbb\xbf{"id": "x", "text": "One.\\nTwo."}\n\n{"id": 7, "sentences": ["A."]}\n'
        b'{"id": "x", "text": "again"}\n{"id": "y"}\n{"text": "no"}\n{"id": true, "text": "t"}\n'
        b'{"id": "z", "sentences": ["a\\nb"]}\n{broken\npath.txt\r\n{"id": "e", "text": ""}\n'
        b'{"id": "a\\tb", "text": "t"}\n'
    )
    found = told("-", text)
    assert [found[0], found[1], found[8]] == ["x", "7", "path.txt"]
    for line, reason in enumerate(
        (
            *(":4: the document x stands twice", ":5: no text", ":6: no id", ":7: no id"),
            *(":8: a sentence of the sentences has a line end", ":9: no JSON"),
        ),
        start=2,
    ):
        assert found[line].startswith(f"stdin{reason}"), found[line]
    assert found[9] == "e"  # without any line
    assert "is no name of a document" in found[10]
    texts = [one.text for one in read_collection("-", io.BytesIO(text)) if hasattr(one, "text")]
    assert texts[:2] == [[b"One.\n", b"Two.\n"], [b"A.\n"]]


def test_missing_and_empty_collections(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot be opened"):
        told(tmp_path / "missing")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="no documents"):
        told(tmp_path / "empty")
    assert told(tmp_path / "..") != []


def test_store_keeps_distinct_documents(tmp_path: Path) -> None:
    documents = [["a"], ["b", "c"], ["a"], ["d", "e", "f"], ["bc"]]
    with DocumentStore(tmp_path / "store") as store:
        added = [store.add(f"n{n}", document) for n, document in enumerate(documents)]
    assert added == [True, True, False, True, True]
    assert store.names == [["n0", "n2"], ["n1"], ["n3"], ["n4"]]
    assert store.counts.tolist() == [1, 2, 3, 1]
    assert store.read(range(1, 3)) == [["b", "c"], ["d", "e", "f"]]
    assert store.read(range(0)) == []
    assert list(store.windows(3)) == [range(2), range(2, 3), range(3, 4)]
    assert list(store.windows(3, 2)) == [range(2, 3), range(3, 4)]
    with DocumentStore(tmp_path / "other") as other:
        other.add("n0", ["a"])
    assert store.digest() != other.digest()


def test_what_is_written_is_read() -> None:
    links = [((0,), (0, 1)), ((), (2,)), ((1, 2, 3), ())]
    lines = [link_line(*link, score) for link, score in zip(links, ("0.83", "", "-1"), strict=True)]
    assert lines == [b"[0]:[0,1]:0.83\n", b"[]:[2]:\n", b"[1,2,3]:[]:-1\n"]
    assert read_links(lines, "x") == links


def test_forms_of_others() -> None:
    text = [b"\xef\xbb\xbf[5]:[ 7, 6 ]\n", b"\n", b" [8] : [9]:0.5075\r\n", b"[10]:[]"]
    assert read_links(text, "x") == [((5,), (6, 7)), ((8,), (9,)), ((10,), ())]


@pytest.mark.parametrize("line", [b"0:0\n", b"[0]\n", b"[0]:[1,]\n", b"[-1]:[0]\n", b"[0]:[a]\n"])
def test_what_is_no_link(line: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_links([b"[0]:[0]\n", line], "gold.links")
    assert str(caught.value).startswith("gold.links:2: no link: ")
    assert "[0]:[0,1]" in str(caught.value)
