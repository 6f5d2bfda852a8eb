"""Doubts about the first rows of an input: a header, columns without text, tabs within texts.

They are doubts, for warnings: nothing is changed, and no row is left out. ``swapped_columns``
tells the languages of two columns by the n-grams of their words; it needs few rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from statistics import median

from bitextfilter.io.row_reader import ENDS, name_lists, name_words
from bitextfilter.languages import find_language, is_language, named_languages

Fields = Sequence[str]
"""The columns of a row."""

_FEW = 3
"""Rows that tell something about a column, where no other column speaks for it."""
_MOSTLY = 0.8
_SENTENCE_WORDS = 3
_LONGEST_NAME = 30
_CODE = 3
"""Letters of a code, at most."""
_LEAD = 3.0
"""Nats by which the wrong language leads in either column that is swapped."""
_LEADING = 0.75
"""... and the part of the rows of either column in which it leads."""

_CASELESS = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
"""Letters of scripts without spaces."""
_KINDS = {
    "web addresses": re.compile(
        r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+|[^\s@]+@[^\s@]+\.\w+|[\w.-]+\.[a-z]{2,6}/\S*",
        re.IGNORECASE | re.ASCII,
    ),
    "numbers": re.compile(r"[-+]?[0-9][0-9.,:%/ +-]*(?:e[-+]?[0-9]+)?", re.IGNORECASE),
    "identifiers": re.compile(r"(?=\S*[0-9/\\_])[!-~]+"),
}
_TEXT = re.compile(rf"[^\W\d]\s+\W*[^\W\d]|{_CASELESS}{{4}}")
"""Two words, or four letters without spaces."""


def header_doubt(first: Fields, rows: Sequence[Fields]) -> bool:
    """Whether the texts of the first row look like names of columns, which the other rows do not.

    Names are the usual words (``source``, ``en_text``, ``sentence1``, or ``Quelle``), or different
    languages by code or name (``en``, ``zh_Hans``, ``German``, ``Deutsch``); the latter count above
    sentences alone.
    """
    names = [text.strip() for text in first]
    if len({name.casefold() for name in names}) < len(names):
        return False
    if not all(0 < len(name) <= _LONGEST_NAME and not name.endswith(ENDS) for name in names):
        return False
    if any(all(_is_usual(name, usual) for name in names) for usual in name_lists()):
        return True
    sizes = [len(text.split()) for row in rows for text in row]
    long = bool(sizes) and median(sizes) >= _SENTENCE_WORDS
    return long and _are_languages(names)


def _is_usual(name: str, usual: Callable[[str], bool]) -> bool:
    """Whether each word of a name is a usual one, or the code of a language beside such a one."""
    words = name_words(name)
    return any(map(usual, words)) and all(
        usual(word) or (len(word) <= _CODE and is_language(word)) for word in words
    )


def _are_languages(names: Sequence[str]) -> bool:
    """Whether each of some names is, or has, that of another language, beside usual words."""
    told = named_languages([*names, *chain.from_iterable(map(_language_words, names))])
    parts = [[name] if name in told else name_words(name) for name in names]
    rest = [part for some in parts for part in some if part not in told]
    known = all(any(usual(word) for usual in name_lists()) for word in rest)
    languages = {frozenset(told.get(part, "") for part in some) for some in parts}
    return known and all(parts) and len(languages) == len(names)


def _language_words(name: str) -> list[str]:
    """Return the words of a name, if it has several, that may be languages; no codes in a text."""
    words = name_words(name) if len(name_words(name)) > 1 else []
    return [word for word in words if len(word) > _CODE or " " not in name.replace(" (", "")]


def kind_of_column(texts: Sequence[str]) -> str:
    """Return ``text``, or another kind of content: ``web addresses``; empty if none is clear.

    Kinds are ``numbers``, ``identifiers`` and, for one word in every row, ``labels``.
    """
    values = [text.strip() for text in texts if text.strip()]
    least = max(1.0, _MOSTLY * len(values))
    for name, pattern in _KINDS.items():
        if sum(pattern.fullmatch(value) is not None for value in values) >= least:
            return name
    if 2 * sum(_TEXT.search(value) is not None for value in values) > len(values):
        return "text"
    few = len(values) >= _FEW and len(set(values)) <= max(1, len(values) // 10)
    return "labels" if few and not any(" " in value for value in values) else ""


def columns_doubt(rows: Sequence[Fields], chosen: Mapping[str, int]) -> str:
    """Return a doubt about columns that hold no text, and where text is; empty without one.

    *chosen*: the option of each column of text → its index in the rows, negative from the end.
    """
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    even = [row for row in rows if len(row) == width]
    kinds = [kind_of_column([row[place] for row in even]) for place in range(width)]
    wrong: dict[str, list[int]] = {}
    for place in (place % width for place in chosen.values() if -width <= place < width):
        if kinds[place] not in ("text", ""):
            wrong.setdefault(kinds[place], []).append(place + 1)
    texts = [place + 1 for place, kind in enumerate(kinds) if kind == "text"][: len(chosen)]
    known = len(texts) == len(chosen)
    if not wrong or not (known or (len(even) >= _FEW and "web addresses" in wrong)):
        return ""
    doubt = " and ".join(
        f"{_numbered(places)} hold{'s' * (len(places) == 1)} {kind}"
        for kind, places in wrong.items()
    )
    if not known:
        return doubt
    options = " ".join(f"{name} {place}" for name, place in zip(chosen, texts, strict=True))
    return f"{doubt}; text seems to be in {_numbered(texts)}: {options}"


def _numbered(places: Sequence[int]) -> str:
    return f"column{'s' * (len(places) > 1)} {' and '.join(map(str, places))}"


def uneven_row(rows: Sequence[Fields]) -> tuple[int, int, int] | None:
    """Return the index of the first row with another number of columns than most, and both numbers.

    None where all have the same; empty rows do not count.
    """
    widths = [len(row) if any(row) else 0 for row in rows]
    counts = Counter(filter(None, widths))
    if len(counts) < 2:
        return None
    usual = counts.most_common(1)[0][0]
    index = next(index for index, width in enumerate(widths) if width not in (0, usual))
    return index, widths[index], usual


def swapped_columns(
    sources: Sequence[str], targets: Sequence[str], languages: tuple[str, str]
) -> str:
    """Return a doubt if sources are clearly in the second of two languages, targets in the first.

    Goes by the n-grams of words: a sentence a side is enough, unless the languages are close.
    Empty if all is well, the languages are the same, or one is unknown to the identifier.
    """
    from bitextfilter.text.identifier import load_ngram_identifier

    identifier = load_ngram_identifier()
    known = [find_language(name, identifier.languages) for name in languages]
    first, second = (None if name is None else identifier.place(name) for name in known)
    if first is None or second is None or first == second or not sources:
        return ""
    for texts, own, other in ((sources, first, second), (targets, second, first)):
        evidence = identifier.evidence(texts)
        logits = identifier.logits(evidence)
        whole = identifier.logits(evidence.sum(axis=0, keepdims=True))[0]
        leading = (logits[:, other] > logits[:, own]).mean()
        if whole[other] - whole[own] < _LEAD or leading < _LEADING:
            return ""
    source, target = languages
    return (
        f"the columns look swapped: the source column looks like {target},"
        f" the target column like {source}"
    )
