"""Words as the values of options: read, suggested where they are wrong, completed by the shell.

Languages are read in any usual spelling, as codes or as tags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.errors import SettingsError
from bitextfilter.languages import any_language, read_language
from bitextfilter.settings import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Words(click.Choice[str]):
    """The words that a value may be; the error for another suggests one."""

    def convert(self, value: Any, *context: Any) -> str:
        """Read a word."""
        try:
            return super().convert(value, *context)
        except click.BadParameter as error:
            message = error.message.rstrip(".") + nearest(value, self.choices)
            raise click.BadParameter(message, error.ctx, error.param) from error


def _models() -> Iterable[str]:
    from bitextfilter.models.folders import packaged_models, shipped_models

    return shipped_models() | packaged_models()


def _rules() -> Iterable[str]:
    from bitextfilter.filters.registry import rule_names

    return rule_names()


def _measures() -> Iterable[str]:
    from bitextfilter.scoring.measures import MEASURES

    return MEASURES


_OPTIONS: dict[str, Callable[[], Iterable[str]]] = {
    "--rule": _rules,
    "--without": _rules,
    "--similarity": _measures,
}
"""Names that the value of an option may be, or that a list of them has."""


def completer_of(
    names: Sequence[str], metavar: str, is_argument: bool
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]] | None:
    """Return the function that completes an option or argument; None leaves it to its type.

    Names of models, rules and measures are known; most arguments are paths.
    """
    known = next((_OPTIONS[name] for name in names if name in _OPTIONS), None)
    folder = re.search(r"DIR|FOLDER|^MODEL", metavar)
    if re.match(r"NAME\|DIR|MODEL", metavar):
        known = _models
    path = known is None or known is _models
    if path and not (is_argument or folder or "FILE" in metavar):
        return None

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        paths = [CompletionItem(incomplete, type="dir" if folder else "file")] if path else []
        return [*paths, *map(CompletionItem, _beginning(incomplete, known() if known else ()))]

    return complete


def _beginning(text: str, known: Iterable[str]) -> Iterator[str]:
    """Yield the known names that the last name of *text* begins, after those before it."""
    before, comma, last = text.rpartition(",")
    return (f"{before}{comma}{name}" for name in known if name.startswith(last))


def as_own_languages(value: str) -> tuple[str, str]:
    """Read two languages as they are: a model, whose own they are, knows its codes."""
    names = value.split(",")
    if len(names) != 2 or not all(names):
        raise click.BadParameter("expected two languages, source and target, such as en,de")
    return names[0], names[1]


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
