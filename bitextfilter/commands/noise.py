"""``bitext-noise``: damage clean pairs, and say how."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import click

from bitextfilter.commands.frame.command import command, fill_lists, first_lines
from bitextfilter.commands.frame.options import COUNT, flag, languages_option, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.damage.mistakes import MISTAKES
from bitextfilter.damage.noise import (
    CLEAN,
    CRAWL_NOISE,
    GROUPS,
    NoiseSettings,
    even_rates,
    noise_settings,
    noisy_pairs,
    quality_of,
)
from bitextfilter.errors import InputError
from bitextfilter.io.files import read_lines
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Row, with_texts
from bitextfilter.languages import any_language

_ORIGINAL = ["quality", "source", "target"]
MISTAKE_MAKERS = {kind: mistake.make for kind, mistake in MISTAKES.items()}


def _rate(text: str) -> tuple[str, float]:
    """Read ``KIND=RATE``."""
    kind, _, rate = text.partition("=")
    try:
        return kind, float(rate)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not KIND=RATE, such as shuffled=0.1") from None


def _words(text: str) -> tuple[int, int]:
    """Read ``MIN-MAX``."""
    found = re.fullmatch("([0-9]+)-([0-9]+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise click.BadParameter(f"{text!r} is not a range, such as 6-60")
    return int(found[1]), int(found[2])


@dataclass(frozen=True)
class _Settings:
    """The kinds of noise, their material, and the pairs to damage."""

    rates: tuple[tuple[str, float], ...] = option(
        "--rate KIND=RATE",
        "Share of the pairs to damage, 0 to 1, for each kind; repeatable. all=RATE or "
        "mistakes=RATE: divided evenly among the kinds of crawls, or the mistakes, not named.",
        _rate,
        multiple=True,
        required=True,
    )
    seed: int = option("--seed", "Seed of the random choices.", int, 1)
    languages: tuple[str, str] | None = languages_option("For negations, boilerplate and remarks.")
    foreign: tuple[str, ...] = option(
        "--foreign FILE",
        "For wrong-language: sentences in neither language, one a line; repeatable.",
        multiple=True,
    )
    related: str | None = option(
        "--related FILE", "For related-word: rows of a language, a word and a related word."
    )
    lexicon: str | None = option(
        "--lexicon FILE", "For word-by-word: rows of a source word and a translation."
    )
    original: bool = flag(
        "--original", "Append the quality that is left, 0 to 1, and the undamaged texts, too."
    )
    words: tuple[int, int] = option(
        "--words MIN-MAX", "Fewest and most words of a side of a damaged pair.", _words, "6-60"
    )
    outside: str = option(
        "--outside", "Leave pairs of other lengths clean, or drop them.", ["clean", "drop"], "clean"
    )
    window: int = option(
        "--window N", "Other pairs are drawn from the N before and the N after.", COUNT, 10_000
    )


@command("bitext-noise", _Settings, row_options(drops=True), uses="")
@fill_lists(CRAWL_NOISE=first_lines(CRAWL_NOISE), MISTAKES=first_lines(MISTAKE_MAKERS))
def main(run: Run, settings: _Settings) -> None:
    """Damage some pairs of clean bitext, and append a label: clean, or the kind of damage.

    Writes each row with the damaged text in its columns, and the label as the last one (called
    label under --header). A pair is damaged once at most.

    Kinds of crawls (all=RATE):

        CRAWL_NOISE

    Mistakes in a translation (mistakes=RATE):

        MISTAKES

    A kind is drawn among those that apply to the pair, by their rates. The same rows, options and
    --seed give the same noise. Memory holds --window rows, and twice as many pairs.

    Example:

        bitext-noise --rate all=0.5 --languages en,de --foreign fr.txt < clean.tsv > noisy.tsv
        bitext-noise --rate mistakes=1 --original --languages en,de < clean.tsv > contrasts.tsv
    """
    reader, seed = run.rows(), settings.seed
    sentences = (line for path in settings.foreign for line in read_lines(path))
    noise = noise_settings(settings.languages, sentences, settings.words, settings.window, seed)
    noise = replace(noise, related=_related(settings), lexicon=_lexicon(settings))
    chosen = _chosen_rates(settings.rates, noise)
    waiting: deque[Row] = deque()
    pairs = _pairs(run, reader, noise if settings.outside == "drop" else None, waiting)
    noisy = noisy_pairs(pairs, chosen, seed, noise)
    for kind in (kind for group, _ in settings.rates for kind in GROUPS.get(group, ())):
        if (lack := noise.lacks(kind)) is not None:
            run.note(f"without {kind}, which needs {lack}")
    run.facts.update(seed=seed, rates={**chosen})
    run.counts.update(dict.fromkeys((CLEAN, *chosen), 0))
    output = run.output()
    output.write(reader.first_line(["label", *(_ORIGINAL if settings.original else ())]))
    places = [reader.place(wanted) for wanted in run.row_settings.columns.wanted()]
    for source, target, label in noisy:
        row = waiting.popleft()
        run.counts[label] += 1
        line = row.line if label == CLEAN else with_texts(row.line, places, (source, target))
        more = [f"{quality_of(label):g}", row.source, row.target] if settings.original else []
        output.write(b"\t".join([line, *map(str.encode, (label, *more))]) + row.ending)


def _chosen_rates(
    rates: tuple[tuple[str, float], ...], settings: NoiseSettings
) -> dict[str, float]:
    """Return the rate of each kind."""
    named = dict(rates)
    if len(named) < len(rates):
        raise click.UsageError("--rate has a kind twice")
    groups = {group: named.pop(group) for group in GROUPS if group in named}
    for group, rate in groups.items():
        named |= even_rates(rate, settings, named, group)
    return named


def _related(settings: _Settings) -> dict[str, dict[str, list[str]]]:
    """Read --related."""
    table: dict[str, dict[str, list[str]]] = {}
    for language, word, other in _fields(settings.related, "--related", 3):
        language = any_language(language).code
        table.setdefault(language, {}).setdefault(word.lower(), []).append(other)
    return table


def _lexicon(settings: _Settings) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Read --lexicon, both ways."""
    if settings.lexicon is None or settings.languages is None:
        return {}
    source, target = settings.languages
    both: tuple[dict[str, list[str]], dict[str, list[str]]] = {}, {}
    for one, other in _fields(settings.lexicon, "--lexicon", 2):
        both[0].setdefault(one.lower(), []).append(other)
        both[1].setdefault(other.lower(), []).append(one)
    return {(source, target): both[0], (target, source): both[1]}


def _fields(path: str | None, name: str, columns: int) -> Iterator[list[str]]:
    """Yield the first columns of each row of a file; raises InputError where there are fewer."""
    for number, line in enumerate(read_lines(path) if path else (), 1):
        fields = line.split("\t")
        if len(fields) < columns or not all(fields[:columns]):
            message = f"expected {columns} columns with text ({name})"
            raise InputError(message, file=path, line=number)
        yield fields[:columns]


def _pairs(
    run: Run, reader: RowReader, limits: NoiseSettings | None, waiting: deque[Row]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of good rows; the rows are appended to *waiting*.

    With *limits*, rows with too short or too long a side are dropped.
    """
    if limits is not None:
        run.counts["dropped"] = 0
    for window in run.windows(reader):
        for row in window:
            if isinstance(row, BadRow):
                continue
            if limits is None or all(map(limits.fits, row.texts)):
                waiting.append(row)
                yield row.source, row.target
            else:
                fewest, most = limits.words
                run.drop(row, f"a side of fewer than {fewest} or more than {most} words")
