"""The normalisation of texts that are compared, character by character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

HYPHENS = "-‐‑‒–"
PRIMES = {"′": ("'’", "'‘‚‛‹›"), "″": ('"”', '"“„‟«»')}
MEASURE = re.compile(r"(?:^|[\s(\[\"'“„«‘‚‹])[0-9]{1,3}(?:[.,][0-9]+)?$")
SIGNS = "#%*/@{}\\§¶†‡‰‱′″‴※٪؉؊"


def is_word(character: str) -> bool:
    """Whether a character, or none, is part of a word."""
    return character.isalnum() or character == "_"


def is_letter(character: str) -> bool:
    return character.isalnum() and not character.isdecimal()


def carries_meaning(text: str, place: int) -> bool:
    """Whether the mark at a place is part of a number, a name or an operator."""
    around = "\0\0" + text + "\0\0\0"
    far, before, mark, after, next_ = tuple(around[place : place + 5])
    numbers = before.isdecimal() and after.isdecimal()
    spaced = far.isdecimal() and before == after == " " and next_.isdecimal()
    name = far.isalpha() and is_word(before) and after.isalpha() and next_.isalpha()
    joined = before.isalnum() and text[place:].lstrip("_")[:1].isalnum()
    rules = {
        "_": joined,
        "&": is_word(before) or not is_word(after),
        "!": after == "=" or (not is_word(before) and before != "!" and is_word(after)),
        ".": numbers or name or (not is_word(before) and before != "." and is_word(after)),
        ":": numbers or spaced,
        **dict.fromkeys(",;'’٫٬", numbers),
        **dict.fromkeys(HYPHENS, numbers or spaced or by_hyphen(far, before, after, next_)),
    }
    return rules.get(mark, False)


def by_hyphen(far: str, before: str, after: str, next_: str) -> bool:
    """Whether the characters beside a hyphen make it a minus, a grade or an option."""
    if is_word(before):
        lone = is_letter(before) and not is_word(far)
        return not is_word(after) and (before.isdecimal() or lone)
    if after in ("-", ".", ","):
        return is_word(next_) if after == "-" else next_.isdecimal()
    return after.isdecimal() or (is_letter(after) and not is_word(next_))


def smile(text: str, place: int) -> int:
    """The length of the emoticon at a place, or 0."""
    if text[place] not in ":;" or (place and is_word(text[place - 1])):
        return 0
    end = place + 1 + text[place + 1 :].startswith("-")
    mouth = end
    while text[end : end + 1] in ("(", ")"):
        end += 1
    return end - place if end > mouth else 0


def kind(character: str) -> str:
    """The name of the parts to ignore that a character is one of, or none."""
    category = unicodedata.category(character)
    if character in SIGNS or (category[0] == "S" and character != "`"):
        return "symbols"
    if category[0] in "PS":
        return "punctuation"
    if category in ("Nd", "No"):
        return "digits"
    return "space" if category[0] == "Z" or category in ("Cc", "Cf") else ""


def with_primes(text: str) -> str:
    """The text with primes behind numbers of feet and inches, where no quotation began."""
    for prime, (quotes, opening) in PRIMES.items():
        spread, quoted = "", False
        for place, character in enumerate(text):
            before, after = text[:place], text[place + 1 : place + 2]
            starts = not is_word(before[-1:]) and bool(after.strip())
            quoted = quoted or (character in opening and starts)
            measured = character in quotes and MEASURE.search(before) and not is_word(after)
            spread += prime if measured and not quoted else character
        text = spread
    return text


def with_spaces(text: str) -> str:
    """The text with a space behind each full stop between words that may end a sentence."""
    spread = ""
    for place, character in enumerate(text):
        spread += character
        after = unicodedata.category(text[place + 1 : place + 2] or " ")
        kinds = [unicodedata.category(before) for before in reversed(text[:place])]
        letter = next((kind for kind in kinds if kind[0] != "M"), "Zs")
        ends = letter[0] == after[0] == "L" and "Lo" in (letter, after)
        if character == "." and (ends or (kinds[:1] == ["Ll"] and after == "Lu")):
            spread += " "
    return spread


def plain(text: str, ignored: Sequence[str]) -> str:
    """The text without what is ignored."""
    if "punctuation" in ignored and "symbols" not in ignored:
        text = with_spaces(with_primes(text))
    spread = ""
    for place, character in enumerate(text):
        joined = (
            place
            and text[place - 1].isnumeric()
            and unicodedata.category(text[place - 1])[0] == "N"
        )
        spread += "^" * bool(joined and unicodedata.category(character) == "No") + character
    whole = unicodedata.normalize("NFKC", spread)
    if "case" in ignored:
        whole = unicodedata.normalize("NFKC", whole.casefold())
    kept = left(whole, ignored)
    if not kept.strip():
        kept = left(whole, [name for name in ignored if name == "space"])
    return " ".join(kept.split()) if "space" in ignored else kept


def left(text: str, ignored: Sequence[str]) -> str:
    """The text without what is ignored, but with all spaces."""
    by_place = "punctuation" in ignored and "symbols" not in ignored
    if by_place and "digits" in ignored:
        text = "".join(" " if kind(character) == "digits" else character for character in text)
    kept, place = "", 0
    while place < len(text):
        character, end = text[place], place + 1
        is_sign = kind(character) == "symbols"
        if by_place and not is_sign and kind(character) == "punctuation":
            end = place + (smile(text, place) or 1)
            is_sign = end > place + 1 or carries_meaning(text, place)
        if is_sign and "symbols" not in ignored and "punctuation" in ignored:
            sign = text[place:end] if end > place + 1 else SAME.get(character, character)
            apart = {"punctuation", "space"} <= {*ignored}
            kept += f" {sign} " if apart else sign
        elif kind(character) in ignored:
            kept += "" if unicodedata.category(character) == "Cf" else " "
        else:
            kept += character
        place = end
    return kept


SAME = {**dict.fromkeys("‐‑‒–−", "-"), "⁄": "/", "∕": "/", "’": "'"}
