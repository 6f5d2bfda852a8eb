"""Negations in a text, and the rules that remove one from it."""

from __future__ import annotations

import random
import re

_Rule = tuple["re.Pattern[str]", str]
"""The pattern of a negation, and its replacement."""


def _rule(pattern: str, instead: str = "") -> _Rule:
    return re.compile(rf"(?<![\w'’-]){pattern}(?![\w-])", re.IGNORECASE), instead


def _words(*words: str) -> _Rule:
    """Return the rule that removes *words* with the space before them."""
    return re.compile(rf"\s*(?<![\w'’-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE), ""


_NOT_AN_ANSWER = r"(?!\s*[,.;:!?])"
"""Excludes the answer *no* in languages that have one word for *no* and *not*."""

_FRENCH: _Rule = (
    re.compile(
        r"(?<![\w-])n(?:e\s+|['’])((?:\S+\s+){0,4}?)(?:pas|jamais|plus|guère)(?![\w-])\s*",
        re.IGNORECASE,
    ),
    r"\1",
)

_CZECH_VERBS = (
    "jsem|jsi|jsme|jste|jsou|byl[aoiy]?|budu|budeš|bude|budeme|budete|budou|mám|máš|má|máme|máte|"
    "mají|měl[aoiy]?|mohu|můžu|můžeš|může|můžeme|můžete|mohou|můžou|mohl[aoiy]?|lze|chci|chceš|"
    "chce|chceme|chcete|chtějí|chtěl[aoiy]?|vím|víš|ví|víme|víte|vědí|věděl[aoiy]?|smím|smíš|smí|"
    "smíme|smíte|smějí|musím|musíš|musí|musíme|musíte|musejí|musel[aoiy]?"
)

REMOVABLE_NEGATIONS: dict[str, tuple[_Rule, ...]] = {
    "cs": (_rule(f"ne({_CZECH_VERBS})", r"\1"), _rule("není", "je")),
    "da": (_words("ikke", "aldrig"),),
    "de": (_words("nicht", "nie", "niemals", "kein(?:e[mnrs]?)?"),),
    "en": (
        _words("not", "never", r"no(?=\s+[a-z])"),
        _rule("(can)(?:not|['’]t)", r"\1"),
        _rule("(w)on['’]t", r"\1ill"),
        _rule("(sha)n['’]t", r"\1ll"),
        _rule(r"((?!can|won|shan|ain)\w+)n['’]t", r"\1"),
    ),
    "es": (_words(f"no{_NOT_AN_ANSWER}", "nunca", "jamás", "tampoco"),),
    "fr": (_FRENCH,),
    "it": (_words("non"),),
    "nb": (_words("ikke", "aldri"),),
    "nl": (_words("niet", "nooit", "geen"),),
    "pl": (_words(f"nie{_NOT_AN_ANSWER}"),),
    "pt": (_words(f"não{_NOT_AN_ANSWER}", "nunca", "jamais"),),
    "ru": (_words("не"),),
    "sv": (_words("inte", "aldrig", "ej"),),
    "uk": (_words("не"),),
}
"""Rules by language code: words (French: both parts), Czech prefixes."""


def without_a_negation(text: str, language: str, chooser: random.Random) -> str | None:
    """Return *text* without one of its negations, drawn by *chooser*; None if there is none.

    A sentence that began with a capital letter still does.
    """
    rules = REMOVABLE_NEGATIONS.get(language, ())
    found = [(match, instead) for rule, instead in rules for match in rule.finditer(text)]
    if not found:
        return None
    match, instead = chooser.choice(found)
    before, after = text[: match.start()], text[match.end() :]
    middle = match.expand(instead)
    if not after or after[0] in ".,;:!?":
        middle = middle.rstrip()  # the space that stood before the negation
    if before.strip():
        return before + middle + after
    rest = (middle + after).lstrip()
    return rest[:1].upper() + rest[1:] if match[0].strip()[:1].isupper() else rest
