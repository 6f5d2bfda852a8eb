"""``bitext-noise``: damage clean pairs, and say how."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import language_pair, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import read_lines
from bitextfilter.io.rows import BadRow, Row, RowReader

if TYPE_CHECKING:
    from bitextfilter.corpus.damage import WordRange
    from bitextfilter.corpus.noise import NoiseSettings


_ALL = "all"


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


@command("bitext-noise", row_options(drops=True), batch_size=None)
@click.option(
    "--rate",
    "rates",
    type=_rate,
    multiple=True,
    required=True,
    metavar="KIND=RATE",
    help="The part of the pairs to damage so, 0 to 1; again for each kind. all=RATE: RATE in "
    "all, shared evenly by the kinds that are not named.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of what is drawn.")
@click.option(
    "--languages", type=language_pair, metavar="SOURCE,TARGET", help="For negation and boilerplate."
)
@click.option(
    "--foreign",
    multiple=True,
    metavar="FILE",
    help="For wrong-language: sentences in neither language, one a line; again for more.",
)
@click.option(
    "--words",
    type=_words,
    default="6-60",
    show_default=True,
    metavar="MIN-MAX",
    help="How many words either side of a pair has that is damaged.",
)
@click.option(
    "--outside",
    type=click.Choice(["clean", "drop"]),
    default="clean",
    show_default=True,
    help="What becomes of pairs with fewer or more.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Other pairs are drawn from the N before and the N after.",
)
def main(run: Run, **options: Any) -> None:
    """Damage some pairs of clean bitext as crawls do, and append how: clean, or the kind.

    Writes each row as it came, with the damaged text in its columns and the label as the last
    one (called label under --header). One damage a pair.

    Kinds:

        shuffled        the target of another pair
        neighbouring    the target of the pair one or two lines away
        misordered      the words of a side in any order
        wrong-language  a sentence of --foreign in place of a side
        copied          a side on both sides
        truncated       the first 35 to 60 % of the words of a side
        extra           the sentence of another pair after a side
        number          another whole number in place of one, on one side
        name            another name in place of one on both sides, on one side
        negation        a side without one of its negations, by --languages
        boilerplate     what web pages repeat, on one side or both, by --languages
        short           one to five words in a row of each side
        mojibake        a side with its UTF-8 read as Windows-1252
        repeated        one to four words of a side three to eight times
        half            the second half of the source in place of the target's

    A kind is drawn among those that the pair allows, by their rates. The same rows, options and
    --seed give the same noise. Memory holds --window rows, and twice as many pairs.

    Example:

        bitext-noise --rate all=0.5 --languages en,de --foreign fr.txt < clean.tsv > noisy.tsv
        bitext-noise --rate shuffled=0.1 --rate number=0.05 -i clean.tsv.gz -o noisy.tsv.gz
    """
    _write(run, **options)


def _write(
    run: Run, rates: tuple[tuple[str, float], ...], seed: int, outside: str, **options: Any
) -> None:
    """Write every row, damaged or not, with its label."""
    from bitextfilter.corpus.noise import CLEAN, noisy_pairs

    rows = run.rows()
    settings = _settings(seed, **options)
    chosen = _chosen_rates(rates, settings)
    waiting: deque[Row] = deque()
    pairs = _pairs(run, rows, settings.limits if outside == "drop" else None, waiting)
    noisy = noisy_pairs(pairs, chosen, seed, settings)
    if _ALL in dict(rates):
        _say_what_is_left_out(run, settings)
    output = run.output()
    output.write(rows.first_line(["label"]))
    run.facts.update(seed=seed, rates={**chosen})
    run.counts.update(dict.fromkeys((CLEAN, *chosen), 0))
    places = [rows.place(wanted) for wanted in run.row_settings.columns.wanted()]
    for source, target, label in noisy:
        row = waiting.popleft()
        run.counts[label] += 1
        line = row.line if label == CLEAN else _with_texts(row.line, places, (source, target))
        output.write(line + b"\t" + label.encode() + row.ending)


def _settings(
    seed: int,
    languages: tuple[str, str] | None,
    foreign: tuple[str, ...],
    words: tuple[int, int],
    window: int,
) -> NoiseSettings:
    """Return the settings of the noise."""
    from bitextfilter.corpus.noise import noise_settings

    sentences = (line for path in foreign for line in read_lines(path))
    return noise_settings(languages, sentences, words, window, seed)


def _chosen_rates(
    rates: tuple[tuple[str, float], ...], settings: NoiseSettings
) -> dict[str, float]:
    """Return the rate of each kind."""
    from bitextfilter.corpus.noise import even_rates

    named = dict(rates)
    if len(named) < len(rates):
        raise click.UsageError("--rate has a kind twice")
    if _ALL not in named:
        return named
    rest = named.pop(_ALL)
    return {**named, **even_rates(rest, settings, named)}


def _say_what_is_left_out(run: Run, settings: NoiseSettings) -> None:
    from bitextfilter.corpus.damage import KINDS

    for kind in KINDS:
        if (lack := settings.lacks(kind)) is not None:
            run.note(f"without {kind}, which needs {lack}")


def _pairs(
    run: Run, rows: RowReader, words: WordRange | None, waiting: deque[Row]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of good rows, which wait for what becomes of them.

    Rows with a side of too few or too many *words*, if given, are dropped.
    """
    if words is not None:
        run.counts["dropped"] = 0
    for window in run.windows(rows):
        for row in window:
            if isinstance(row, BadRow):
                continue
            if words is None or all(map(words.holds, row.texts)):
                waiting.append(row)
                yield row.source, row.target
            else:
                run.drop(
                    row, f"a side of fewer than {words.fewest} or more than {words.most} words"
                )


def _with_texts(line: bytes, places: list[int], texts: tuple[str, str]) -> bytes:
    """Return *line* with other texts in its columns."""
    fields = line.split(b"\t")
    for place, text in zip(places, texts, strict=True):
        fields[place] = text.encode()
    return b"\t".join(fields)
