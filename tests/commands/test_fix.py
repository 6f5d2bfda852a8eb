from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.commands import fix


def call(*words: str | Path, data: bytes | str = b"") -> Result:
    data = data.encode() if isinstance(data, str) else data
    return CliRunner().invoke(fix.main, [*map(str, words), "--threads", "1"], input=data)


def fixed(*words: str, data: bytes | str) -> str:
    result = call("-q", *words, data=data)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout_bytes.decode()


def test_only_the_text_columns_change() -> None:
    row = "0.5  \tMÃ¼ller\t caf&eacute;\u2028ici \t x &amp; \r\n"
    assert fixed("--scol", "2", "--tcol", "-2", data=row) == (
        "0.5  \tMüller\tcafé ici\t x &amp; \r\n"
    )


def test_bom_header_and_names() -> None:
    data = "\ufefften &amp;\ten\tde\na  b\ta  b\tc  d"
    words = ("--header", "--scol", "en", "--tcol", "de")
    assert fixed(*words, data=data) == "\ufefften &amp;\ten\tde\na  b\ta b\tc d"
    assert fixed(*words, "--explain", data=data) == (
        "\ufefften &amp;\ten\tde\trepairs\na  b\ta b\tc d\tspaces(source) spaces(target)"
    )


def test_explain_names_the_repairs_of_each_side() -> None:
    data = "MÃ¼ller\u00ads\t a\nb\tc\r\n"
    assert fixed("--explain", data=data) == (
        "Müllers\ta\tmojibake(source) invisible(source) spaces(target)\nb\tc\t\r\n"
    )


def test_repairs_are_chosen() -> None:
    data = "“a”\tb  c\n"
    assert fixed("--with", "quotes", data=data) == '"a"\tb c\n'
    assert fixed("--with", "quotes", "--without", "spaces", data=data) == '"a"\tb  c\n'
    assert fixed("--only", "quotes", data=data) == '"a"\tb  c\n'
    assert fixed("--only", "quotes", "--only", "spaces", data=data) == '"a"\tb c\n'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "magic"), "'magic' is not one of 'entities', 'mojibake'"),
        (("--only", "nfc", "--with", "quotes"), "--only cannot be combined"),
        (("--only", "nfc", "--without", "quotes"), "--only cannot be combined"),
    ],
)
def test_repairs_that_there_are_not(words: tuple[str, ...], message: str) -> None:
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_languages_of_the_sides() -> None:
    data = "LÃ–SUNG\tLÃ–SUNG\n"
    assert fixed(data=data) == data
    assert fixed("--languages", "de-AT,pt_BR", data=data) == "LÖSUNG\tLÃ–SUNG\n"
    assert fixed("--languages", "nob,sr-Latn", data=data) == data
    russian = "ÐŸÑ€Ð¸Ð²ÐµÑ‚\tÐŸÑ€Ð¸Ð²ÐµÑ‚\n"
    assert fixed("--languages", "zh_Hans,rus", data=russian) == "ÐŸÑ€Ð¸Ð²ÐµÑ‚\tПривет\n"


def test_texts_of_one_language() -> None:
    data = "\ufeffLÃ–SUNG\tx  y\r\n\n a &amp; b\tc"
    assert fixed("--one", "de", "--explain", data=data) == (
        "\ufeffLÖSUNG\tx y\tmojibake spaces\r\n\t\na & b\tc\tentities spaces"
    )
    assert fixed("--one", "de", "--column", "2", data="a  b\tc  d\n") == "a  b\tc d\n"
    words = ("--one", "und", "--header", "--column", "de", "--explain")
    assert fixed(*words, data="de\na  b\n") == "de\trepairs\na b\tspaces\n"


