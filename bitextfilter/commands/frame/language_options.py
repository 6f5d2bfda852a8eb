"""Languages as values of options: any usual spelling, read as codes or as tags."""

from __future__ import annotations

from typing import Any

import click

from bitextfilter.commands.frame.options import as_own_languages, option
from bitextfilter.errors import SettingsError
from bitextfilter.languages import any_language, read_language


def as_languages(value: str) -> tuple[str, str]:
    """Read ``en-US,zh_Hans`` as ``en,zh``: the codes of the source's and the target's language."""
    source, target = as_own_languages(value)
    return as_language(source), as_language(target)


def as_tags(value: str) -> tuple[str, str]:
    """Read ``en-US,zh_Hans`` as ``en-US,zh-Hans``: the tags of both languages."""
    source, target = as_own_languages(value)
    return as_tag(source), as_tag(target)


def as_language(value: str) -> str:
    """Read ``en-US`` as ``en``: the code of a language."""
    return any_language(as_tag(value)).code


def as_tag(value: str) -> str:
    """Read ``zh_hans`` as ``zh-Hans``: the tag of a language."""
    try:
        return read_language(value).tag
    except SettingsError as error:
        raise click.BadParameter(str(error)) from error


def languages_option(
    text: str = "The languages, as en,de.", tags: bool = False, **details: Any
) -> Any:
    """Return the field of --languages: of codes, as zh, or of *tags*, as zh-Hans."""
    return option("--languages SOURCE,TARGET", text, as_tags if tags else as_languages, **details)
