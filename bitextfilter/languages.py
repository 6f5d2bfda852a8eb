"""Languages: the usual codes of each, understood once for every command.

A *tag* is the standard form (BCP 47) of any spelling of a language: ``zh_Hans``, ``zho_Hans`` and
``cmn-hans`` are ``zh-Hans``, ``iw`` is ``he``, ``pt_br`` is ``pt-BR``. A *code* is a tag without
its script and region: ``zh``, ``he``, ``pt``. The data are those of the Unicode CLDR, which Babel
carries.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.errors import SettingsError
from bitextfilter.io.files import read_toml

_OURS = {"nb": "no", "fil": "tl"}
"""Where the field's name of a language is not that of the CLDR."""
_OLD_TAGS = {
    "no-bok": "no",
    "no-nyn": "nn",
    "zh-guoyu": "zh",
    "zh-hakka": "hak",
    "zh-min-nan": "nan",
    "zh-xiang": "hsn",
}
"""Tags from before BCP 47."""
_MACRO = frozenset({"ar", "ms", "zh"})
"""Languages whose tag may stand before that of a language within them: ``zh-yue``."""
_NO_LANGUAGE = frozenset({"mis", "mul", "und", "zxx"})
"""Codes that leave the language open, and with it the script."""
_SPELLINGS = {
    "ptbr": "pt-BR",
    "pob": "pt-BR",
    "zhs": "zh-Hans",
    "chs": "zh-Hans",
    "zht": "zh-Hant",
    "cht": "zh-Hant",
}
"""Codes of single programs."""
_NO_TEXT = frozenset({"Shaw"})
"""Scripts in which there is a language's text only for show."""
_PRIVATE = re.compile("q[a-t][a-z]")
"""Codes that ISO 639-2 leaves to private use."""
_LOCALE_SCRIPTS = {"latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva", "arabic": "Arab"}
"""Scripts in the locales of POSIX, as ``sr@latin``."""
_SEVERAL = {
    "Aran": ("Arab",),
    "Hanb": ("Hani", "Bopo"),
    "Hans": ("Hani", "Bopo"),
    "Hant": ("Hani", "Bopo"),
    "Hrkt": ("Hira", "Kana"),
    "Jpan": ("Hani", "Hira", "Kana"),
    "Kore": ("Hang", "Hani"),
    "Latf": ("Latn",),
}
"""Codes of ISO 15924 that are no scripts of Unicode → the scripts that each is written in."""


class Language(NamedTuple):
    """A language, and what its tag says of script and region."""

    code: str
    """Two letters where ISO 639-1 has them, else three: ``zh``."""
    script: str = ""
    """Of ISO 15924, if the tag names one: ``Hans``."""
    region: str = ""
    """Of ISO 3166 or the UN, if the tag names one: ``BR``, ``419``."""
    others: tuple[str, ...] = ()
    """Variants and extensions: ``valencia``."""

    @property
    def tag(self) -> str:
        """The tag of BCP 47: ``zh-Hans``."""
        return "-".join(filter(None, (self.code, self.script, self.region, *self.others)))

    @property
    def says_language(self) -> bool:
        """Whether the code is of one language, as ``und``, ``mul``, ``mis`` and ``zxx`` are not."""
        return self.code not in _NO_LANGUAGE

    @property
    def written_in(self) -> tuple[str, ...]:
        """The codes of ISO 15924 that text may be in, the likeliest first; empty if none is known.

        The script that the tag names, or that is likely in its region, with those that the CLDR
        lacks; else all that the language has in some region.
        """
        if self.script:
            return (self.script,)
        likely = _likely_scripts(self.code)
        if self.region in likely and self.region:
            more = str(_further()["scripts"].get(self.code, "")).split()
            return tuple(dict.fromkeys((likely[self.region], *more)))
        return tuple(dict.fromkeys(likely.values()))

    @property
    def scripts(self) -> tuple[str, ...]:
        """The scripts of Unicode that text may be in, as ``Latn``; empty if none is known."""
        single = (_SEVERAL.get(script, (script,)) for script in self.written_in)
        return tuple(dict.fromkeys(chain.from_iterable(single)))

    @property
    def variant(self) -> str | None:
        """``Hans`` or ``Hant`` of Chinese whose tag names it, or a region with it; else None."""
        script = self.written_in[0] if (self.script or self.region) and self.written_in else None
        return script if script in ("Hans", "Hant") else None

    def includes(self, other: Language) -> bool:
        """Whether text in the *other* language may be in this one.

        The other must not be in another script than this one names or implies, nor in another
        region: ``zh-TW`` includes ``zh-Hant``, but neither ``zh``, which is mostly simplified, nor
        ``zh-HK``; ``en-GB`` includes ``en``.
        """
        script = self.script or self.variant or ""
        return (
            self.code == other.code
            and script in ("", other.script, other.variant or "".join(other.written_in[:1]))
            and (not self.region or other.region in ("", self.region))
            and self.others in ((), other.others)
        )


