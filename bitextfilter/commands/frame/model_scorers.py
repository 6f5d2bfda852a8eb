"""Options of commands that score pairs by translators and language models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.options import option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import SettingsError
from bitextfilter.scoring.measures import TRANSLATION_MEASURES

if TYPE_CHECKING:
    from bitextfilter.arrays import Floats
    from bitextfilter.scoring.model_scorers import Fluency, ModelScorers
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.translation.translator import Translator


@dataclass(frozen=True)
class ScorerOptions:
    """The models of measures by translators and language models."""

    translator: str | None = option(
        "--translator DIR[,DIR]",
        "For translation, dual and log-linear: models of bitext-train-translator, from "
        "source to target, or of both directions.",
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

    @property
    def folders(self) -> list[str]:
        """The folders of the translators; UsageError for more than two."""
        folders = self.translator.split(",") if self.translator else []
        if len(folders) > 2:
            raise click.UsageError("--translator takes one folder, or two")
        return folders

    @property
    def files(self) -> tuple[str, str]:
        """The language model of each side, empty for none; UsageError for more than two."""
        names = (self.language_models or "").split(",")
        if len(names) > 2:
            raise click.UsageError("--language-models takes one file a side")
        source, target = (*names, "")[:2]
        return source, target

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """The weights of the log-linear combination; UsageError unless there are four."""
        from bitextfilter.scoring.model_scorers import WEIGHTS

        if self.weights is None:
            return WEIGHTS
        try:
            forward, backward, source, target = map(float, self.weights.split(","))
            if not isfinite(forward + backward + source + target):
                raise ValueError
        except ValueError:
            message = f"--weights {self.weights}: four numbers, such as 1,1,0.5,0.5"
            raise click.UsageError(message) from None
        return forward, backward, source, target


def load_scorers(
    run: Run, options: ScorerOptions, measures: Sequence[str], languages: tuple[str, str] | None
) -> tuple[ModelScorers, TextProcessor | None]:
    """Load the models of the options; summary and manifest carry their digests.

    ``languages``: of the columns; None for those of the first translator. Also returns the text
    processing of the first translator. Raises SettingsError for models of other languages, and for
    measures that lack a model.
    """
    from bitextfilter.models.folders import full_model_digest
    from bitextfilter.scoring.model_scorers import ModelScorers, check_scorers
    from bitextfilter.translation.registry import load_translator
    from bitextfilter.workflows.fingerprints import file_digest

    folders = options.folders
    translators = [
        load_translator(Path(folder), run.common.device, run.common.threads) for folder in folders
    ]
    digests = [full_model_digest(Path(folder)) for folder in folders]
    _add_fact(run, "translators", folders, digests)
    processor = translators[0].processor if translators else None
    languages = languages or (processor.languages if processor else ("", ""))
    directions = _directions([*zip(folders, translators, strict=True)], languages)
    by_direction = dict(zip((one.processor.languages for one in translators), digests, strict=True))
    source, target = options.files
    contents = file_digest(source) if source else "", file_digest(target) if target else ""
    _add_fact(run, "language_models", options.files, contents)
    forward, backward = languages, languages[::-1]
    scorers = ModelScorers(
        forward=directions.get(forward),
        backward=directions.get(backward),
        fluency=(_language_model(source), _language_model(target)),
        weights=options.numbers,
        digests=(by_direction.get(forward, ""), by_direction.get(backward, ""), *contents),
    )
    check_scorers(scorers, measures)
    return scorers, processor


def _directions(
    translators: Sequence[tuple[str, Translator]], languages: tuple[str, str]
) -> dict[tuple[str, str], Translator]:
    """Return the translators of folders by their languages; SettingsError for other languages."""
    found: dict[tuple[str, str], Translator] = {}
    for folder, translator in translators:
        own = translator.processor.languages
        left = [pair for pair in dict.fromkeys((languages, languages[::-1])) if pair not in found]
        if own not in left:
            wanted = " or ".join(f"{one} into {other}" for one, other in left)
            raise SettingsError(
                f"--translator {folder} is from {own[0]} into {own[1]}, "
                + (f"not {wanted}" if wanted else "as the first is: one is enough")
            )
        found[own] = translator
    return found


def _add_fact(run: Run, name: str, paths: Sequence[str], digests: Sequence[str]) -> None:
    """Add the names, without folders, and digests of models to the facts of a run."""
    pairs = zip(paths, digests, strict=True)
    if named := [f"{Path(path).name} {digest[:12]}" for path, digest in pairs if path]:
        run.facts[name] = ", ".join(named)


def _language_model(path: str) -> Fluency | None:
    """Return the mean natural-log probability of a token by a file's model; None for no file."""
    if not path:
        return None
    from bitextfilter.filters.fluency import load_language_model

    model = load_language_model(path)

    def fluency(sentences: Sequence[str]) -> Floats:
        logarithms, tokens = model.scores(sentences)
        return log(10) * logarithms / tokens

    return fluency
