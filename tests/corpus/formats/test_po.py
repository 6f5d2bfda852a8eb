from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import PairRecord
from bitextfilter.corpus.formats.po import PoReader
from bitextfilter.errors import InputError

polib = pytest.importorskip("polib")

HEADER = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"""
PO = (
    "\ufeff# A catalogue.\n"
    + HEADER
    + r"""
#. Seen first
#: a.c:1 b.c:2
#: c.c:3
#, c-format
msgctxt "menu"
msgid "Open \"%s\"\n"
msgstr ""
"\"%s\" "
"öffnen\n"

#| msgid "Old"
msgid "tab\there"
msgstr "Tab\\n\011da"

#, fuzzy, c-format
msgid "uncertain"
msgstr "unsicher"

msgid "untranslated"
msgstr ""

msgid "one file"
msgid_plural "%d files"
msgstr[0] "eine Datei"
msgstr[1] "%d Dateien"
msgid "without a blank line"
msgstr "ohne Leerzeile"

#~ msgid "obsolete"
#~ msgstr "veraltet"
"""
)


def reader(data: str | bytes, keep: Sequence[str] = ()) -> PoReader:
    raw = data.encode() if isinstance(data, str) else data
    return PoReader(io.BytesIO(raw), "a.po", keep)


def pairs(data: str | bytes) -> list[tuple[str, str]]:
    read = list(reader(data))
    assert all(isinstance(pair, PairRecord) for pair in read)
    return [(pair.source, pair.target) for pair in read if isinstance(pair, PairRecord)]


def peer(data: str) -> list[tuple[str, str]]:
    """Return the pairs as polib reads them."""
    found = []
    for entry in polib.pofile(data.removeprefix("\ufeff")):
        if entry.obsolete or entry.fuzzy:
            continue
        if entry.msgid_plural:
            found.append((entry.msgid, entry.msgstr_plural[0]))
            found.append((entry.msgid_plural, entry.msgstr_plural[1]))
        else:
            found.append((entry.msgid, entry.msgstr))
    return [(source, target) for source, target in found if source and target]


def test_a_catalogue() -> None:
    read = reader(PO, ("context", "reference", "comment", "x"))
    first, second, *_ = read
    assert isinstance(first, PairRecord) and isinstance(second, PairRecord)
    assert dict(first.others) == {
        "context": "menu",
        "reference": "a.c:1 b.c:2 c.c:3",
        "comment": "Seen first",
        "x": "",
    }
    assert first[1:3] == ('Open "%s"\n', '"%s" öffnen\n')
    assert second[1:3] == ("tab\there", "Tab\\n\tda")  # polib keeps \011
    assert (first.number, read.dropped) == (12, set())
    assert read.skipped == {"fuzzy": 1, "without a translation": 1}
    assert pairs(PO.replace("\n", "\r\n")) == pairs(PO)
    assert pairs(PO.replace(r"\011", r"\t")) == peer(PO.replace(r"\011", r"\t"))
    assert reader(PO).skipped is None


def test_what_is_left_out_is_named() -> None:
    read = reader(PO)
    assert sum(1 for _ in read) == 5
    assert read.dropped == {"context", "reference", "comment"}


@pytest.mark.parametrize(
    ("rule", "forms", "want"),
    [
        ("nplurals=1; plural=0;", "a", "aa"),
        ("nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);", "abc", "ab"),
        ("nplurals=3; plural=n==0 ? 0 : n==1 ? 1 : 2;", "abc", "bc"),
        ("nplurals=2; plural=n/0;", "ab", "ab"),
        ("nplurals=2; plural=n ? ;", "ab", "ab"),
        ("nplurals=2; plural=9;", "ab", "ab"),
        ("nplurals=2; plural=" + "(" * 5000, "ab", "ab"),
        ("", "abc", "ac"),
    ],
)
def test_plural_forms(rule: str, forms: str, want: str) -> None:
    """The forms for 1 and for many, as the header counts them, else the first and the last."""
    data = f'msgid ""\nmsgstr "Plural-Forms: {rule}\\n"\n\nmsgid "one"\nmsgid_plural "many"\n'
    data += "".join(f'msgstr[{n}] "{form}"\n' for n, form in enumerate(forms))
    assert pairs(data) == [("one", want[0]), ("many", want[1])]


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ('msgid "a"\nmsgstr "b\n', 2, "not a line of a PO file"),
        ('msgid "a"\nmsgstr "b"c"\n', 2, "not a line of a PO file"),
        ('msgid "a"\nmsgstr "b\\"\n', 2, "not a line of a PO file"),
        ("a\tb\n", 1, "not a line of a PO file"),
        ('"a"\n', 1, "not a line of a PO file"),
        ('msgid "a"\nmsgstr "\\377"\n', 2, "escapes of bytes that are not UTF-8"),
        ('msgid "a"\nmsgid "b"\n', 2, "a second msgid"),
        ('msgid "a"\n\n# b\nmsgctxt "b"\n', 1, "a message without msgid or msgstr"),
        ('msgstr "a"\n', 1, "a message without msgid or msgstr"),
        ('\n\nmsgid ""\nmsgstr "text/plain; charset=CP1250"\n', 3, "its header says CP1250"),
        (b'msgid "a"\nmsgstr "\xe4"\n', 2, "not UTF-8 at byte 9 of the line; msgconv"),
        ('msgid "a"\nmsgstr ""\n', None, "no message has a translation"),
    ],
)
def test_files_that_are_not_catalogues(data: str | bytes, line: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        list(reader(data))
    assert (error.value.file, error.value.line) == ("a.po", line)


def test_messages_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.corpus.formats.po.LINE_BYTES", 1000)
    assert len(pairs('msgid "a"\nmsgstr "b"\n' * 1000)) == 1000
    with pytest.raises(InputError, match=r"a\.po:\d+: a message larger than"):
        list(reader('msgid "a"\n' + '"b"\n' * 1000))


TEXT = st.text(st.sampled_from('abä"\\\n\t %{}\u2028'), max_size=8)


@given(st.lists(st.tuples(TEXT, TEXT, st.booleans(), st.booleans()), max_size=6))
def test_catalogues_of_polib(rows: list[tuple[str, str, bool, bool]]) -> None:
    catalogue = polib.POFile(wrapwidth=10)
    catalogue.metadata = {"Content-Type": "text/plain; charset=utf-8"}
    for n, (source, target, fuzzy, obsolete) in enumerate(rows):
        catalogue.append(
            polib.POEntry(
                msgid=f"{n}{source}",
                msgstr=target,
                flags=["fuzzy"] * fuzzy,
                obsolete=obsolete,
                comment=source.replace("\n", " "),
            )
        )
    want = [(f"{n}{s}", t) for n, (s, t, fuzzy, old) in enumerate(rows) if t and not fuzzy | old]
    if want:
        assert pairs(str(catalogue)) == want