@functools.lru_cache(1 << 12)
def read_language(text: str) -> Language:
    """Read any usual spelling of a language.

    Codes of ISO 639-1, -2 and -3, tags of BCP 47, codes of FLORES and NLLB (``zho_Hans``) and
    locales (``sr_RS@latin``), in capitals or not. A retired code, and the chief language of a
    macro-language, stand for the usual one: ``iw`` for ``he``, ``cmn`` for ``zh``. Raises
    SettingsError, with a suggestion, for a code that nobody knows.
    """
    locale, _, modifier = text.strip().partition("@")
    parts = re.split("[-_]", locale.partition(".")[0].lower())
    parts = _OLD_TAGS.get("-".join(parts), "").split() or parts
    if not all(re.fullmatch("[a-z0-9]{1,8}", part) for part in parts):
        raise _unknown(text)
    if parts[0] == "x" and len(parts) > 1:
        return Language("-".join(parts))
    if parts[0] in _MACRO and len(parts) > 1 and len(parts[1]) == 3:
        del parts[0]  # zh-yue is yue
    usual: str = _data("language_aliases").get(parts[0], parts[0])
    parts[:1] = usual.lower().split("_")  # sh is sr-Latn
    scripts = {part.title() for part in parts[1:3] if re.fullmatch("[a-z]{4}", part)}
    if scripts - _scripts() or not (parts[0] in _codes() or _PRIVATE.fullmatch(parts[0])):
        raise _unknown(text)
    return _language(parts, _LOCALE_SCRIPTS.get(modifier, ""))


def _language(parts: list[str], script: str) -> Language:
    """Return the language of the parts of a tag, in lower case; of two scripts the last counts."""
    code, *rest = parts
    region, others = "", list[str]()
    for part in rest:
        if not others and re.fullmatch("[a-z]{4}", part):
            script = part.title()
        elif not others and re.fullmatch("[a-z]{2}|[0-9]{3}", part):
            region = _data("territory_aliases").get(part.upper(), [part.upper()])[0]
        else:
            others.append(part)
    return Language(_OURS.get(code, code), script, region, tuple(others))


def _unknown(text: str) -> SettingsError:
    """Return the error for an unknown language."""
    known = _suggestion(text) or "such as en or zh-Hans"
    return SettingsError(f"{text!r} is not the code of a language: {known}")


def _suggestion(text: str) -> str:
    """Return the language that may be meant by a code of a program, of a country, or a name.

    Empty if there is none.
    """
    names, wanted = _names(), re.split("[-_]", text.strip().lower())[0]
    if wanted in _SPELLINGS:
        return f"perhaps {_SPELLINGS[wanted]}?"
    country = _data("likely_subtags").get(f"und_{wanted.upper()}", "").split("_")[0]
    near = [name for name, tag in names.items() if tag == country]
    near = near or get_close_matches(wanted, names, 1, 0.8)
    return f"perhaps {names[near[0]]} ({near[0].title()})?" if near else ""


def find_language(language: str, known: Iterable[str]) -> str | None:
    """Return the one of *known* languages that is *language*, as it is spelt there; else None.

    The same spelling comes first, then the same tag, then the same code. Codes that nobody knows,
    as a model may have, are found as they are.
    """
    names = list(known)
    if language in names:
        return language
    wanted = any_language(language)
    read = [*map(any_language, names)]
    for alike in ([one == wanted for one in read], [one.code == wanted.code for one in read]):
        if True in alike:
            return names[alike.index(True)]
    return None


def is_language(text: str) -> bool:
    """Whether a text is a code of a language, in any usual spelling, or its name in English."""
    with suppress(SettingsError):
        return read_language(text).code not in _NO_LANGUAGE
    return text.strip().lower() in _names()


