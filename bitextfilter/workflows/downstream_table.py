"""The figures of systems, seeds and test sets, of what their translators wrote."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from bitextfilter import __version__
from bitextfilter.evaluation.bleu import bleu, bleu_difference, chrf
from bitextfilter.evaluation.bootstrap import Bootstrap, Estimate
from bitextfilter.evaluation.result import Result, interval
from bitextfilter.workflows.downstream import Outcome

__all__ = ["Line", "lines_of", "result_of"]


@dataclass(frozen=True)
class Line:
    """A line of the table: a system, a seed and a test set, or the mean or deviation of seeds."""

    system: str
    seed: str
    """A number, ``mean``, or ``sd``: the standard deviation of a sample, by n - 1."""
    test: str
    rows: float
    words: float
    subwords: float
    bleu: float
    chrf: float
    difference: Estimate | None = None
    """In BLEU, from the first system with the same seed; None of the first, and over seeds."""
    bleu_signature: str = ""
    chrf_signature: str = ""


def lines_of(
    outcomes: Mapping[tuple[str, int], Outcome],
    tests: Mapping[str, Sequence[str]],
    bootstrap: Bootstrap,
) -> list[Line]:
    """Measure what was written.

    Args:
        outcomes: by name of system and seed; the first system is the one to compare with.
        tests: references by the name of the test set, in the order of the translations.
        bootstrap: of the differences' intervals.

    Returns:
        System by system and test by test: its seeds, and of several the mean and deviation.
    """
    systems = list(dict.fromkeys(name for name, _ in outcomes))
    seeds = list(dict.fromkeys(seed for _, seed in outcomes))
    lines: list[Line] = []
    for system in systems:
        for place, (test, references) in enumerate(tests.items()):
            measured = []
            for seed in seeds:
                ours, first = outcomes[system, seed], outcomes[systems[0], seed]
                baseline = None if system == systems[0] else first.translations[place]
                line = _line((system, str(seed), test), ours, place, references)
                if baseline is not None:
                    found = ours.translations[place], baseline, references
                    line = replace(line, difference=bleu_difference(*found, bootstrap))
                measured.append(line)
            lines += [*measured, *_over_seeds(measured)]
    return lines


def _line(
    names: tuple[str, str, str], outcome: Outcome, place: int, references: Sequence[str]
) -> Line:
    written = outcome.translations[place]
    first, second = bleu(written, references), chrf(written, references)
    counts = (outcome.rows, outcome.words, outcome.subwords)
    signatures = (first.signature, second.signature)
    return Line(*names, *counts, first.score, second.score, None, *signatures)


def _over_seeds(lines: Sequence[Line]) -> list[Line]:
    """Return the mean and the standard deviation of the lines of several seeds."""
    averages: dict[str, Callable[[Iterable[float]], float]] = {}
    if len(lines) > 1:
        averages = {"mean": statistics.mean, "sd": statistics.stdev}
    return [
        replace(
            lines[0],
            seed=name,
            rows=average(float(line.rows) for line in lines),
            words=average(float(line.words) for line in lines),
            subwords=average(float(line.subwords) for line in lines),
            bleu=average(line.bleu for line in lines),
            chrf=average(line.chrf for line in lines),
            difference=None,
        )
        for name, average in averages.items()
    ]


def result_of(lines: Sequence[Line], file: str) -> Result:
    """Return the lines as a result of *file*; means of counts have one decimal."""
    columns = dict.fromkeys(("system", "seed", "test", "rows", "words", "subwords"), ".1f")
    columns |= dict.fromkeys(("bleu", "chrf"), ".2f") | interval("difference", form=".2f")
    columns |= dict.fromkeys(("bleu_signature", "chrf_signature"), "")
    facts = {"file": file, "version": __version__}
    return Result("downstream", columns, {"results": list(map(asdict, lines))}, facts, "")
