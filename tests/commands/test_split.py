"""bitext-split: every row in one file, byte for byte, and no text in two."""

from __future__ import annotations

import gzip
from itertools import chain
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke

from bitextfilter.commands import split

NAMES = ("dev", "test", "train")
ROWS = [
    f"sentence {chr(97 + n % 23)}{chr(97 + n % 19)}\tSatz {chr(97 + n % 17)}{chr(97 + n % 13)}\t"
    f"d{n // 10}\n".encode()
    for n in range(600)
]
DATA = b"".join(ROWS)


def call(
    folder: Path, *words: str, data: bytes = DATA, pattern: str = "@/{}.tsv", code: int = 0
) -> Result:
    words = tuple(word.replace("@", str(folder)) for word in ("-o", pattern, *words))
    return invoke(split.main, *words, data=data, code=code)


def files(folder: Path) -> dict[str, list[bytes]]:
    return {
        path.name: path.read_bytes().splitlines(keepends=True) for path in sorted(folder.iterdir())
    }


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ("--part dev=10% --part test=20% --by source", (0,)),
        ("--part dev=60 --part test=20% --by source --match exact", (0,)),
        ("--part dev=100 --part test=50 --by none --group 3", (2,)),
        ("--part dev=20% --part test=10% --by none --group -1 --batch-size 7", (2,)),
        ("--part dev=30% --part test=10% --by target", (1,)),
        ("--part dev=10% --part test=20% --by pair", ()),
    ],
)
def test_rows_keep_bytes_and_order_and_no_text_is_in_two_parts(
    tmp_path: Path, words: str, columns: tuple[int, ...]
) -> None:
    result = call(tmp_path, *words.split())
    parts = files(tmp_path)
    assert list(parts) == [f"{name}.tsv" for name in NAMES]
    assert all(parts.values()) and sorted(chain(*parts.values())) == sorted(ROWS)
    for rows in parts.values():
        assert rows == [row for row in ROWS if row in rows]
    for column in columns:
        texts = [{row[:-1].split(b"\t")[column] for row in rows} for rows in parts.values()]
        assert sum(map(len, texts)) == len(set.union(*texts))
    counts = [f"{len(rows)} in {name[:-4]}" for name, rows in parts.items()]
    assert f"600 rows, 0 rejected, {', '.join(counts)}, " in result.stderr


def test_by_either_all_rows_that_hang_together_are_one_group(tmp_path: Path) -> None:
    data = b"a\tx\nb\tx\nb\ty\nc\tz\nd\tz!\ne\tw\n"
    result = call(tmp_path, "--part", "dev=3", "--rest", "rest", data=data)
    assert "6 rows are 3 groups, of at most 3 rows" in result.stderr
    dev = files(tmp_path)["dev.tsv"]
    assert dev in ([b"a\tx\n", b"b\tx\n", b"b\ty\n"], [b"c\tz\n", b"d\tz!\n", b"e\tw\n"])
    result = call(tmp_path, "--part", "dev=5", data=data * 5)
    assert "warning: 5 rows are in dev" not in result.stderr
    result = call(tmp_path, "--part", "dev=4", data=data * 5)
    assert "warning: 0 rows are in dev, not 4: no further group fits" in result.stderr


def test_heads_and_endings_and_compression(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfen\tde\tdoc\r\n" + DATA.replace(b"\n", b"\r\n")[:-2]
    words = ("--header", "--scol", "en", "--tcol", "de", "--part", "dev=10%", "--by", "source")
    call(tmp_path, *words, data=data, pattern="@/{}.tsv.gz")
    parts = [gzip.decompress((tmp_path / f"{name}.tsv.gz").read_bytes()) for name in NAMES[::2]]
    head = b"\xef\xbb\xbfen\tde\tdoc\r\n"
    assert all(part.startswith(head) for part in parts)
    rows = b"".join(part.removeprefix(head) + b"\r\n" * (part[-1:] != b"\n") for part in parts)
    assert sorted(rows.splitlines()) == sorted(DATA.splitlines())


def test_the_same_file_twice_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_bytes(DATA)
    said = call(tmp_path, "--part", "dev=1%", "-i", "@/dev.tsv", code=2).stderr
    assert "--output needs a file of its own" in said
    assert files(tmp_path) == {"dev.tsv": ROWS}
