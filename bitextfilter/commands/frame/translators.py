"""Options of commands that translate, or score pairs by translators and language models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.options import (
    COUNT,
    DIGITS,
    NATURAL,
    ModelOptions,
    NumberRange,
    Options,
    flag,
    option,
    options_of,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Row, is_blank
from bitextfilter.scoring.measures import TRANSLATION_MEASURES

if TYPE_CHECKING:
    from bitextfilter.evaluation.pair_scoring import LoadedScorers, ScorerFiles
    from bitextfilter.translation.translator import AnyTranslator, SearchSettings, Translation

_NAMED = 5
"""Lines longer than --max-length that are named; the summary counts all."""


@dataclass(frozen=True)
class SearchOptions:
    """The search of a translator, and the form of scores."""

    beam: int | None = option(
        "--beam N", "Hypotheses kept while searching.", click.IntRange(1, 100)
    )
    n_best: int | None = option("--n-best K", "Write the K best.", click.IntRange(1, 100))
    sample: bool = flag("--sample", "Draw at random instead of searching.")
    temperature: float | None = option(
        "--temperature X",
        "With --sample: below 1, likely subwords become likelier.  [default: 1]",
        NumberRange(min=0, min_open=True),
    )
    seed: int | None = option("--seed N", "With --sample: the seed.  [default: 1]", NATURAL)
    max_length: int = option("--max-length N", "Most subwords of a sentence.", COUNT, 256)
    digits: int = option("--digits", "Decimals of scores.", DIGITS, 4)

    def settings(self, spare: int = 0) -> SearchSettings:
        """Return the settings of the search; UsageError for options that contradict each other.

        A default beam keeps at least ``spare`` hypotheses more than --n-best.
        """
        from bitextfilter.translation.translator import SearchSettings

        if self.sample and self.beam is not None:
            raise click.UsageError("--sample goes without --beam")
        for name in () if self.sample else ("temperature", "seed"):
            if getattr(self, name) is not None:
                raise click.UsageError(f"--{name} goes with --sample")
        best = self.n_best or 1
        if self.beam is not None and best > self.beam:
            raise click.UsageError(f"--n-best {best} needs a --beam of at least {best}")
        return SearchSettings(
            width=best if self.sample else self.beam or max(5, best + spare),
            maximum_length=self.max_length,
            sample=self.sample,
            temperature=self.temperature or 1.0,
            seed=1 if self.seed is None else self.seed,
        )


def search_options(result: str, beam: str) -> Options:
    """Return the options of ``SearchOptions``.

    ``result``: a word for the output, such as ``translation``; ``beam``: the default of --beam.
    """
    texts = {
        "beam": f"Hypotheses kept while searching; 1 is greedy search.  [default: {beam}]",
        "n_best": f"Write the K best of each line: line number, rank, score, {result}.",
        "sample": f"Draw {result}s at random instead of searching.",
        "max_length": f"Most subwords read of a line, and written in a {result}.",
    }
    return options_of(SearchOptions, changes={name: {"help": text} for name, text in texts.items()})


@dataclass(frozen=True)
class TranslatorName(ModelOptions):
    """The translator of a command."""

    model: str | None = option(
        "--model DIR", "A folder of bitext-train-translator, or of CTranslate2.", required=True
    )
    languages: tuple[str, str] | None = None


def load_translation_model(run: Run, name: str | None, settings: SearchSettings) -> AnyTranslator:
    """Load a translator; summary and manifest carry its name and digest, and the seed in use."""
    from bitextfilter.models.folders import model_digest
    from bitextfilter.translation.translator import load_translator

    folder = Path(name or "")
    translator = load_translator(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=model_digest(folder))
    if settings.sample:
        run.facts["seed"] = settings.seed
    return translator


def text_of(row: Row | BadRow) -> str:
    """Return the sentence of a row, empty for a blank or bad row."""
    return "" if isinstance(row, BadRow) or is_blank(row.texts[0]) else row.texts[0]


def found_windows(
    run: Run,
    rows: RowReader,
    find: Callable[[Sequence[Row | BadRow]], Sequence[Translation]],
) -> Iterator[list[tuple[Row | BadRow, Translation]]]:
    """Yield windows of lines with their translations by *find*; count and name long lines."""
    run.counts.update(overlong=0, unfinished=0)
    for window in run.windows(rows):
        found = find(window)
        for row, translation in zip(window, found, strict=True):
            run.counts["overlong"] += bool(translation.left)
            if translation.left and run.counts["overlong"] <= _NAMED:
                left = f"its end ({translation.left} subwords) was not read (--max-length)"
                run.warn(f"line {row.number}: {left}")
        run.counts["unfinished"] += sum(
            not best.whole for row in found for best in row.hypotheses[:1]
        )
        yield list(zip(window, found, strict=True))


def output_lines(
    row: Row | BadRow, translation: Translation, options: SearchOptions
) -> Iterator[bytes]:
    """Yield the output for a line: its best translation, or a row for each of the --n-best."""
    if options.n_best is None:
        text = translation.best.encode()
        yield text + (row.ending if text else row.ending or b"\n")  # else it is no line
        return
    ending = row.ending or b"\n"
    if not translation.hypotheses:
        yield f"{row.number}\t1\t\t".encode() + ending
    for rank, found in enumerate(translation.hypotheses[: options.n_best], 1):
        cells = f"{row.number}\t{rank}\t{found.score:.{options.digits}f}\t{found.text}"
        yield cells.encode() + ending


@dataclass(frozen=True)
class ScorerOptions:
    """The models of measures by translators and language models."""

    translator: str | None = option(
        "--translator DIR[,DIR]",
        "For translation, dual and log-linear: models of bitext-train-translator or of "
        "CTranslate2, from source to target, or of both directions.",
    )
    language_models: str | None = option(
        "--language-models FILE,FILE",
        "For language-model and log-linear: models of bitext-train-language-model of "
        "source and target; of one side: FILE, or ,FILE.",
    )
    weights: str | None = option(
        "--weights W,W,W,W",
        "For log-linear: weights of translators forward and backward, and of language "
        "models of source and target.  [default: 0.25 each]",
    )

    def check(self, measures: Sequence[str]) -> None:
        """Raise UsageError for an option that no measure needs."""
        known = TRANSLATION_MEASURES
        users = {
            "translator": [name for name in known if known[name].translators],
            "language_models": [name for name in known if known[name].language_models],
            "weights": ["log-linear"],
        }
        for name, names in users.items():
            if getattr(self, name) is not None and not set(names) & set(measures):
                *some, last = names
                either = f"{', '.join(some)} or {last}" if some else last
                raise click.UsageError(f"--{name.replace('_', '-')} is for --similarity {either}")

    def files(self) -> ScorerFiles:
        """Return the files of the models, and the weights; UsageError for too many of them."""
        from bitextfilter.evaluation.pair_scoring import ScorerFiles

        folders = self.translator.split(",") if self.translator else []
        if len(folders) > 2:
            raise click.UsageError("--translator takes one folder, or two")
        names = (self.language_models or "").split(",")
        if len(names) > 2:
            raise click.UsageError("--language-models takes one file a side")
        source, target = (*names, "")[:2]
        if self.weights is None:
            return ScorerFiles(folders, (source, target))
        try:
            one, two, three, four = map(float, self.weights.split(","))
            if not isfinite(one + two + three + four):
                raise ValueError
        except ValueError:
            message = f"--weights {self.weights}: four numbers, such as 1,1,0.5,0.5"
            raise click.UsageError(message) from None
        return ScorerFiles(folders, (source, target), (one, two, three, four))


def load_scorers(
    run: Run, options: ScorerOptions, measures: Sequence[str], languages: tuple[str, str] | None
) -> LoadedScorers:
    """Load the models of the options; summary and manifest carry their digests.

    ``languages``: of the columns; None for the first translator's. Raises SettingsError for
    models of other languages, and for measures that lack a model.
    """
    from bitextfilter.evaluation.pair_scoring import load_model_scorers

    files, common = options.files(), run.common
    loaded = load_model_scorers(files, measures, languages, common.device, common.threads)
    run.facts.update(loaded.facts)
    return loaded
