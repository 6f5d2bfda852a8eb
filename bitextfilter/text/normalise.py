"""Normalisation of sentences, as in the training of a model."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.errors import ModelError
from bitextfilter.io.records import parse_json
from bitextfilter.settings import Settings, setting
from bitextfilter.text import characters
from bitextfilter.text.composition import normal_form

_CONFIG = "config.json"

# White space and control characters; a run of them is one space.
SPACES = re.compile("[\\s\x00-\x1f\x7f-\x9f]+")
# Characters without width or meaning of their own: soft hyphen, zero-width space, word joiner,
# byte-order mark, direction marks, interlinear annotation. The two joiners U+200C and U+200D
# stay, for they tell words apart in Persian or Sinhala and hold emoji together.
INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
# Segmenters mark the start of a word with U+2581, so text may not contain it.
_RESERVED = "\u2581"


@dataclasses.dataclass(frozen=True)
class Normalisation(Settings):
    """Normalisation of a sentence before its segmentation.

    Always: Unicode NFC, without invisible characters; each run of white space and control
    characters becomes one space, or none at the ends; U+2581 (the segmenters' mark) becomes
    ``_``. Optional steps are the settings; those by sacremoses handle some 7,000 lines a second.
    Applying it twice is the same as once, except with ``tokenise``.
    """

    lowercase: bool = setting(True, "all letters small")
    punctuation: bool = setting(False, "Moses' normalised punctuation, by sacremoses: slow")
    tokenise: bool = setting(False, "Moses' tokens, by sacremoses: slow")
    apart: bool = setting(
        False, "spaces around each punctuation mark and symbol: fast, alike in all languages"
    )

    def __call__(self, sentence: str, language: str) -> str:
        """Normalise *sentence*; *language* (``en``) only matters to sacremoses."""
        if self.by_words and sentence.isascii() and sentence.isalnum():  # as most words are
            return sentence.lower() if self.lowercase else sentence
        text = _plain(sentence)
        if self.punctuation or self.tokenise:
            if self.punctuation:
                text = _moses("PunctNormalizer", language).normalize(text)
            if self.tokenise:
                text = _moses("Tokenizer", language).tokenize(text, return_str=True, escape=False)
            text = _plain(text)
        if self.lowercase:
            text = normal_form(text.lower())
        if self.apart:
            parts = _ASCII_PARTS if text.isascii() else _parts()
            text = " ".join(parts.findall(text))
        return text

    def each(self, tokens: Sequence[str], language: str) -> list[str]:
        """Normalise each of some texts without line breaks: faster for many."""
        if not self.by_words or not self.apart:
            return [self(token, language) for token in tokens]
        found = list(tokens)
        rest = [at for at, token in enumerate(found) if not (token.isascii() and token.isalnum())]
        text = "\n".join([found[at] for at in rest])
        if text.count("\n") >= max(1, len(rest)):
            return [self(token, language) for token in tokens]
        # No step looks beyond a line break: nothing composes with one, and it ends words.
        text = _plain_lines(text)
        if self.lowercase:
            found = [token.lower() for token in found]
            text = normal_form(text.lower())
        parts = _ASCII_LINES if text.isascii() else _parts("\n")
        lines = " ".join(parts.findall(text)).split("\n")
        for at, line in zip(rest, lines, strict=False):
            found[at] = line.strip(" ")
        return found

    @property
    def by_words(self) -> bool:
        """Whether normalising the words between white space one by one gives the same result."""
        return not (self.punctuation or self.tokenise)

    def to_dict(self) -> dict[str, bool]:
        """Return the settings for a model's ``config.json``."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, choices: Any) -> Normalisation:
        """Return the normalisation of :meth:`to_dict`; ModelError if it is damaged."""
        names = {field.name for field in dataclasses.fields(cls)}
        if (
            not isinstance(choices, dict)
            or not set(choices) <= names
            or not all(isinstance(v, bool) for v in choices.values())
        ):
            raise ModelError(
                f"normalisation {choices!r}: expected true or false for {sorted(names)}"
            )
        return cls(**choices)


@functools.cache
def _moses(tool: str, language: str) -> Any:
    """Return a tool of Moses, by sacremoses, for a language."""
    import sacremoses

    made = getattr(sacremoses, f"Moses{tool}")(lang=language)
    if tool == "Tokenizer":  # its own tests make a set of thousands for each abbreviation
        made.islower = frozenset(made.IsLower).issuperset
        made.isanyalpha = lambda text, letters=frozenset(made.IsAlpha): not letters.isdisjoint(text)
    return made


def _plain(sentence: str) -> str:
    """Return *sentence* in NFC, without invisible characters, with single spaces inside."""
    if not sentence.isprintable():
        sentence = SPACES.sub(" ", INVISIBLE.sub("", sentence))
    if not sentence.isascii():
        sentence = normal_form(sentence.replace(_RESERVED, "_"))
    return " ".join(sentence.split())


def _plain_lines(text: str) -> str:
    """Do what :func:`_plain` does to each line, but for single spaces."""
    if not text.replace("\n", "").isprintable():
        text = _LINE_SPACES.sub(" ", INVISIBLE.sub("", text))
    return text if text.isascii() else normal_form(text.replace(_RESERVED, "_"))


_LINE_SPACES = re.compile("(?:(?!\n)[\\s\x00-\x1f\x7f-\x9f])+")
_ASCII_PARTS = re.compile(r"[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~ ]+")
_ASCII_LINES = re.compile(r"[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~ \n]+|\n")


@functools.cache
def _parts(end: str = "") -> re.Pattern[str]:
    """Return the pattern of one mark (Unicode's categories P and S) or a run of others.

    *end*: a character that is no part of a run, too.
    """
    codes = np.flatnonzero(characters.in_category("P", "S"))
    runs = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    marks = "".join(f"{re.escape(chr(run[0]))}-{re.escape(chr(run[-1]))}" for run in runs)
    # Letters and digits match fastest; the second alternative is the whole rule.
    return re.compile(rf"(?:[^\W_]+|[^{marks} {end}]+)+|[{marks}{end}]")


def load_normalisation(folder: Path) -> Normalisation:
    """Read the normalisation of a folder of a segmenter or a model. ModelError if damaged."""
    try:
        config = parse_json((folder / _CONFIG).read_text(encoding="utf-8"))
        return Normalisation.from_dict(config["normalisation"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{folder / _CONFIG}: missing, or without a normalisation") from error
