"""Rows that attack: real ones, with whatever a chooser draws put into them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from random import Random

EXAMPLES = Path(__file__).parents[2] / "examples"


def _real() -> list[tuple[str, str]]:
    """Sentence pairs in English and German, and some in other scripts."""
    lines = (EXAMPLES / "pairs.en-de.tsv").read_text("utf-8").splitlines()
    pairs = [(line.split("\t")[0], line.split("\t")[1]) for line in lines]
    return [
        *pairs, ("a1 a2 a3 a4", "b1 b2 b3 b4"), ("السلام عليكم يا صديقي", "שלום לך ידידי"),
        ("नमस्ते दुनिया, आप कैसे हैं?", "สวัสดีชาวโลก"),
        ("你好，世界。今天是二〇二〇年三月四日。", "こんにちは、世界！ｶﾀｶﾅ"),
        ("Привет, мир! 1 234,56 км", "Γειά σου Κόσμε 80 °C"),
        ("İstanbul ĳssel ǅ ŉ ß ﬁﬂ", "Straße STRASSE ſ K Å"),
    ]  # fmt: skip


BOM = b"\xef\xbb\xbf"

REAL = _real()
"""The pairs that are mutated."""

DIGITS = [chr(n) for n in range(0x20000) if unicodedata.category(chr(n)) in ("Nd", "Nl", "No")]
BREAKS = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r", "\r\r"]
INVISIBLE = [
    chr(n) for n in (0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x2060, 0xFEFF, 0x180E, 0xE0041)
]
BIDI = [chr(n) for n in (0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069)]
ODD = ["\x00", "\x01", "\x1b[31m", "\x7f", "\x9b", "\ue000", "\ufdd0", "\uffff", "\U0010ffff"]
BYTES = [
    b"\xff", b"\xc3", b"\xed\xb2\x80", b"\xed\xa0\x80\xed\xb0\x80", b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
]  # fmt: skip
MARKUP = [
    "&amp;amp;lt;", "&#0;", "&#x110000;", "&#xD800;", "&#55296;&#56320;", "&notit;", "&;",
    "&eacute;", "<b>", "</b>", "<a href='", "<!--", "<![CDATA[", "<?php ?>", "]]>",
    "<script>alert(1)</script>", "Ã©", "â€™", "РїСЂРё", "ÃƒÂ©", "ï¿½", "\ufffd", "\\u00e9", "\\x",
    "%C3%A9", "%u00e9", "<U+00E9>", "%s", "%1$d", "{0}", "{{x}}", "${x}", "%(", "{", "}", "[",
    "((((", "))", "« »", "“”„‚‘’", "http://a.b/c?d=e#f", "www.x.y", "https://[::1", "http://",
    "a@b.c", "a@b@c.d", "ftp://ä.de/%ff", "Home » News | Sport", "...", "?!?!", "© 2020", "_",
    "\u2581", "@@ ", "@-@", "Re: {{ +++", '="',
]  # fmt: skip
NUMBERS = [
    "nan", "inf", "-inf", "1e999", "1_0", "-0", "0x1", "١٢٣", "１２", "½", "Ⅻ", "²", "①", "1e-400",
    "+5", "1,234.5", "1.234,5", "1 234", "1,2,3,4", "12:60", "25:00", "3 p.m.", "99.99.9999",
    "31.2.2020", "30 February 0", "0000-00-00", "13/13/13", "MMMMMMM", "IIII", "十亿", "一百万亿",
    "萬", "hundred million", "two and a half thousand", "minus zero %", "$5", "5 €", "1e9 km", "°C",
    "80 feet", "0 m", "9" * 400,
]  # fmt: skip
SCORES = [
    "0.5", "1", "-0", "nan", "inf", "-inf", "1e999", "-1e999", "١٢٣", "", " 0.25 ", "0,5", "1_0",
    "x", "5e-324",
]  # fmt: skip
WHOLE = [
    "", " ", "\u00a0", "\u200b", "\u2028", "-", ".", "9" * 5000, "1." * 300, "I" * 300,
    "e\u0301" * 50,
]  # fmt: skip
TEXTS = [
    DIGITS, BREAKS, INVISIBLE, BIDI, ODD, MARKUP, NUMBERS, [chr(0x300), chr(0x20E0), chr(0xE0100)],
]  # fmt: skip
UNITS = [
    "a", "a.", "1", "9,", "\u3000", "\u0301", "\u0301\u0323", "a ", "(", "&amp;", "@", "www.",
    "://", "%", "一", "<", "é", "\u202e",
]  # fmt: skip
"""Pieces that are repeated to long runs."""


def piece(chooser: Random, longest: int) -> bytes:
    """A piece of text to put somewhere, at times a run of many characters."""
    kind = chooser.random()
    if kind < 0.05:
        return chooser.choice(BYTES)
    if kind < 0.1:
        unit = chooser.choice(UNITS)
        return (unit * int(longest ** chooser.random())).encode()
    if kind < 0.2:
        point = chooser.choice((0x80, 0x250, 0x3000, 0xFFFF, 0x10FFFF))
        return chr(chooser.randrange(1, point)).encode("utf-8", "surrogatepass")
    return chooser.choice(chooser.choice(TEXTS)).encode()


def mutated(chooser: Random, text: bytes, longest: int) -> bytes:
    """Text with a few changes at random places."""
    for _ in range(chooser.choice((1, 1, 1, 2, 3, 8))):
        place, end = sorted(chooser.choices(range(len(text) + 1), k=2))
        kind = chooser.random()
        if kind < 0.6:  # between characters or within one
            text = text[:place] + piece(chooser, longest) + text[place:]
        elif kind < 0.7:
            text = text[:place] + text[end:]
        elif kind < 0.8:
            text = text[:place] + text[place:end] * chooser.randrange(2, 5) + text[end:]
        elif kind < 0.9:
            text = text[:place] + b" " + piece(chooser, longest) + b" " + text[place:]
        else:
            text = chooser.choice(WHOLE).encode()
    return text.replace(b"\n", b"")


class Hostile:
    """A source of hostile lines and files, which follow from a chooser."""

    def __init__(self, chooser: Random, longest: int = 2000) -> None:
        """Draw how hostile the lines are; runs have at most *longest* characters."""
        self.chooser, self.longest = chooser, longest
        self.share = chooser.choice((0.02, 0.1, 0.5, 0.9))
        self.tabs = chooser.random() < 0.3
        self.ending = chooser.choice((b"\n", b"\n", b"\r\n", b""))
        self.bom = BOM if chooser.random() < 0.1 else b""
        self.whole = chooser.random() < 0.7

    def sentence(self, side: int = 0) -> bytes:
        """A sentence, without tab unless by chance."""
        text = self.chooser.choice(REAL)[side].encode()
        if self.chooser.random() < self.share:
            text = mutated(self.chooser, text, self.longest)
        return text if self.tabs and self.chooser.random() < 0.02 else text.replace(b"\t", b" ")

    def score(self) -> bytes:
        """A number, or an impostor."""
        if self.chooser.random() < self.share:
            return self.chooser.choice(SCORES).encode()
        return b"%.4f" % self.chooser.random()

    def pair(self) -> bytes:
        """Source, target, score and further columns; some are missing at times."""
        chooser, (source, target) = self.chooser, self.chooser.choice(REAL)
        fields = [source.encode(), target.encode()]
        for side in (0, 1):
            if chooser.random() < self.share:
                fields[side] = mutated(chooser, fields[side], self.longest)
        fields += [self.score(), chooser.choice((b"clean", b"noise", b"\xff\x00", b""))]
        if chooser.random() < self.share / 20:
            fields = fields[: chooser.randrange(5)] or [b""]
            fields += [b"x"] * chooser.choice((0, 0, 0, 3000))
        return b"\t".join(fields)

    def lines(self, count: int, line: Callable[[], bytes]) -> bytes:
        """A file of *count* lines or so: some repeated, endings at times mixed."""
        made: list[bytes] = []
        for _ in range(count):
            again = made and self.chooser.random() < 0.05
            made.append(self.chooser.choice(made) if again else line())
        ends = [self.ending or self.chooser.choice((b"\n", b"\r\n")) for _ in made]
        if made and not self.whole:
            ends[-1] = b""
        return self.bom + b"".join(text + end for text, end in zip(made, ends, strict=True))
