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


def test_a_damaged_unit_of_tmx_costs_no_other(desk: Desk) -> None:
    desk.write(
        {
            "m.tmx": tmx(
                "en One / nl Een",
                "<tu><tuv xml:lang='en'><seg>Two</tuv></tu>\n",
                "en Three / nl Drie",
            )
        }
    )
    stopped = desk("bitext-convert --languages en,nl m.tmx")
    assert (stopped.code, stopped.out) == (65, "One\tEen\n") or stopped.out == ""
    assert "m.tmx:4" in stopped.err
    going = desk("bitext-convert --languages en,nl --on-error reject --rejects r m.tmx")
    assert (going.code, going.rows) == (0, ["One\tEen", "Three\tDrie"])
    assert "1 rejected" in going.err and len(Path("r").read_text().splitlines()) >= 1


def test_quotes_of_csv_mean_nothing_in_a_tsv(desk: Desk) -> None:
    rows = lines('A 5" nail. / Een spijker van 5".', '"Open / "Openen', "It's / Het's")
    assert desk("bitext-filter -q --languages en,nl --without language", rows).out == rows
    for kind in ("csv", "jsonl"):
        back = f"bitext-convert -q --to {kind} | bitext-convert -q --from {kind}"
        assert desk(back, rows).out == rows


REGIONS = tmx(
    "en-GB Grey / nl-NL Grijs", "EN_us Gray / NL_be Grijs", "eng House / nld Huis",
    "en Tree / dut Boom", "en Cat / fr Chat",
)  # fmt: skip
CHINESE = tmx(
    "en Open / zh-Hans 打开", "en Close / zh_CN 关闭", "en Save / zho 储存",
    "en Print / zh-Hant-TW 列印", "en Copy / zh_TW 複製",
)  # fmt: skip


@pytest.mark.parametrize(
    ("file", "languages", "found"),
    [
        (REGIONS, "en,nl", "Grijs Grijs Huis Boom"),
        (REGIONS, "eng,nld", "Grijs Grijs Huis Boom"),
        (REGIONS, "en_GB,nl", "Grijs Huis Boom"),
        (CHINESE, "en,zh", "打开 关闭 储存 列印 複製"),
        (CHINESE, "en,cmn", "打开 关闭 储存 列印 複製"),
        (CHINESE, "en,zh-Hant", "列印 複製"),
        (CHINESE, "en,zh_Hans", "打开 关闭 储存"),
        (CHINESE, "en,zh_tw", "列印 複製"),
    ],
)
def test_units_of_tmx_are_found_by_their_language(
    desk: Desk, file: str, languages: str, found: str
) -> None:
    desk.write({"r.tmx": file})
    result = desk(f"bitext-convert --languages {languages} r.tmx")
    assert [row.split("\t")[1] for row in result.rows] == found.split()
    if file == REGIONS:
        assert "fr" in result.err.split("skipped")[-1] or "fr" in result.err


def test_tmx_with_inline_codes_and_second_variants(desk: Desk) -> None:
    bold = '<bpt i="1">&lt;b&gt;</bpt>now<ept i="1">&lt;/b&gt;</ept>'
    note = "<ph>x<sub>note</sub></ph>"
    twice = (
        '<tu><tuv xml:lang="en"><seg>One</seg></tuv><tuv xml:lang="nl"><seg>Een</seg></tuv>'
        '<tuv xml:lang="nl"><seg>Eén</seg></tuv></tu>\n'
    )
    alone = '<tu><tuv xml:lang="en"><seg>Alone</seg></tuv></tu>\n'
    units = (
        UNIT.format("en", f"Click {bold}.", "nl", f"Klik {bold}."),
        UNIT.format("en", f"a bold{note} move", "nl", "een stoute zet"),
        twice, alone,
    )  # fmt: skip
    desk.write({"i.tmx": tmx(*units)})
    found = desk("bitext-convert --from tmx --languages en,nl i.tmx")
    assert found.rows[0] == "Click now.\tKlik now."
    assert found.rows[1].startswith("a bold ") and "boldnote" not in found.rows[1]
    assert found.rows[2:] == ["One\tEen"]
    assert "variant" in found.err and "skipped" in found.err


def test_two_languages_of_a_tmx_need_not_be_named(desk: Desk) -> None:
    desk.write({"t.tmx": tmx("nl Ja / en Yes", "nl Nee / en No", source="nl")})
    assert desk("bitext-convert t.tmx").rows == ["Ja\tYes", "Nee\tNo"]


