from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import Result
from console import invoke, says_one_line
from hypothesis import given, settings
from hypothesis import strategies as st

TMX = ("--languages", "en,de")


def call(*words: object, data: bytes | str = b"") -> Result:
    return invoke("bitext-convert", *words, data=data, code=None)


def made(*words: str | Path, data: bytes | str = b"") -> str:
    result = call("-q", *words, data=data)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout_bytes.decode()


@pytest.fixture
def moses(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "a.en", tmp_path / "a.de.gz"
    source.write_bytes("\ufeffone\r\n\nthree\u2028 \x85".encode())
    target.write_bytes(gzip.compress(b"eins\nzwei\ndrei\rx\n"))
    return source, target


ROWS = "one\teins\n\tzwei\nthree\u2028 \x85\tdrei\rx\n"


def test_moses_to_rows(moses: tuple[Path, Path]) -> None:
    assert made("--from", "moses", *moses) == ROWS
    assert made("--from", "moses", "--header", *moses) == "source\ttarget\n" + ROWS
    assert made("--from", "moses", "-", moses[1], data=moses[0].read_bytes()) == ROWS


def test_rows_to_moses(tmp_path: Path) -> None:
    source, target = tmp_path / "out.en.gz", tmp_path / "out.de"
    words = ("--to", "moses", "--scol", "2", "--tcol", "1", source, target)
    assert made(*words, data="\ufeffx\ta\t1\r\n\tb\t2\ny\t\t3") == ""
    assert gzip.decompress(source.read_bytes()) == b"a\nb\n\n"
    assert target.read_bytes() == b"x\n\ny\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.de", "out.en.gz"]


@pytest.mark.parametrize(("lines", "shorter"), [(2, 0), (4, 1)])
def test_files_of_unequal_length(
    moses: tuple[Path, Path], tmp_path: Path, lines: int, shorter: int
) -> None:
    moses[0].write_text("x\n" * lines)
    out, tmx = tmp_path / "out.tsv", tmp_path / "out.tmx"
    place, other = moses[shorter], moses[1 - shorter]
    message = f"{place}:{min(lines, 3)}: the last line, but {other} has more: "
    says_one_line(call("--from", "moses", *moses, "-o", out), 65, message)
    says_one_line(call("--from", "moses", "--to", "tmx", *TMX, *moses, "-o", tmx), 65, message)
    assert not out.exists() and not tmx.exists()
    moses[0].write_text("")
    message = f"{moses[0]}: empty, but {moses[1]} is not; bitext-align finds"
    says_one_line(call("--from", "moses", *moses), 65, message)


def test_bad_lines_of_either_file(moses: tuple[Path, Path], tmp_path: Path) -> None:
    moses[0].write_bytes(b"a\nb\xff\nc\tc\n")
    message = f"{moses[0]}:2: the line is not UTF-8 at its byte 2; --on-error reject"
    says_one_line(call("--from", "moses", *moses, "-o", tmp_path / "out"), 65, message)
    rejects = tmp_path / "bad.tsv"
    words = ("--on-error", "reject", "--rejects", rejects)
    result = call("--from", "moses", *moses, *words)
    assert (result.exit_code, result.stdout_bytes) == (0, b"a\teins\n")
    assert rejects.read_bytes() == (
        b"2\tthe line is not UTF-8 at its byte 2\tb\xff\tzwei\n"
        b"3\ta tab in the source\tc\tc\tdrei\rx\n"
    )
    assert "3 rows, 2 rejected, " in result.stderr


def test_tabs_and_line_breaks_inside(tmp_path: Path) -> None:
    line = json.dumps({"source": "a\tb \n c", "target": "\td\r"}) + "\n"
    message = "stdin:1: a tab in the source; --whitespace makes it a space; or --on-error reject"
    says_one_line(call("--from", "jsonl", data=line), 65, message)
    assert made("--from", "jsonl", "--whitespace", data=line) == "a b c\td\n"
    files = tmp_path / "en", tmp_path / "de"
    says_one_line(
        call("--from", "jsonl", "--to", "moses", *files, data=line),
        65,
        "stdin:1: a line break in the source; --whitespace",
    )
    assert made("--from", "jsonl", "--to", "moses", "--whitespace", *files, data=line) == ""
    assert [path.read_bytes() for path in files] == [b"a b c\n", b"d\n"]
    for text in ("b\r", "b\0"):
        line = json.dumps({"source": "a", "target": text})
        assert call("--from", "jsonl", data=line).exit_code == 65
    inside = json.dumps({"source": "a\r", "target": "b\rc"})
    assert made("--from", "jsonl", data=inside) == "a\r\tb\rc\n"