def test_bad_texts_of_one_language_pass_through() -> None:
    words = ("--one", "de", "--column", "2", "--on-error", "reject", "--explain")
    result = call(*words, data=b"a\nx\ty  z\nx\t\xff\n")
    assert result.stdout_bytes == b"a\t\nx\ty z\tspaces\nx\t\xff\t\n"
    assert "3 rows, 2 rejected, 1 changed, " in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--column", "2"), "--column is for --one"),
        (("--one", "de", "--languages", "de,en"), "--languages is for pairs: --one names"),
        (("--one", "de", "--scol", "2"), "--scol and --tcol are for pairs: --one has --column"),
        (("--one", "xx"), "'xx' is not the code of a language"),
        (("--languages", "de,xx"), "'xx' is not the code of a language"),
    ],
)
def test_languages_that_contradict_or_are_unknown(words: tuple[str, ...], message: str) -> None:
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


DAMAGED = """ÄeskÃ½ dÅ¯m stojÃ­ na nÃ¡mÄstÃ­.
DÃ­vka vÄera veÄer Åekla ano.
LâÃ©cole est fermÃ©e ; elle a dit Â« non Â».
ÐÑÐ¸Ð²ÐµÑ, ÐºÐ°Ðº ÑÐ²Ð¾Ð¸ Ð´ÐµÐ»Ð° ÑÐµÐ³Ð¾Ð´Ð½Ñ?
Das MÃ¤dchen sagte âneinâ â wirklich.
Gr��e  aus KÃ¶ln
DrÃ¥ber – nyt
Right text with «MAÇÃ».
"""


def test_what_a_filter_drops_it_drops_after_repairs_unless_they_mend_all(tmp_path: Path) -> None:
    from bitextfilter.commands import filter as filter_command

    def seen(data: str) -> list[str]:
        words = ["-q", "--one", "und", "--rule", "bad-encoding", "--explain", "--threads", "1"]
        result = CliRunner().invoke(filter_command.main, words, input=data.encode())
        assert (result.exit_code, result.stderr) == (0, "")
        lines = result.stdout_bytes.decode().splitlines()
        return [line.split("\t")[0] for line in lines if not line.endswith("\tkeep")]

    repaired = fixed("--one", "und", data=DAMAGED)
    assert seen(DAMAGED) == DAMAGED.splitlines()[:-1]
    assert seen(repaired) == DAMAGED.splitlines()[:-2]
    assert repaired.splitlines()[-2:] == ["Dråber – nyt", "Right text with «MAÇÃ»."]


def test_blank_sides_and_blank_rows() -> None:
    assert fixed(data="\tb\n \t\n&nbsp;\tc\n") == "\tb\n\t\n\tc\n"


def test_counts_are_of_rows(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    data = "a  b\tc  d\na  b\t&amp;\na\tb\n"
    assert call("--manifest", manifest, data=data).exit_code == 0
    assert json.loads(manifest.read_text())["counts"] == {
        "rows": 3,
        "rejected": 0,
        "changed": 2,
        "entities": 1,
        "mojibake": 0,
        "control": 0,
        "invisible": 0,
        "spaces": 2,
        "nfc": 0,
    }


@pytest.mark.usefixtures("workers_at_once")
def test_processes_and_windows_change_nothing(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{n}  MÃ¼ller\tx  {n}\n" for n in range(50)), encoding="utf-8")
    one = CliRunner().invoke(fix.main, ["-i", str(pairs), "--threads", "1"])
    two = CliRunner().invoke(fix.main, ["-i", str(pairs), "--threads", "2", "--batch-size", "7"])
    assert one.exit_code == two.exit_code == 0
    assert one.stdout_bytes == two.stdout_bytes
    assert one.stdout.startswith("0 Müller\tx 0\n1 Müller\tx 1\n")


PIECES = [b"a", b" ", b"\t", b"\n", b"\r", b"\xc3", b"\xbc", b"&", b"amp;"]
BYTES = st.lists(st.sampled_from(PIECES)).map(b"".join)


@settings(max_examples=60)
@given(st.binary(max_size=60) | BYTES)
def test_one_line_for_each_line_whatever_comes_in(data: bytes) -> None:
    words = ("-q", "--on-error", "reject")
    once = call(*words, data=data)
    assert (once.exit_code, once.stderr) == (0, "")
    assert once.stdout_bytes.count(b"\n") == data.count(b"\n")
    assert once.stdout_bytes.count(b"\t") == data.count(b"\t")
    assert call(*words, data=once.stdout_bytes).stdout_bytes == once.stdout_bytes
