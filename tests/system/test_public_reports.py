"""Difficulties that people report of tools for parallel text, on small inputs of our own.

Each line is run in a folder with the files of its case. The commands of a line run one after the
other, each on the output of the one before.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from console import command


class Outcome(NamedTuple):
    """What a line printed, and the exit code of its last command."""

    out: str
    err: str
    code: int

    @property
    def rows(self) -> list[str]:
        """The lines of stdout."""
        return self.out.split("\n")[:-1]


class Desk:
    """Runs lines in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files by name."""
        for name, data in files.items():
            (self.folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())

    def __call__(self, line: str, data: str | bytes = b"") -> Outcome:
        """Run the commands of a line; the first reads *data*."""
        read, err, code = data.encode() if isinstance(data, str) else data, "", 0
        for part in line.split(" | "):
            name, *words = shlex.split(part)
            done = CliRunner().invoke(command(name), words, input=read)
            if done.exception and not isinstance(done.exception, SystemExit):
                raise done.exception
            read, err, code = done.stdout_bytes, err + done.stderr, done.exit_code
        return Outcome(read.decode(), err, code)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


def lines(*rows: str) -> str:
    """Rows of text as a file: ``/`` with spaces around it stands for a tab."""
    return "".join(row.replace(" / ", "\t") + "\n" for row in rows)


# Formats


def test_a_tab_within_a_line_of_moses_is_no_third_column(desk: Desk) -> None:
    desk.write({"a.is": "Halló,\theimur.\nBless.\n", "a.en": "Hello, world.\nBye.\n"})
    stopped = desk("bitext-convert --from moses a.is a.en")
    assert stopped.code == 65 and "a.is" in stopped.err and "--whitespace" in stopped.err
    mended = desk("bitext-convert --from moses --whitespace a.is a.en")
    assert mended.rows == ["Halló, heimur.\tHello, world.", "Bless.\tBye."]
    pasted = desk(
        "bitext-filter --languages is,en", "Halló,\theimur.\tHello, world.\nBless.\tBye.\n"
    )
    assert "columns" in pasted.err and "warning" in pasted.err


UNIT = '<tu><tuv xml:lang="{0}"><seg>{1}</seg></tuv><tuv xml:lang="{2}"><seg>{3}</seg></tuv></tu>\n'


def tmx(*units: str, source: str = "en") -> str:
    """A TMX file of units: ``en Yes / nl Ja``, or XML as it is."""
    made = [
        unit if unit.startswith("<") else UNIT.format(*unit.replace(" / ", " ").split(" ", 3))
        for unit in units
    ]
    head = f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="{source}"/><body>\n'
    return head + "".join(made) + "</body></tmx>\n"


def test_quotes_of_csv_mean_nothing_in_a_tsv(desk: Desk) -> None:
    rows = lines('A 5" nail. / Een spijker van 5".', '"Open / "Openen', "It's / Het's")
    assert desk("bitext-filter -q --languages en,nl --without language", rows).out == rows
    for kind in ("csv", "jsonl"):
        back = f"bitext-convert -q --to {kind} | bitext-convert -q --from {kind}"
        assert desk(back, rows).out == rows


def test_a_file_that_is_not_packed_as_its_name_says(desk: Desk) -> None:
    desk.write({"a.tsv.gz": b"Yes.\tJa.\n" * 9, "b.tsv.gz": b"A\tB"})
    for name in ("a.tsv.gz", "b.tsv.gz"):
        for tool in ("bitext-filter", "bitext-dedup", "bitext-convert --to jsonl"):
            refused = desk(f"{tool} -i {name}")
            assert refused.code == 65 and "gzip" in refused.err and name in refused.err


def test_lines_end_at_line_feeds_alone(desk: Desk) -> None:
    desk.write(
        {
            "a.en": "One\u2028line.\n\nForm\x0cfeed.\n",
            "a.nl": "Een\u2028regel.\n\nX\x0cY.\n",
            "b.nl": "Een.\n",
        }
    )
    assert len(desk("bitext-convert a.en a.nl").rows) == 3
    short = desk("bitext-convert a.en b.nl")
    assert short.code == 65 and "b.nl" in short.err


# Rules


GOOD = {
    "en,zh": lines(
        "Stop! / 停！", "Who is it? / 谁？", "Good. / 好。", "Yes / 是", "Go! / 走！", "No! / 不！",
        "Come in. / 请进。",
    ),
    "en,ja": lines("Thanks. / どうも。", "What? / 何？", "I see. / なるほど。"),
    "en,tr": lines(
        "I will not be able to come with you. / Gelemeyeceğim.",
        "Are you one of those we could not make like us? / Bizleştiremediklerimizden misin?",
        "You should have told me. / Söylemeliydin.",
    ),
    "en,fi": lines("I wonder if I should also dance a little. / Tanssahtelisinkohan?",
        "Would you not sit down, too? / Istahtaisitko?"),
    "en,hu": lines("I can hardly hear you at all. / Alighallak.",
        "May I help you with it? / Segíthetek?"),
    "en,de": lines(
        "Bye bye bye! / Tschüss, tschüss, tschüss!", "No, no, no, no! / Nein, nein, nein, nein!",
        "Visit www.example.org today. / Besuchen Sie heute www.example.org!",
        "Write to info@example.org now. / Schreiben Sie jetzt an info@example.org.",
        "See (https://example.org/a_(b)). / Siehe (https://example.org/a_(b)).",
        "OK. / Gut.", "Why? / Warum?", "Hello there / Hallo",
    ),
    "en,ru": lines("Ha ha ha ha! / Ха-ха-ха-ха!", "Yes. / Да.", "Oh! / Ой!"),
    "en,nl": "Trailing space. \tSpatie achteraan. \n",
}  # fmt: skip


@pytest.mark.parametrize("languages", GOOD)
def test_short_right_rows_pass_the_default_rules(desk: Desk, languages: str) -> None:
    found = desk(f"bitext-filter -q --languages {languages} --explain", GOOD[languages])
    assert [row for row in found.rows if not row.endswith("\tkeep")] == []


def test_numbers_in_other_scripts(desk: Desk) -> None:
    rows = lines(
        "In 1945 / 一九四五年", "In 2001 / 二〇〇一年",
        "About ½ of it / Etwa 1/2 davon", "Drink H₂O / Trinkt H2O",
        "Drink H₂O / Trinkt Wasser", "1½ hours / 1,5 Stunden", "30 m² / 30 Quadratmeter",
        "On 11 September 2001 / 2001年9月11日",
        "250 / २५०",
    )  # fmt: skip
    found = desk("bitext-filter -q --rule numbers --explain", rows)
    assert [row for row in found.rows if not row.endswith("\tkeep")] == []
    wrong = lines("In 1945 / 一九四六年", "About ½ of it / Etwa 1/3 davon", "250 / २५१")
    assert desk("bitext-filter -q --rule numbers", wrong).rows == []


def test_addresses_that_agree(desk: Desk) -> None:
    rows = lines(
        "See https://example.org/en/help. / Siehe https://example.org/de/help.",
        "See http://example.org / Siehe https://example.org/",
    )
    assert desk("bitext-filter -q --rule web-addresses --rule email-addresses", rows).out == rows


def test_when_no_row_is_left_every_command_ends_well(desk: Desk) -> None:
    line = (
        "bitext-filter --languages en,de | bitext-dedup | bitext-score | bitext-rank --top-lines 5"
    )
    done = desk(line, "12345\t67890\n")
    assert (done.code, done.out) == (0, "")
    assert "drops every row" in done.err


# Repairs


RIGHT = lines(
    "«MAÇÃ». / APPLE.", "Na “IRMÔ não há nada. / X.", "A “MANHÔ – É A LÃ”. / X.", "O AMANHÃ… / X.",
    "„JÁ“ a “JÔ / X.", "«CÔTÉ», dit-il / X.", "“TẠI SAO ÔNG À” / X.", "Es kostet 5 £ – „MÂ“ / X.",
    "12.05.2019, 3:45 / X.", "👩‍👩‍👧 familia / X.",
)  # fmt: skip


def test_right_text_is_left_alone(desk: Desk) -> None:
    rows = "\n".join(row for row in RIGHT.split("\n") if "Ô" not in row)
    assert desk("bitext-fix -q", rows).out == rows


def test_a_letter_read_differently_by_two_encodings_is_left(desk: Desk) -> None:
    rows = lines("x / Das Buch fĂźr MĂźller", "x / EspaĂąa", "x / KĂśln", "x / fÃŒr", "x / spÃ€ter")
    assert desk("bitext-fix -q", rows).out == rows
    assert desk("bitext-filter -q --rule bad-encoding", rows).out == ""


def test_a_rare_letter_is_no_usual_one_of_another_encoding(desk: Desk) -> None:
    rows = lines("x / A Ć™arshe ya ce", "x / Ć´an sandan jihar")
    assert desk("bitext-fix -q", rows).out == rows


def test_damage_written_small_afterwards_is_not_hidden(desk: Desk) -> None:
    rows = lines("x / ce nâ€™est pas lâ€™ã©cole", "x / MÃ¼ller und mã¼ller")
    assert desk("bitext-fix -q | bitext-filter -q --rule bad-encoding", rows).out == ""


# Deduplication


DIFFERENT = lines(
    "Born in 1990. / Geboren 1990.", "Born in 2005. / Geboren 2005.",
    "I write C. / Ich schreibe C.",
    "I write C++. / Ich schreibe C++.", "I write C#. / Ich schreibe C#.",
    "It is 5 %. / Es sind 5 %.", "It is 5. / Es sind 5.",
    "-5 / minus 5", "+5 / plus 5", "ข้าว / Reis", "ข่าว / Nachricht", "😀 / 😀", "😡 / 😡",
)  # fmt: skip


def test_rows_that_differ_in_meaning_are_no_duplicates(desk: Desk) -> None:
    assert desk("bitext-dedup -q --match normalised", DIFFERENT).out == DIFFERENT
    same = lines("Born in 1990. / Geboren 1990.", "born in 1990 / Geboren: 1990!")
    assert len(desk("bitext-dedup -q --match normalised", same).rows) == 1


def test_carriage_returns_hide_no_duplicate(desk: Desk) -> None:
    assert desk("bitext-dedup -q", "Yes.\tJa.\r\nYes.\tJa.\n").out == "Yes.\tJa.\r\n"


TRAIN = (
    "He said: \"It is very late today.\" / Er sagte: „Es ist heute sehr spät.“",
    "The mayor opened the new bridge on Monday . / Montag .",
    "LATEST: The mayor opened the new bridge on Monday! / EILT: Die Brücke ist offen!",
    "A fresh line of text about nothing. / Eine neue Zeile über nichts.",
)  # fmt: skip


@pytest.mark.parametrize("test", ["plain", "escaped", "one column"])
def test_a_test_set_is_found_in_any_form(desk: Desk, test: str) -> None:
    rows = [
        'He said: "It is very late today." / Er sprach anders.',
        "The mayor opened the new bridge on Monday. / Der Bürgermeister war da.",
    ]
    held = lines(*rows)
    if test == "escaped":
        held = held.replace('"', "&quot;").replace("today.", "today .").replace(":", " :")
    if test == "one column":
        held = "".join(row.split(" / ")[0] + "\n" for row in rows)
    desk.write({"test.tsv": held})
    found = desk("bitext-dedup --against test.tsv", lines(*TRAIN))
    assert found.out == lines(TRAIN[-1])


def test_a_test_set_in_another_format_is_not_read_as_text(desk: Desk) -> None:
    desk.write({"t.jsonl": '{"source": "Yes.", "target": "Ja."}\n'})
    refused = desk("bitext-dedup --against t.jsonl", "Yes.\tJa.\n")
    assert refused.code == 2 and "bitext-convert t.jsonl" in refused.err


# Columns and languages


@pytest.mark.gate(1)
@pytest.mark.parametrize("languages", ["en-US,zh_Hans", "eng,zho_Hans", "EN,zh-CN"])
def test_one_variable_serves_a_whole_pipe(desk: Desk, languages: str) -> None:
    sentences = {
        "I like to drink tea in the morning.": "我早上喜欢喝茶。",
        "The weather is very good today.": "今天天气很好。",
        "She went to school by bus yesterday.": "她昨天坐公共汽车去学校。",
    }
    units = [UNIT.format("en", one, "zh_CN", other) for one, other in sentences.items()]
    desk.write(
        {
            "c.tmx": tmx(
                *units, UNIT.format("en", "Where is the station?", "zh", "Wo ist der Bahnhof?")
            )
        }
    )
    own = f"--languages {languages}"
    line = (
        f"bitext-convert {own} c.tmx | bitext-fix {own} | bitext-filter {own} | bitext-dedup {own}"
    )
    found = desk(line)
    assert found.rows == ["\t".join(pair) for pair in sentences.items()]
    scored = desk(f"{line} | bitext-score --model multi {own} | bitext-rank --model multi {own}")
    assert len(scored.rows) == 3 and scored.code == 0
    desk.write(
        {"a.txt": "\n".join(sentences) + "\n", "b.txt": "\n".join(sentences.values()) + "\n"}
    )
    for tool in ("align", "align-documents"):
        linked = desk(f"bitext-{tool} --model multi {own} a.txt b.txt --min-score none")
        assert {tuple(row.split("\t")[:2]) for row in linked.rows} >= {*sentences.items()}
