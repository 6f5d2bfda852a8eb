"""The options that name translators and language models, and what they load."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.run import Run
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.scoring.translation import Fluency, Judges
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.translation.translator import Translator

__all__ = ["check_judge_options", "judge_options", "load_judges"]

OPTIONS = ("translator", "language_models", "weights")


def judge_options() -> list[click.Parameter]:
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


def check_judge_options(options: dict[str, Any], measures: Sequence[str]) -> None:
    """Raise UsageError for options that no measure asked for needs."""
    from bitextfilter.scoring.translation import JUDGED

    asked = [JUDGED[name] for name in measures if name in JUDGED]
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


def load_judges(
    run: Run, options: dict[str, Any], measures: Sequence[str], languages: tuple[str, str] | None
) -> tuple[Judges, TextProcessor | None]:
    """Load what the options name; summary and manifest carry the translators' digests.

    ``languages`` are those of the columns; None for those of the first translator, whose text
    processing is returned, too. Raises SettingsError for languages that do not fit.
    """
    from bitextfilter.models.folders import full_digest
    from bitextfilter.scoring.translation import WEIGHTS, Judges, check_judges

    folders = options["translator"].split(",") if options["translator"] else []
    if len(folders) > 2:
        raise click.UsageError("--translator takes one folder, or two")
    translators = [_translator(run, Path(folder)) for folder in folders]
    digests = [full_digest(Path(folder)) for folder in folders]
    _say(run, "translators", folders, digests)
    processor = translators[0].processor if translators else None
    languages = languages or (processor.languages if processor else ("", ""))
    ways = _ways([*zip(folders, translators, strict=True)], languages)
    named = dict(zip((some.processor.languages for some in translators), digests, strict=True))
    source, target = _sides(options["language_models"])
    contents = _content(source), _content(target)
    _say(run, "language_models", (source, target), contents)
    judges = Judges(
        forward=ways.get(languages),
        backward=ways.get(languages[::-1]),
        fluency=(_language_model(source), _language_model(target)),
        weights=WEIGHTS if options["weights"] is None else _weights(options["weights"]),
        contents=(named.get(languages, ""), named.get(languages[::-1], ""), *contents),
    )
    check_judges(judges, measures)
    return judges, processor


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
    named = [f"{Path(path).name} {digest[:12]}" for path, digest in pairs if path]
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
    from bitextfilter.workflows.contents import content

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
