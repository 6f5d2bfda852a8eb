"""Options that name translators and language models, and what they load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import BadRow, Row, RowReader, is_blank

if TYPE_CHECKING:
    from bitextfilter.scoring.model_scorers import Fluency, ModelScorers
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.translation.translator import SearchSettings, Translation, Translator


_SAID = 5
"""Over-long lines that are named; the summary counts all."""


def search_options(what: str, beam: str) -> list[click.Parameter]:
    """Return --model, how to search, and how to write what was found.

    ``what`` is written, such as ``translation``; ``beam`` says the default of --beam.
    """
    return [
        click.Option(
            ["--model"], required=True, metavar="DIR", help="The folder of bitext-train-translator."
        ),
        click.Option(
            ["--beam"],
            type=click.IntRange(1, 100),
            metavar="N",
            help=f"Hypotheses kept while searching; 1 is greedy search.  [default: {beam}]",
        ),
        click.Option(
            ["--n-best"],
            type=click.IntRange(1, 100),
            metavar="K",
            help=f"Write the K best of each line: line number, rank, score, {what}.",
        ),
        *_sampling_options(what),
        click.Option(
            ["--max-length"],
            type=click.IntRange(min=1),
            default=256,
            show_default=True,
            metavar="N",
            help=f"Most subwords of a line that are read, and of a {what}.",
        ),
        click.Option(
            ["--digits"],
            type=click.IntRange(0, 9),
            default=4,
            show_default=True,
            help="Decimals of scores.",
        ),
    ]


def _sampling_options(what: str) -> list[click.Parameter]:
    return [
        click.Option(
            ["--sample"], is_flag=True, help=f"Draw {what}s at random instead of searching."
        ),
        click.Option(
            ["--temperature"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="X",
            help="Of --sample: below 1 the likely becomes likelier.  [default: 1]",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(min=0),
            metavar="N",
            help="Of --sample.  [default: 1]",
        ),
    ]


def search_settings(options: dict[str, Any], spare: int = 0) -> SearchSettings:
    """How to search; UsageError where options contradict each other.

    A beam of the default width keeps at least ``spare`` hypotheses more than --n-best.
    """
    from bitextfilter.translation.translator import SearchSettings

    beam, sample, n_best = options["beam"], options["sample"], options["n_best"]
    if sample and beam is not None:
        raise click.UsageError("--sample goes without --beam")
    for name in () if sample else ("temperature", "seed"):
        if options[name] is not None:
            raise click.UsageError(f"--{name} goes with --sample")
    if n_best is not None and beam is not None and n_best > beam:
        raise click.UsageError(f"--n-best {n_best} needs a --beam of at least as many")
    width = (n_best or 1) if sample else beam or max(5, (n_best or 1) + spare)
    return SearchSettings(
        width=width,
        maximum_length=options["max_length"],
        sample=sample,
        temperature=options["temperature"] or 1.0,
        seed=1 if options["seed"] is None else options["seed"],
    )


def load(run: Run, name: str | None, settings: SearchSettings) -> Translator:
    """Load a model; summary and manifest carry its name and digest, and a seed that counts."""
    from bitextfilter.models.folders import model_digest
    from bitextfilter.translation.registry import load_translator

    folder = Path(name or "")
    translator = load_translator(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=model_digest(folder))
    if settings.sample:
        run.facts["seed"] = settings.seed
    return translator


def text_of(row: Row | BadRow) -> str:
    """The sentence of a row: empty where it is blank or bad."""
    return "" if isinstance(row, BadRow) or is_blank(row.texts[0]) else row.texts[0]


def found_windows(
    run: Run,
    rows: RowReader,
    find: Callable[[Sequence[Row | BadRow]], Sequence[Translation]],
) -> Iterator[list[tuple[Row | BadRow, Translation]]]:
    """Yield windows of lines, each with what *find* found for it, and count."""
    run.counts.update(overlong=0, unfinished=0)
    for window in run.windows(rows):
        found = find(window)
        _say_overlong(run, window, found)
        run.counts["unfinished"] += sum(
            not best.whole for row in found for best in row.hypotheses[:1]
        )
        yield list(zip(window, found, strict=True))


def _say_overlong(run: Run, window: Sequence[Row | BadRow], found: Sequence[Translation]) -> None:
    """Name the lines that were not read to their ends."""
    for row, translation in zip(window, found, strict=True):
        if not translation.left:
            continue
        run.counts["overlong"] += 1
        if run.counts["overlong"] <= _SAID:
            run.warn(f"line {row.number}: its last {translation.left} subwords were not read"
                     " (--max-length)")  # fmt: skip


def output_lines(
    row: Row | BadRow, translation: Translation, n_best: int | None, digits: int
) -> Iterator[bytes]:
    """What is written for a line: the best that was found, or rows of the best few."""
    if n_best is None:
        yield translation.best.encode() + row.ending
        return
    ending = row.ending or b"\n"
    if not translation.hypotheses:
        yield f"{row.number}\t1\t\t".encode() + ending
    for rank, found in enumerate(translation.hypotheses[:n_best], 1):
        cells = f"{row.number}\t{rank}\t{found.score:.{digits}f}\t{found.text}"
        yield cells.encode() + ending


OPTIONS = ("translator", "language_models", "weights")


def model_scorer_options() -> list[click.Parameter]:
    """Return --translator, --language-models and --weights."""
    return [
        click.Option(
            ["--translator"],
            metavar="DIR[,DIR]",
            help="For translation, dual and log-linear: models of bitext-train-translator, from "
            "source to target, or of both directions.",
        ),
        click.Option(
            ["--language-models"],
            metavar="FILE,FILE",
            help="For language-model and log-linear: models of bitext-train-language-model of "
            "source and target; of one side: FILE, or ,FILE.",
        ),
        click.Option(
            ["--weights"],
            metavar="W,W,W,W",
            help="Of log-linear: translators forward and backward, language models of source and "
            "target.  [default: 0.25 each]",
        ),
    ]


def check_model_scorer_options(options: dict[str, Any], measures: Sequence[str]) -> None:
    """Raise UsageError for options that no measure asked for needs."""
    from bitextfilter.scoring.measures import TRANSLATION_MEASURES

    asked = [TRANSLATION_MEASURES[name] for name in measures if name in TRANSLATION_MEASURES]
    used = {
        "translator": any(measure.translators for measure in asked),
        "language_models": any(measure.language_models for measure in asked),
        "weights": "log-linear" in measures,
    }
    users = {
        "translator": "translation, dual or log-linear",
        "language_models": "language-model or log-linear",
        "weights": "log-linear",
    }
    for name in OPTIONS:
        if options[name] is not None and not used[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --similarity {users[name]}")


def load_model_scorers(
    run: Run, options: dict[str, Any], measures: Sequence[str], languages: tuple[str, str] | None
) -> tuple[ModelScorers, TextProcessor | None]:
    """Load what the options name; summary and manifest carry the translators' digests.

    ``languages`` are those of the columns; None for those of the first translator, whose text
    processing is returned, too. Raises SettingsError for languages that do not fit.
    """
    from bitextfilter.models.folders import full_model_digest
    from bitextfilter.scoring.model_scorers import WEIGHTS, ModelScorers, check_scorers

    folders = options["translator"].split(",") if options["translator"] else []
    if len(folders) > 2:
        raise click.UsageError("--translator takes one folder, or two")
    translators = [_translator(run, Path(folder)) for folder in folders]
    digests = [full_model_digest(Path(folder)) for folder in folders]
    _say(run, "translators", folders, digests)
    processor = translators[0].processor if translators else None
    languages = languages or (processor.languages if processor else ("", ""))
    ways = _ways([*zip(folders, translators, strict=True)], languages)
    named = dict(zip((some.processor.languages for some in translators), digests, strict=True))
    source, target = _sides(options["language_models"])
    contents = _content(source), _content(target)
    _say(run, "language_models", (source, target), contents)
    scorers = ModelScorers(
        forward=ways.get(languages),
        backward=ways.get(languages[::-1]),
        fluency=(_language_model(source), _language_model(target)),
        weights=WEIGHTS if options["weights"] is None else _weights(options["weights"]),
        digests=(named.get(languages, ""), named.get(languages[::-1], ""), *contents),
    )
    check_scorers(scorers, measures)
    return scorers, processor


def _ways(
    translators: Sequence[tuple[str, Translator]], languages: tuple[str, str]
) -> dict[tuple[str, str], Translator]:
    """Return translators of folders by what they translate; SettingsError for what does not fit."""
    ways: dict[tuple[str, str], Translator] = {}
    for folder, translator in translators:
        own = translator.processor.languages
        if own in ways or own not in (languages, languages[::-1]):
            left = [way for way in dict.fromkeys((languages, languages[::-1])) if way not in ways]
            wanted = " or ".join(f"{one} into {other}" for one, other in left)
            raise SettingsError(
                f"--translator {folder} is from {own[0]} into {own[1]}, "
                + (f"not {wanted}" if wanted else "as the first is: one is enough")
            )
        ways[own] = translator
    return ways


def _translator(run: Run, folder: Path) -> Translator:
    from bitextfilter.translation.registry import load_translator

    return load_translator(folder, run.common.device, run.common.threads)


def _say(run: Run, what: str, paths: Sequence[str], digests: Sequence[str]) -> None:
    """Let summary and manifest carry names and digests, without the folders on the way there."""
    pairs = zip(paths, digests, strict=True)
    named = [f"{Path(path).name} {model_digest[:12]}" for path, model_digest in pairs if path]
    if named:
        run.facts[what] = ", ".join(named)


def _sides(files: str | None) -> tuple[str, str]:
    """Return the file of either side; empty where there is none."""
    names = (files or "").split(",")
    if len(names) > 2:
        raise click.UsageError("--language-models takes one file a side")
    source, target = (*names, "")[:2]
    return source, target


def _content(path: str) -> str:
    """Return the digest of a file; empty for none."""
    from bitextfilter.workflows.resuming import content

    return content(path) if path else ""


def _language_model(path: str) -> Fluency | None:
    """Return what gives natural-log probabilities of a token, for a file."""
    from math import log

    from bitextfilter.filters.fluency import load_language_model

    if not path:
        return None
    model = load_language_model(path)

    def fluency(sentences: Sequence[str]) -> Any:
        logarithms, tokens = model.scores(sentences)
        return log(10) * logarithms / tokens

    return fluency


def _weights(text: str) -> tuple[float, float, float, float]:
    """Read four numbers."""
    try:
        forward, backward, source, target = (float(number) for number in text.split(","))
        if not isfinite(forward + backward + source + target):
            raise ValueError
    except ValueError:
        raise click.UsageError(f"--weights {text}: four numbers, such as 1,1,0.5,0.5") from None
    return forward, backward, source, target
