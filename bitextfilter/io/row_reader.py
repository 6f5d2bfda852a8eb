"""Rows of a file, one by one or in windows, and its header, if it is none of the rows."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, is_table, wide_remedy, without_ending
from bitextfilter.io.lines import line_blocks, watched
from bitextfilter.io.rows import (
    REMEDY,
    WINDOW_BYTES,
    BadRow,
    Columns,
    RawLines,
    Row,
    RowParser,
    TextColumn,
    WantedColumn,
    number_of,
    windows,
)

_AHEAD_BYTES = 1 << 20


class RowReader:
    """Iterates over the rows of a binary stream, as a ``RowParser`` makes them.

    With *header*, the first line is read at once, into ``header`` (bytes without ending) and
    ``header_ending``; numbers still count lines of the file, so that the first row has 2. Raises
    InputError for a missing header, one that looks like a row, or a column name it lacks.
    """

    def __init__(
        self,
        stream: Iterable[bytes],
        name: str,
        columns: Columns | TextColumn | None = None,
        header: bool = False,
        remedy: str = REMEDY,
    ) -> None:
        """Read *stream*, called *name* in messages; *remedy* ends the message of a bad row."""
        self.name = name
        self.starts = True
        """False for a later part of a file."""
        self.next = 1
        """The number of the next line."""
        self._bom = b""
        self.header: bytes | None = None
        self.header_ending = b""
        self._blocks: Iterator[list[bytes]] = self._after_bom(line_blocks(stream, name))
        columns = columns or Columns()
        wanted = columns.wanted()
        if header:
            first = next(iter(self.ahead(1)), b"")
            if not first:
                raise InputError("empty, expected a header line", file=name)
            self._blocks = chain([next(self._blocks)[1:]], self._blocks)
            if wide := wide_remedy(first):
                raise InputError("the header is not UTF-8", file=name, line=1, remedy=wide)
            self.header = without_ending(first)
            self.header_ending = first[len(self.header) :]
            self.next = 2
        places = [self.place(column) for column in wanted]
        self.doubt = ""
        """A warning that the header may be a row; empty where it is clear, as in a table."""
        if self.header is not None and not is_table(name):
            self.doubt = _doubt_of_header(self.header, wanted, places, name)
        self.parser = RowParser(name, wanted, places, remedy, columns.blank)

    def __iter__(self) -> Iterator[Row | BadRow]:
        parse = self.parser.row
        for number, raw in enumerate(chain.from_iterable(self._blocks), self.next):
            self.next = number + 1
            yield parse(number, raw)

    def lines(self, size: int, most_bytes: int = WINDOW_BYTES) -> Iterator[RawLines]:
        """Yield the remaining lines in windows, to be parsed elsewhere.

        A window has *size* lines, or fewer once a block of lines brings it to *most_bytes*.
        """
        window, held = list[bytes](), 0
        for block in self._blocks:
            while block:
                taken, block = block[: size - len(window)], block[size - len(window) :]
                window += taken
                held += sum(map(len, taken))
                if len(window) == size or held >= most_bytes:
                    yield self._numbered(window)
                    window, held = [], 0
        if window:
            yield self._numbered(window)

    def _numbered(self, window: list[bytes]) -> RawLines:
        first, self.next = self.next, self.next + len(window)
        return RawLines(first, window)

    def first_line(self, names: Sequence[str] = ()) -> bytes:
        """Return the BOM, and the header with *names* appended; nothing for a later part.

        Waits for the first line, which may start with a BOM.
        """
        if not self.starts:
            return b""
        if self.header is None:
            self.ahead(1)
            return self._bom
        added = "".join(f"\t{name}" for name in names).encode()
        return self._bom + self.header + added + (self.header_ending or b"\n")

    def ahead(self, count: int) -> list[bytes]:
        """Wait for the next *count* lines, fewer if they hold 1 MiB, and return them, unread."""
        lines, held = list[bytes](), 0
        while len(lines) < count and held < _AHEAD_BYTES:
            block = next(self._blocks, None)
            if block is None:
                break
            lines += block
            held += sum(map(len, block))
        self._blocks = chain([lines], self._blocks)
        return lines[:count]

    def watch(self, function: Callable[[list[bytes]], object], count: int) -> None:
        """Call *function* with the first *count* lines to come, once they are read.

        They have their endings, and are fewer where the input ends, or once they hold 1 MiB.
        Nothing waits for them: each is passed on as it is read.
        """
        self._blocks = watched(self._blocks, function, count)

    def start_at(self, number: int) -> None:
        """Number the rows as a later part of a file, the first with *number*, before any is read.

        The header, which belongs to the first part, only names the columns.
        """
        self.starts = False
        self.next = number

    def place(self, wanted: WantedColumn) -> int:
        """Return the index of a column, negative from the end.

        Raises InputError for a name that is not in the header, or is there twice.
        """
        where = wanted.where
        if isinstance(where, int):
            return where - 1 if where > 0 else where
        names = (self.header or b"").decode("utf-8", "replace").split("\t")
        if names.count(where) != 1:
            problem = "twice in" if where in names else "not in"
            message = f"column {where!r} ({wanted.option}) is {problem} the header"
            raise InputError(message, file=self.name, line=1, remedy=f"it has {', '.join(names)}")
        return names.index(where)

    def column_names(self) -> list[str]:
        """Return the names in the header; none without one. Raises InputError if not UTF-8."""
        try:
            return [] if self.header is None else self.header.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            message = f"the header is not UTF-8 at its byte {error.start + 1}"
            raise InputError(message, file=self.name, line=1) from error

    def column_name(self, place: int) -> str:
        """Return the name of the column at an index. Raises InputError if the header lacks it."""
        names = self.column_names()
        if not _has(names, place):
            columns = "1 column" if len(names) == 1 else f"{len(names)} columns"
            message = f"the header has {columns}, and no column {place + (place >= 0)}"
            raise InputError(message, file=self.name, line=1)
        return names[place]

    def score_names(self, columns: Sequence[int | str]) -> list[str]:
        """Return the names of score columns: those in the header, or else of their places."""
        header = (self.header or b"").decode("utf-8", "replace").split("\t")
        names = []
        for where in columns:
            place = where if isinstance(where, str) or where < 0 else where - 1
            if isinstance(place, str):
                names.append(place)
            elif self.header is not None and -len(header) <= place < len(header):
                names.append(header[place])
            else:
                names.append("score" if len(columns) == 1 else f"column {where}")
        return names

    def _after_bom(self, blocks: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
        """Yield the blocks of lines; set the BOM aside."""
        for first, *more in islice(blocks, 1):
            if self.starts and first.startswith(BOM):
                self._bom = BOM
            rest = first[len(self._bom) :]
            yield [rest, *more] if rest else more
        yield from blocks


ENDS = (".", "!", "?", "…", "。", "！", "？")
_FEWEST_WORDS, _MANY_WORDS = 4, 8
"""A sentence has the first number of words and an end mark, or the second number of words."""
_NAME = re.compile(
    "source|src|target|tgt|trg|side|texts?|sentences?|segments?|lines?|words?|phrases?|original|"
    "ref|references?|translations?|hyp|hypothes[ei]s|paraphrases?|parse|template|lang|language"
)
"""A word of the names of text columns, beside x and y, and codes of languages of two letters."""

_OTHER_NAMES = """
النص المصدر الهدف الأصل الترجمة اللغة الجملة نص مصدر هدف أصل ترجمة لغة جملة
източник цел оригинал превод текст изречение език
origen destí font original traducció text frase llengua idioma de
zdroj cíl zdrojový cílový originál překlad text věta jazyk
kilde mål kildetekst måltekst original oversættelse tekst sætning sprog
quelle ziel quelltext zieltext quellsatz zielsatz quellsprache zielsprache text satz sprache
ausgangstext zieltext original originaltext übersetzung text satz sprache
πηγή στόχος πρωτότυπο μετάφραση κείμενο πρόταση γλώσσα
origen destino fuente meta original traducción texto frase oración lengua idioma de
منبع مبدأ مقصد هدف اصل ترجمه متن جمله زبان
lähde kohde lähdeteksti kohdeteksti alkuperäinen käännös teksti lause kieli
source cible original originale traduction texte phrase langue de
מקור יעד תרגום טקסט משפט שפה
स्रोत लक्ष्य मूल अनुवाद पाठ वाक्य भाषा
izvor cilj izvornik original prijevod prevod tekst rečenica jezik
forrás cél eredeti fordítás szöveg mondat nyelv
sumber sasaran target asli terjemahan teks kalimat bahasa
origine fonte destinazione originale traduzione testo frase lingua di
原文 訳文 翻訳 原言語 目的言語 原語 訳語 文
원문 번역문 번역 원본 출발어 도착어 문장 텍스트
bron doel brontekst doeltekst brontaal doeltaal origineel vertaling tekst zin taal
kilde mål kildetekst måltekst original oversettelse tekst setning språk
źródło cel źródłowy docelowy oryginał tłumaczenie tekst zdanie język
origem destino fonte alvo original tradução texto frase língua idioma de
sursă țintă sursa ținta original traducere text propoziție limba
источник цель исходный целевой оригинал перевод текст предложение язык
извор циљ оригинал превод текст реченица језик
källa mål källtext måltext original översättning text mening språk
ต้นฉบับ คำแปล
kaynak hedef özgün çeviri metin cümle dil
джерело ціль вихідний цільовий оригінал переклад текст речення мова
nguồn đích gốc bản dịch câu văn ngôn ngữ
源 来源 目标 源语言 目标语言 源语 目标语 源文本 目标文本 原文 译文 原句 译句 翻译 句子 文本 语言
來源 目標 來源語言 目標語言 源語言 來源文字 目標文字 原文 譯文 原句 譯句 翻譯 句子 文字 語言
"""
"""Such words of other languages: those of a line are names beside each other."""

_PARTS = re.compile(r"[\s\d_!-/:-@\[-`{-~]+")


def name_words(text: str) -> list[str]:
    """Return the words of a name, ``en`` and ``text`` of ``en_text1``, in lower case."""
    return [word for word in _PARTS.split(text.casefold()) if word]


@functools.cache
def name_lists() -> list[Callable[[str], bool]]:
    """Return for each of several languages whether a word is one of the usual names there.

    The names of two columns are in one language; words of two are likely a translation.
    """
    others = (frozenset(line.casefold().split()) for line in _OTHER_NAMES.splitlines())
    english = lambda word: _NAME.fullmatch(word) is not None  # noqa: E731
    return [english, *(words.__contains__ for words in others if words)]


def _are_names(texts: Sequence[str]) -> bool:
    """Whether texts may be the names of columns of text: usual words, or two letters."""
    return any(all(_is_name(text, usual) for text in texts) for usual in name_lists())


def _is_name(text: str, usual: Callable[[str], bool]) -> bool:
    words, code = name_words(text), 0 if " " in text else 2
    return bool(words) and all(usual(word) or len(word) <= code for word in words)


def _is_sentence(text: str) -> bool:
    """Whether a text is clearly a sentence, by its words and its end."""
    words = len(text.split())
    return words >= _MANY_WORDS or (words >= _FEWEST_WORDS and text.rstrip().endswith(ENDS))


_DECIMAL = re.compile(r"[-+]?[0-9]*\.[0-9]+")


def _doubt_of_header(
    header: bytes, wanted: Sequence[WantedColumn], places: Sequence[int], file: str
) -> str:
    """Return a warning that a header may be a row; empty if its text columns have usual names.

    It is empty, too, if a column is *wanted* by its name. Raises InputError for a line that looks
    like a row: with a score in it, or two sentences.
    """
    if any(isinstance(column.where, str) for column in wanted):
        return ""
    fields = header.decode("utf-8", "replace").split("\t")
    chosen = [(c, fields[p]) for c, p in zip(wanted, places, strict=True) if _has(fields, p)]
    texts = [text for column, text in chosen if column.name in ("source", "target", "sentence")]
    scores = [text for column, text in chosen if column.name.endswith("score")]
    option = wanted[0].option if wanted else "--column"
    if (
        any(map(_DECIMAL.fullmatch, fields))
        or not all(math.isnan(number_of(score.encode())) for score in scores)
        or (len(texts) == 2 and all(map(_is_sentence, texts)))
    ):
        remedy = f"leave out --header, or name a column of it ({option} NAME)"
        raise InputError("the header looks like a row", file=file, line=1, remedy=remedy)
    if _are_names(texts if wanted else fields):
        return ""
    shown = ", ".join(repr(text[:20]) for text in (texts if wanted else fields))
    return (
        f"{file}:1: {shown} is taken for the names of columns: if it is a row, the file has no"
        f" header; if not, name one of them ({option} NAME)"
    )


def _has(fields: Sequence[str], place: int) -> bool:
    return -len(fields) <= place < len(fields)


def row_windows(
    rows: Iterable[Row | BadRow], size: int, most_bytes: int = WINDOW_BYTES
) -> Iterator[list[Row | BadRow]]:
    """Yield *size* consecutive rows at a time, or fewer once they hold *most_bytes*.

    Those of a reader are cut as by ``RowReader.lines``.
    """
    if isinstance(rows, RowReader):
        return _parsed(rows, size, most_bytes)
    return windows(rows, lambda row: len(row.line), size, most_bytes)


def _parsed(reader: RowReader, size: int, most_bytes: int) -> Iterator[list[Row | BadRow]]:
    for lines in reader.lines(size, most_bytes):
        rows = lines.rows(reader.parser)
        lines.raw.clear()  # only the rows take memory from now on
        yield rows