def own_language(language: str, known: Sequence[str]) -> str:
    """Return :func:`find_language` among the languages of a model.

    Raises SettingsError where the model has none such.
    """
    found = language if language in known else find_language(language, known)
    if found is None:
        *others, last = known
        names = f"{', '.join(others)} and {last}" if others else last
        perhaps = "" if is_language(language) else _suggestion(language)
        message = f"the model's languages are {names}, not {language!r}"
        raise SettingsError(f"{message}; {perhaps}" if perhaps else message)
    return found


def any_language(text: str) -> Language:
    """Return :func:`read_language`, or a language of which nothing but its code is known."""
    with suppress(SettingsError):
        return read_language(text)
    return Language(text)


@functools.cache
def _data(name: str) -> Mapping[str, Any]:
    """Return a table of the CLDR; subtags are joined by ``_``."""
    from babel.core import get_global

    table: Mapping[str, Any] = get_global(name)  # type: ignore[arg-type]
    return table


@functools.cache
def _further() -> dict[str, Any]:
    """Return what the CLDR lacks: more codes, and more scripts of languages."""
    return read_toml(Path(__file__).with_name("languages.toml"))


@functools.cache
def _names(locale: str = "en") -> dict[str, str]:
    """Return the names of languages in one of them, in lower case → their tags."""
    from babel import Locale

    found = Locale.parse(locale).languages.items()
    tags = {code.replace("_", "-"): name for code, name in found}
    return {name.lower(): tag for tag, name in tags.items() if tag not in _NO_LANGUAGE}


def english_name(tag: str) -> str:
    """Return the name of a tag's language in English: ``Simplified Chinese``; or the tag."""
    from babel import Locale

    names = Locale.parse("en").languages
    return names.get(tag.replace("-", "_")) or names.get(tag.partition("-")[0]) or tag


@functools.cache
def _own_names() -> dict[str, list[str]]:
    """Return the names of languages in themselves, in lower case → their locales."""
    found: dict[str, list[str]] = {}
    for line in str(_further()["names"]).strip().split("\n"):
        locale, names = line.split(" ", 1)
        for name in names.lower().split("; "):
            found.setdefault(name, []).append(locale)
    return found


def named_languages(names: Iterable[str]) -> dict[str, str]:
    """Return the names and codes of languages among some texts → their tags.

    Names are in English, in the language itself, or in one of those that another text so names.
    """
    wanted, own = {name: name.strip().lower() for name in names}, _own_names()
    found: dict[str, str] = {}
    for locale in chain.from_iterable(own.get(name, ()) for name in wanted.values()):
        found |= _names(locale)
    found |= _names() | {name: read_language(locales[0]).tag for name, locales in own.items()}
    for name, text in wanted.items():
        word = len(text) == 3 and name.istitle()  # Yes, and not the code yes
        if text not in found and not word and is_language(text):
            found[text] = read_language(text).tag
    return {name: found[text] for name, text in wanted.items() if text in found}


@functools.cache
def _codes() -> frozenset[str]:
    """Return the codes of languages that there are, of two letters or three."""
    first = {key.partition("_")[0] for key in _data("likely_subtags")}
    return _NO_LANGUAGE.union(str(_further()["codes"]).split(), first)


@functools.cache
def _scripts() -> frozenset[str]:
    """Return the codes of scripts (ISO 15924) that the CLDR has."""
    subtags = chain(*(value.split("_") for value in _data("likely_subtags").values()))
    return frozenset(filter(re.compile("[A-Z][a-z]{3}").fullmatch, subtags)).union(_SEVERAL)


@functools.cache
def _likely_scripts(code: str) -> dict[str, str]:
    """Return where a language is written → the likeliest script there (likely subtags of CLDR).

    First ``""``, for the language alone; then regions, and scripts by themselves.
    """
    found: dict[str, str] = {}
    if code in _NO_LANGUAGE:
        return found
    for name in (code, *(theirs for theirs, ours in _OURS.items() if ours == code)):
        for key, value in _data("likely_subtags").items():
            if key.startswith(name) and key[len(name) :][:1] in ("", "_"):
                found.setdefault(key[len(name) + 1 :], value.split("_")[1])
    found = {key: script for key, script in found.items() if script not in _NO_TEXT}
    first, further = (str(_further()[table].get(code, "")) for table in ("likely", "scripts"))
    more = {script: script for script in (found.get("", ""), *further.split()) if script}
    return (found | {"": first} | more) if first else found | more