def test_catalogues_with_contexts_plurals_and_fuzzy_entries(desk: Desk) -> None:
    po = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgctxt "menu"\nmsgid "Open"\nmsgstr "Openen"\n\n'
        '#, fuzzy\nmsgid "Shut"\nmsgstr "Open"\n\n'
        'msgid "%d file"\nmsgid_plural "%d files"\n'
        'msgstr[0] "%d bestand"\nmsgstr[1] "%d bestanden"\n'
    )
    desk.write({"nl.po": "\ufeff" + po.replace("\n", "\r\n")})
    found = desk("bitext-convert nl.po")
    assert found.rows == ["Open\tOpenen", "%d file\t%d bestand", "%d files\t%d bestanden"]
    assert "1 skipped" in found.err


XLIFF = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="nl" original="a" datatype="plaintext"><body>
<trans-unit id="1"><source>Open</source><target state="translated">Openen</target></trans-unit>
<trans-unit id="2"><source>Close</source>
<target state="needs-translation">Close</target></trans-unit>
<trans-unit id="3"><source>Print</source><target state="new">Print</target></trans-unit>
<trans-unit id="4" translate="no"><source>ACME</source><target>ACME</target></trans-unit>
<trans-unit id="5"><source>One. Two.</source>
<seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source>
<target><mrk mtype="seg" mid="0">Een.</mrk> <mrk mtype="seg" mid="1">Twee.</mrk></target>
</trans-unit>
<trans-unit id="6"><source>Save <x id="1"/> all</source><target>Alles <x id="1"/> bewaren</target>
<alt-trans><target>Niet dit</target></alt-trans></trans-unit>
</body></file></xliff>
"""


def test_units_of_xliff_that_nobody_has_translated_are_left_out(desk: Desk) -> None:
    desk.write({"a.xlf": XLIFF})
    found = desk("bitext-convert a.xlf")
    assert found.rows == ["Open\tOpenen", "One.\tEen.", "Two.\tTwee.", "Save all\tAlles bewaren"]
    assert "3 skipped" in found.err
    second = (
        '<xliff version="2.0" srcLang="en" trgLang="nl"'
        ' xmlns="urn:oasis:names:tc:xliff:document:2.0">'
        '<file id="f"><unit id="1"><segment state="initial"><source>Cut</source>'
        "<target>Cut</target>"
        '</segment></unit><unit id="2"><segment state="final"><source>Copy</source>'
        "<target>Kopie</target></segment></unit></file></xliff>"
    )
    desk.write({"b.xlf": second})
    found = desk("bitext-convert b.xlf")
    assert found.rows == ["Copy\tKopie"] and "1 skipped" in found.err


CUE = "{0}\n00:00:0{0},000 --> 00:00:0{0},900\n{1}\n"
DUTCH = "\n".join(
    CUE.format(n, text) for n, text in enumerate(("Goeden dag.", "Wie ben jij?", "Niemand."), 1)
)
ENGLISH = ("Good day.", "Who are you?", "Nobody.")
FILMS = {
    "no blank lines": "".join(CUE.format(n, text) for n, text in enumerate(ENGLISH, 1)),
    "a blank line in a cue": "\n".join(
        CUE.format(n, text.replace("Who ", "Who\n\n")) for n, text in enumerate(ENGLISH, 1)
    ),
    "no numbers": "\n".join(
        CUE.format(n, text).split("\n", 1)[1] for n, text in enumerate(ENGLISH, 1)
    ),
    "a BOM and CRLF": "\ufeff\r\n"
    + "\n".join(CUE.format(n, text) for n, text in enumerate(ENGLISH, 1)).replace("\n", "\r\n"),
    "points": "\n".join(CUE.format(n, text) for n, text in enumerate(ENGLISH, 1)).replace(",", "."),
    "tags": "\n".join(CUE.format(n, f"<i>{text}</i>") for n, text in enumerate(ENGLISH, 1)),
}


@pytest.mark.parametrize("film", FILMS.values(), ids=FILMS)
def test_subtitles_as_the_world_writes_them(desk: Desk, film: str) -> None:
    desk.write({"en.srt": film, "nl.srt": DUTCH})
    found = desk("bitext-convert en.srt nl.srt")
    assert found.rows == [
        "Good day.\tGoeden dag.", "Who are you?\tWie ben jij?", "Nobody.\tNiemand."
    ]  # fmt: skip


def test_subtitles_whose_first_number_is_missing_or_whose_end_is_cut_off(desk: Desk) -> None:
    film = "".join(CUE.format(n, text) for n, text in enumerate(ENGLISH, 1)).split("\n", 1)[1]
    desk.write({"en.srt": film + "\n4\n00:00:09,0", "nl.srt": DUTCH, "none.srt": ""})
    found = desk("bitext-convert en.srt nl.srt")
    assert [row.split("\t")[0] for row in found.rows] == [*ENGLISH]
    assert "skipped: 1 without a text" in found.err
    empty = desk("bitext-convert none.srt nl.srt")
    assert empty.code == 65 and "none.srt: no cue" in empty.err


def test_subtitles_of_the_web(desk: Desk) -> None:
    body = "\n".join(CUE.format(n, f"<v Ann>{t}</v>") for n, t in enumerate(ENGLISH, 1))
    body = body.replace(",", ".").replace(".900\n", ".900 align:start\n")
    desk.write({"en.vtt": f"WEBVTT - a film\n\nNOTE nothing\n\n{body}", "nl.srt": DUTCH})
    assert [row.split("\t")[0] for row in desk("bitext-convert en.vtt nl.srt").rows] == [*ENGLISH]


def test_json_lines_that_are_odd(desk: Desk) -> None:
    desk.write(
        {
            "a.jsonl": '{"translation": {"en": null, "nl": "Ja."}}\n',
            "b.json": '[{"en": "Yes.", "nl": "Ja."}]\n',
        }
    )
    fields = "--fields translation.en,translation.nl"
    null = desk(f"bitext-convert {fields} a.jsonl")
    assert null.code == 65 and "translation.en is null" in null.err
    array = desk("bitext-convert --from jsonl --fields en,nl b.json")
    assert array.rows == ["Yes.\tJa."] or "array" in array.err
    halves = '{"en": "\\ud83d\\ude00", "nl": "\\ud83d"}\n{"en": "\\ud83d\\ude00", "nl": "x"}\n'
    whole = desk("bitext-convert --from jsonl --fields en,nl --on-error reject", halves)
    assert whole.rows == ["😀\tx"] and "1 rejected" in whole.err


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


@pytest.mark.parametrize(
    ("languages", "good"),
    [
        ("en,cs", "Český dům stojí na náměstí."),
        ("en,fr", "L’école est fermée à midi, déjà."),
        ("en,ru", "Поезд прибывает на станцию."),
        ("en,pt", "A irmã não está em São João."),
        ("en,vi", "Chúng tôi đang ở đây."),
    ],
)
def test_damage_is_repaired_wholly_or_left_for_the_filter(
    desk: Desk, languages: str, good: str
) -> None:
    damaged = good.encode().decode("latin-1")
    lost = "".join(c for c in damaged if not "\x80" <= c <= "\x9f")
    spaced = "".join(" " if "\x80" <= c <= "\xa0" else c for c in damaged)
    whole = desk("bitext-fix -q", f"The text.\t{damaged}\n")
    assert whole.out == f"The text.\t{good}\n"
    for broken in (lost, spaced):
        row = f"The text.\t{broken}\n"
        fixed = desk("bitext-fix -q", row).out
        if broken != damaged and fixed != f"The text.\t{good}\n":
            assert fixed == row
            assert desk("bitext-filter -q --rule bad-encoding", fixed).out == ""


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


def talk(first: int) -> list[str]:
    """Rows of the shipped example pairs, English and German."""
    pairs = (Path(__file__).parents[2] / "examples" / "pairs.en-de.tsv").read_text("utf-8")
    return [row for row in pairs.split("\n") if "\tgood" in row][:first]


def test_columns_that_are_no_text_are_warned_of(desk: Desk) -> None:
    rows = [
        f"http://a.example/en/{n}\thttp://a.example/de/{n}\t{row}" for n, row in enumerate(talk(12))
    ]
    data = "".join(row + "\n" for row in rows)
    for tool in ("bitext-score", "bitext-filter --languages en,de"):
        said = desk(tool, data).err
        assert "warning" in said and "--scol 3 --tcol 4" in said


def test_a_header_that_is_not_named_is_warned_of(desk: Desk) -> None:
    data = "source\ttarget\n" + "".join("\t".join(row.split("\t")[:2]) + "\n" for row in talk(5))
    for tool in ("bitext-score", "bitext-filter --languages en,de"):
        assert "--header" in desk(tool, data).err


def test_swapped_columns_are_warned_of(desk: Desk) -> None:
    swapped = "".join("\t".join(row.split("\t")[1::-1]) + "\n" for row in talk(20))
    for tool in ("bitext-score", "bitext-filter --languages en,de"):
        assert "swapped" in desk(tool, swapped).err


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
