"""Languages and scripts that identifiers of languages take for one another, or do not know."""

from __future__ import annotations

from collections.abc import Iterable

from bitextfilter.languages import Language, any_language

_WITHIN = {
    "ar": "acm acq aeb afb ajp apc apd ars ary arz ayl",
    "bs": "hr sr",
    "ff": "fuv",
    "hr": "bs sr",
    "kok": "gom",
    "lv": "ltg",
    "ms": "id",
    "no": "nn",
    "sr": "bs hr",
    "uz": "uzs",
    "zh": "lzh wuu yue",
}
"""Languages → those within them, or written alike, that identifiers tell apart by chance."""


def _alike(code: str) -> set[str]:
    """Return the codes that identifiers may take a language for, itself among them."""
    groups = [{head, *others.split()} for head, others in _WITHIN.items()]
    inside = (group for group in groups if code in group and code not in _WITHIN)
    return {code, *_WITHIN.get(code, "").split()}.union(*inside)


def untaught_scripts(language: Language) -> tuple[str, ...]:
    """Return the scripts of a language in which identifiers have hardly seen it: not its first.

    Latin is among them only where the tag names it: most text in another language is in Latin.
    """
    firsts = {code: Language(code).written_in[:1] for code in _alike(language.code)}
    taught = {s for code, first in firsts.items() for s in Language(code, "".join(first)).scripts}
    if not language.script or language.code == "crh":  # known in Latin, though the CLDR has it last
        taught.add("Latn")
    return tuple(script for script in language.scripts if script not in taught)


def labels_of(language: str, labels: Iterable[str]) -> list[str]:
    """Return the labels of an identifier for text in a language, in any spelling; or none.

    All whose language, with its script, is this one, or one that identifiers take it for; a label
    of that very spelling is the only one if it names a script, or no language.
    """
    every = list(labels)
    wanted = any_language(language)
    if not wanted.says_language:
        return []
    codes = _alike(wanted.code)
    if language in every and (wanted.script or codes == {wanted.code}):
        return [language]
    return [
        label
        for label in every
        if (own := any_language(label)).code in codes
        and (not own.script or own.script in wanted.written_in)
    ]