def test_columns_become_fields_under_their_names() -> None:
    rows = "id\ten\tde\tcosine\n1\ta\tb\t0.50\n2\tc\td\n3\te\tf\t0\textra\n"
    words = ("--to", "jsonl", "--header", "--scol", "en", "--tcol", "de")
    lines = [json.loads(line) for line in made(*words, data=rows).splitlines()]
    assert lines == [
        {"en": "a", "de": "b", "id": "1", "cosine": "0.50"},
        {"en": "c", "de": "d", "id": "2"},
        {"en": "e", "de": "f", "id": "3", "cosine": "0", "5": "extra"},
    ]
    (line,) = made("--to", "jsonl", "--fields", "t.x,t.y", data="a\tb\tc\n").splitlines()
    assert json.loads(line) == {"t": {"x": "a", "y": "b"}, "3": "c"}


def test_a_header_with_a_name_twice() -> None:
    message = "stdin:1: two columns are called 'x'"
    says_one_line(call("--to", "jsonl", "--header", data="x\ty\tx\n"), 65, message)


def test_a_column_that_is_not_utf_8(tmp_path: Path) -> None:
    rows = b"a\tb\t\xff\n"
    says_one_line(call("--to", "jsonl", data=rows), 65, "stdin:1: a column is not UTF-8; --on-e")
    assert made("--to", "moses", tmp_path / "en", tmp_path / "de", data=rows) == ""


def test_fields_become_columns(tmp_path: Path) -> None:
    line = '{"source": "a", "target": "b", "score": 0.50, "url": "u", "id": 1}\n'
    words = ("--from", "jsonl", "--header", "--keep", "id,score")
    result = call(*words, data=line)
    assert result.stdout == "source\ttarget\tid\tscore\na\tb\t1\t0.50\n"
    assert "left out: url (--keep NAME keeps one)" in result.stderr
    result = call("--from", "jsonl", "--to", "moses", tmp_path / "en", tmp_path / "de", data=line)
    assert "left out: id, score, url (moses files hold the texts alone)" in result.stderr


