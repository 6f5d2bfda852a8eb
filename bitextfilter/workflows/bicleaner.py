"""A model in the place of a Bicleaner model: chosen by its ``metadata.yaml``, or by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.io.files import read_lines
from bitextfilter.languages import any_language, find_language
from bitextfilter.models.folders import languages_of, naming_pair, shipped_models

_LINE = re.compile(r"""(source_lang|target_lang|model)\s*:\s*["']?([^"'#]*?)["']?\s*(#.*)?""")
_SOURCE, _TARGET = "source_lang", "target_lang"
_ANY = {"", "xx", "xxx"}
"""Languages of a Bicleaner model of many languages."""
_MANY = "multi"


class Chosen(NamedTuple):
    """The model for two columns."""

    name: str
    """As ``scoring.model.load`` takes it."""
    languages: tuple[str, str]
    """Of the columns, source first."""
    swapped: bool
    """Whether the source column is the target side of the model."""


def choose_model(model: str, source: str | None = None, target: str | None = None) -> Chosen:
    """Choose the model for the languages of two columns.

    Args:
        model: a shipped model, the folder of one, or a ``metadata.yaml``. Its keys ``source_lang``
            and ``target_lang`` name the languages, its key ``model`` may name a model, or a
            folder, by its path from the file or from the working folder;
            without that, a shipped model of these languages is taken.
        source, target: languages, which override those of the file.

    Raises:
        NotFoundError: there is no such model or file.
        SettingsError: the languages are unknown, or not those of the model.
    """
    wanted, name = (source or "", target or ""), model
    if model.endswith((".yaml", ".yml")):
        found = _read(model)
        wanted = wanted[0] or found.get(_SOURCE, ""), wanted[1] or found.get(_TARGET, "")
        for key, language in zip((_SOURCE, _TARGET), wanted, strict=True):
            if language in _ANY:
                raise SettingsError(f"{model}: it does not name {key}; give --{key}")
        name = found.get("model") or _shipped(*wanted)
        beside = Path(model).parent / name
        name = str(beside) if beside.is_dir() else name
    own = languages_of(name)
    if own is None:
        if not all(wanted):
            raise SettingsError(
                f"{name} is a model of many languages; give --source_lang and --target_lang"
            )
        return Chosen(naming_pair(name, wanted), wanted, swapped=False)
    spelt = [find_language(each, own) or each for each in wanted]
    asked = spelt[0] or own[0], spelt[1] or own[1]
    if asked not in (own, own[::-1]):
        raise SettingsError(f"{name} is for {' and '.join(own)}, not for {' and '.join(asked)}")
    return Chosen(name, asked, swapped=asked != own)


def _read(path: str) -> dict[str, str]:
    """Return the keys of a ``metadata.yaml`` that matter here."""
    if not Path(path).is_file():
        raise NotFoundError(f"{path}: no such file")
    lines = (_LINE.fullmatch(line) for line in read_lines(path))
    return {found[1]: found[2] for found in lines if found}


def _shipped(source: str, target: str) -> str:
    """Return the name of the shipped model of two languages."""
    source, target = any_language(source).code, any_language(target).code
    names = f"{source}-{target}", f"{target}-{source}"
    return next((name for name in names if name in shipped_models()), _MANY)
