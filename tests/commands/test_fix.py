from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke
from hypothesis import given, settings
from hypothesis import strategies as st


def call(*words: object, data: bytes | str = b"") -> Result:
    return invoke("bitext-fix", *words, "--threads", "1", data=data)


def fixed(*words: str, data: bytes | str) -> str:
    result = call("-q", *words, data=data)
    assert result.stderr == ""
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
    def seen(data: str) -> list[str]:
        words = ["-q", "--one", "und", "--rule", "bad-encoding", "--explain", "--threads", "1"]
        result = invoke("bitext-filter", *words, data=data)
        assert result.stderr == ""
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
    call("--manifest", manifest, data=data)
    counts = json.loads(manifest.read_text())["counts"]
    assert (
        " ".join(counts) == "rows rejected changed entities mojibake control invisible spaces nfc"
    )
    assert [*counts.values()] == [3, 0, 2, 1, 0, 0, 0, 2, 0]


@pytest.mark.usefixtures("workers_at_once")
def test_processes_and_windows_change_nothing(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{n}  MÃ¼ller\tx  {n}\n" for n in range(50)), encoding="utf-8")
    one = invoke("bitext-fix", "-i", pairs, "--threads", 1)
    two = invoke("bitext-fix", "-i", pairs, "--threads", 2, "--batch-size", 7)
    assert one.stdout_bytes == two.stdout_bytes
    assert one.stdout.startswith("0 Müller\tx 0\n1 Müller\tx 1\n")


PIECES = [b"a", b" ", b"\t", b"\n", b"\r", b"\xc3", b"\xbc", b"&", b"amp;"]
BYTES = st.lists(st.sampled_from(PIECES)).map(b"".join)


@settings(max_examples=30)
@given(st.binary(max_size=60) | BYTES)
def test_one_line_for_each_line_whatever_comes_in(data: bytes) -> None:
    words = ("-q", "--on-error", "reject")
    once = call(*words, data=data)
    assert once.stderr == ""
    assert once.stdout_bytes.count(b"\n") == data.count(b"\n")
    assert once.stdout_bytes.count(b"\t") == data.count(b"\t")
    assert call(*words, data=once.stdout_bytes).stdout_bytes == once.stdout_bytes