def test_memories(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx.gz"
    rows = "a & b\tä\t0.5\n\t\t\n"
    assert made("--to", "tmx", *TMX, "-o", memory, data=rows) == ""
    words = ("--from", "tmx", *TMX, "--keep", "3", memory)
    assert made(*words) == rows
    assert made(*words, "--header") == "en\tde\t3\n" + rows
    assert made(*words, "--to", "jsonl").splitlines()[0] == (
        '{"source": "a & b", "target": "ä", "3": "0.5"}'
    )
    both = tmp_path / "out.de", tmp_path / "out.en"
    assert made("--from", "tmx", "--languages", "de,en", "--to", "moses", memory, *both) == ""
    assert [path.read_text(encoding="utf-8") for path in both] == ["ä\n\n", "a & b\n\n"]


def test_units_of_a_memory_are_rejected_and_counted(tmp_path: Path) -> None:
    rejects = tmp_path / "bad.tsv"
    units = "".join(
        f'<tu>\n<tuv xml:lang="{code}"><seg>{text}</seg></tuv>'
        '<tuv xml:lang="de"><seg>x</seg></tuv></tu>'
        for code, text in [("en", "a\nb"), ("fr", "c"), ("en-GB", "d")]
    )
    data = f"<tmx><body>\n{units}</body></tmx>"
    words = ("--from", "tmx", *TMX, "--on-error", "reject", "--rejects", rejects)
    result = call(*words, data=data)
    assert (result.exit_code, result.stdout) == (0, "d\tx\n")
    assert rejects.read_bytes() == b'2\ta line break in the source\t["a\\nb", "x"]\n'
    assert "2 rows, 1 rejected, 1 skipped, " in result.stderr
    assert made("--from", "tmx", *TMX, "--whitespace", data=data) == "a b\tx\nd\tx\n"


@pytest.mark.parametrize("words", ["a.tsv", "a.tsv b.jsonl", "-i a.csv -o b.csv.gz", "a.txt"])
def test_a_missing_file_is_told_before_its_format(tmp_path: Path, words: str) -> None:
    given = [str(tmp_path / word) if "." in word else word for word in words.split()]
    says_one_line(call(*given), 66, f"{given[-3 if '-o' in given else 0]}: cannot be opened")
    for name in ("a.tsv", "a.txt", "a.csv"):
        (tmp_path / name).touch()
    says_one_line(call(*given), 2, " changes nothing; --to, or the name after -o, tells the format")


WIDE = {
    "csv": "a house,ein Haus\n",
    "jsonl": '{"source": "a", "target": "x"}\n',
    "po": 'msgid "a"\nmsgstr "x"\n',
    "tsv": "a house\tein Haus\n",
    "srt": "00:01,0 --> 00:02,0\na\n",
}


@pytest.mark.gate(8)
@pytest.mark.parametrize("code", ["UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32"])
@pytest.mark.parametrize("form", WIDE)
def test_a_file_in_utf_16_is_told_with_its_remedy(tmp_path: Path, form: str, code: str) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(WIDE[form].encode(code))
    words = [path, path] if form == "srt" else ["--to", "csv" if form == "tsv" else "tsv", path]
    if (form, code) == ("srt", "UTF-16"):  # which subtitles may be in
        assert made(*words) == "a\ta\n"
        return
    said = f"; the file is in {code[:6]}: iconv -f {code} -t UTF-8 converts it"
    says_one_line(call(*words), 65, said)
    if form in ("tsv", "csv"):
        says_one_line(
            call("--header", *words), 65, f" the header {'is' if form == 'tsv' else 'ha'}"
        )


TMX_FILE = (
    '<tmx version="1.4"><header srclang="en"/><body>\n'
    '<tu><tuv xml:lang="de"><seg>x</seg></tuv><tuv xml:lang="en-GB"><seg>a</seg></tuv></tu>\n'
    '<tu><tuv xml:lang="ger"><seg>y</seg></tuv><tuv xml:lang="en"><seg>b</seg></tuv>'
    '<tuv xml:lang="en-US"><seg>c</seg></tuv></tu></body></tmx>'
)
FILES = {
    "a.tmx": TMX_FILE,
    "a.csv": "a,x\n",
    "a.jsonl": '{"source": "a", "target": "x"}\n',
    "a.po": 'msgid "a"\nmsgstr "x"\n',
    "a.xlf": "<xliff><segment><source>a</source><target>x</target></segment></xliff>",
    "corpus.en-de.tsv": "a\tx\n",
    "a.en": "a\n",
    "a.de": "x\n",
    "a.en.srt": "00:01,0 --> 00:02,0\na\n",
    "a.de.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nx\n",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
        Path(f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    "names", ["a.csv", "a.jsonl", "a.po", "a.xlf", "a.en a.de", "a.en.srt a.de.vtt"]
)
def test_names_tell_the_formats(files: Path, names: str, packed: str) -> None:
    paths = [name + packed for name in names.split()]
    assert made(*paths) == "a\tx\n"
    if len(paths) == 1:
        assert made("-i", *paths) == "a\tx\n"
    assert made(*paths, "-o", f"o.tmx{packed}", *TMX) == ""
    assert made(f"o.tmx{packed}") == "a\tx\n"


def test_written_names_tell_the_formats(files: Path) -> None:
    assert made("corpus.en-de.tsv", "-o", "o.jsonl") == ""
    assert made("-o", "p.JSONL.gz", data="a\tx\n") == ""
    assert Path("o.jsonl").read_bytes() == gzip.decompress(Path("p.JSONL.gz").read_bytes())
    assert made("corpus.en-de.tsv", "o.en", "o.de") == ""
    assert (Path("o.en").read_text(), Path("o.de").read_text()) == ("a\n", "x\n")
    assert made("-i", "a.csv", "p.en", "p.de") == made("a.en.srt", "a.de.vtt", "q.en", "q.de") == ""
    assert Path("p.de").read_text() == Path("q.de").read_text() == "x\n"


def test_options_win_over_names(files: Path) -> None:
    Path("rows.csv").write_text("a\tx\n")
    assert made("--from", "tsv", "--to", "jsonl", "rows.csv").startswith('{"source": "a"')
    assert made("--to", "csv", "-o", "o.tsv", "corpus.en-de.tsv") == ""
    assert Path("o.tsv").read_bytes() == b"a,x\r\n"
    assert made("--to", "moses", "o.en", "o.de", data="a\tx\n") == ""
    assert made("--to", "moses", "a.csv", "o.en", "o.de") == ""
    assert Path("o.de").read_text() == "x\n"


def test_two_files_of_other_names_are_moses_and_that_is_told(files: Path) -> None:
    result = call("a.en", "a.de")
    assert (result.exit_code, result.stdout) == (0, "a\tx\n")
    assert result.stderr.splitlines()[0] == (
        "bitext-convert: a.en, a.de are read as moses, line by line (--from names another format)"
    )
    message = "stdin:1: 1 column, expected at least 2 (--tcol 2); --from tmx reads this format"
    says_one_line(call("--to", "csv", data=TMX_FILE), 65, message)
    says_one_line(call("a.en", "no.de"), 66, "no.de: cannot be opened")


def test_the_languages_of_a_memory_with_two(files: Path) -> None:
    result = call("a.tmx", "--header")
    assert (result.exit_code, result.stdout) == (0, "en\tde\na\tx\nb\ty\n")
    assert "en is the source, de the target (--languages)" in result.stderr
    assert "left out: further texts of a unit in en-US (--variants all makes" in result.stderr
    assert "2 rows, 0 rejected, 0 skipped, 1 further variants, " in result.stderr
    assert made("a.tmx", "--variants", "all") == "a\tx\nb\ty\nc\ty\n"
    assert made("a.tmx", "--languages", "ger,en_us", "--to", "jsonl").count("\n") == 1
    data = TMX_FILE.replace("en-US", "fr")
    assert call("--from", "tmx", "-o", "o.tsv", data=data).stderr == (
        "bitext-convert: stdin:3: a third language: de, en, fr;"
        " --languages SOURCE,TARGET names two\n"
    )
    assert not Path("o.tsv").exists()


def test_skipped_units_are_told_by_their_languages(files: Path) -> None:
    assert call("a.tmx", "--languages", "en-GB,de").stdout == "a\tx\nb\ty\n"
    result = call("a.tmx", "--languages", "en-AU,de-AT")
    assert (result.exit_code, result.stdout) == (0, "b\ty\n")
    assert "bitext-convert: skipped: 1 in " in result.stderr


def test_a_damaged_memory(files: Path) -> None:
    Path("d.tmx").write_text(TMX_FILE.replace("x</seg>", "x"))
    message = "d.tmx:2: not well-formed XML: mismatched tag; --on-error reject --rejects FILE"
    says_one_line(call("d.tmx", "-o", "o.tsv"), 65, message)
    assert not Path("o.tsv").exists()
    words = ("--on-error", "reject", "--rejects", "bad")
    result = call("d.tmx", *words)
    assert (result.exit_code, result.stdout) == (0, "b\ty\n")
    assert Path("bad").read_text() == "2\tnot well-formed XML: mismatched tag\t\n"
    assert "2 rows, 1 rejected, 0 skipped" in result.stderr
    assert call("d.tmx", *words, "--max-bad", "0").exit_code == 65


@pytest.mark.parametrize(
    ("suffix", "text"),
    [("gz", "a\tb\n"), ("bz2", "some\trow\n" * 50), ("xz", "a"), ("zst", "a"), ("zst", "a\tb\n")],
)
def test_a_file_that_is_not_packed_as_its_name_says(tmp_path: Path, suffix: str, text: str) -> None:
    for name in ("a.tsv", "a.tmx", "a.srt"):
        path = tmp_path / f"{name}.{suffix}"
        path.write_text(text)
        paths = [path] * (2 if name == "a.srt" else 1)
        called = {"gz": "gzip", "bz2": "bzip2", "zst": "zstd"}.get(suffix, suffix)
        message = f"{path}: not {called}, as its name says; rename it without .{suffix}"
        says_one_line(call("--to", "jsonl", *paths), 65, message)


def test_a_file_that_is_packed_otherwise_than_its_name_says(tmp_path: Path) -> None:
    packed = gzip.compress(b"a\tb\n")
    path = tmp_path / "a.tsv.xz"
    path.write_bytes(packed)
    message = f"{path}: not xz, as its name says; it is gzip: rename it to .gz"
    says_one_line(call("--to", "jsonl", path), 65, message)
    message = "it is gzip: unpack it, or let its name end in .gz"
    says_one_line(call("--to", "jsonl", data=packed), 65, message)


PIECES = [b"a", b"\t", b"\n", b"\r", b'{"source": "a", "target": "b"}', b"\xff", b"\0", b"<tu>"]


@settings(max_examples=20)
@given(st.lists(st.sampled_from(PIECES)).map(b"".join))
def test_nothing_is_lost_whatever_comes_in(data: bytes) -> None:
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    for words in (["--to", "jsonl"], ["--from", "jsonl"]):
        with TemporaryDirectory() as folder:
            bad = Path(folder) / "bad"
            result = call(*words, "--on-error", "reject", "--rejects", bad, data=data)
            assert result.exit_code == 0
            rejected = bad.read_bytes().count(b"\n")
            assert result.stdout_bytes.count(b"\n") + rejected == lines
            assert result.stderr.startswith("bitext-convert: ")
    assert call("--from", "tmx", *TMX, data=data).exit_code == 65
