"""``bitext-train``: pairs in, a whole model out."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command, keep_freed_memory
from bitextfilter.commands.frame.first_rows import CHECKED_ROWS
from bitextfilter.commands.frame.formats import rows_of_format
from bitextfilter.commands.frame.options import (
    argument,
    flag,
    languages_option,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    NEW_MODEL_OF_ROWS,
    TrainingOptions,
    TrainingReporter,
    graded_pairs,
    training_settings,
    weighted,
)
from bitextfilter.commands.models.lines import lines
from bitextfilter.corpus.formats.base import FORMATS, format_of
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.drafts import temporary_folder
from bitextfilter.io.files import locked, make_folder, read_lines
from bitextfilter.io.records import file_digest
from bitextfilter.io.rows import Columns, Row
from bitextfilter.io.work_folder import PLAN, claim, read_plan
from bitextfilter.models.folders import (
    CONFIG,
    check_replaceable,
    find_model,
    model_digest,
    shipped_models,
)

if TYPE_CHECKING:
    from bitextfilter.training.loop import Progress
    from bitextfilter.training.model_training import GivenPairs, ModelTraining, Pair

_NONE = "none"
_FEW = 20_000
"""With fewer pairs, a model finds other sentences, but hardly a wrong name or figure."""


@dataclass(frozen=True)
class _Settings:
    """The pairs, what else there is to learn from, and the stages."""

    files: tuple[str, ...] = argument("PAIRS...", nargs=-1, required=True)
    languages: tuple[str, str] | None = languages_option(
        "The languages, as en,pl  [default: as the text tells]", tags=True
    )
    development: str | None = option(
        "--development FILE",
        "Pairs to validate on, of the kind of text to be scored  [default: 1,000 of PAIRS, or a"
        " tenth]",
    )
    foreign: str | None = option(
        "--foreign FILE", "Sentences in other languages, one a line, that crawls have by mistake."
    )
    classifier_pairs: tuple[str, ...] = option(
        "--classifier-pairs FILE", "Pairs for the classifier alone; repeatable.", multiple=True
    )
    graded: tuple[str, ...] = option(
        "--graded FILE[@WEIGHT]",
        "Pairs with a grade in the last column, 0 to 1, higher is better; repeatable.",
        multiple=True,
    )
    encoder: str | None = option(
        "--encoder NAME|DIR", "Take the encoder of this model instead of training one."
    )
    start: str | None = option(
        "--start NAME|DIR",
        "Train the classifier of this model further; none: a new one.  [default: a shipped one of"
        " the languages, or of one of them]",
    )
    keep: bool = flag("--keep", "Leave the files of the stages in MODEL.training.")
    dry_run: bool = flag("--dry-run", "Write how long each stage will take, and end.")

    @property
    def paths(self) -> dict[str, list[str]]:
        """The files of each kind, by the option that names them; ``file`` of PAIRS."""
        return {
            "file": [*self.files],
            "--development": [] if self.development is None else [self.development],
            "--foreign": [] if self.foreign is None else [self.foreign],
            "--classifier-pairs": [*self.classifier_pairs],
            "--graded": [weighted(text, "--graded")[0] for text in self.graded],
        }


@command(
    "bitext-train",
    _Settings,
    NEW_MODEL_OF_ROWS,
    training_settings("training.model_training.ModelConfig", "seed"),
    uses="threads device",
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions) -> None:
    """Train a whole model from pairs: encoder, classifier, calibration, cuts and card.

    Reads each of PAIRS, a file of any format of bitext-convert by its name; several kinds of text
    are better than many pairs of one. Clean a crawl by bitext-clean first. Pairs that are there
    twice, and those with a sentence of a development pair, are left out.

    A shipped model that knows both languages is measured first: it may be enough. Then a small
    trial says how long the training will take. Each stage leaves its files in MODEL.training: the
    same command again goes on where it was interrupted. Writes a line for each stage,
    tab-separated: its name, its seconds, those estimated, and its figures. Memory holds the text,
    and some 12 kB for each pair that the classifier learns from.

    Settings: --set encoder.training.passes=3, --set classifier.training.epochs=2 and so on.

    Example:

        bitext-train clean.en-pl.tsv.gz talks.tsv -o models/en-pl
        bitext-train --dry-run clean.en-pl.tsv.gz -o models/en-pl
        bitext-clean --model models/en-pl crawl.tsv.gz -o clean.tsv.gz
    """
    from bitextfilter.training.model_training import ModelConfig

    output = Path(run.row_settings.output)
    _check(settings, run.row_settings.output)
    check_replaceable(output)
    config = ModelConfig.from_dict(chosen.values())
    run.facts["seed"] = config.seed
    keep_freed_memory()
    new = False
    if settings.dry_run:
        work = run.enter(temporary_folder())
    else:
        work = output.with_name(output.name + ".training")
        make_folder(work)
        run.enter(locked(work))
        new = read_plan(work) is None
        claim(work, _plan(run, settings, config.to_dict()))
    try:
        training = _training(run, settings, config, work)
        estimates = _estimates(run, training)
    except BaseException:
        if new:  # nothing to go on with
            _remove(work)
        raise
    if settings.dry_run:
        rows = [[stage, f"{seconds:.0f}"] for stage, seconds in estimates.items()]
        run.output("-").write(lines([["stage", "estimate"], *rows]))
        return
    _train(run, training, estimates, output)
    if not settings.keep:
        _remove(work)


def _remove(work: Path) -> None:
    """Remove the folder of the stages: first the records, so that none is taken as done."""
    order = sorted(work.iterdir(), key=lambda p: (p.name == PLAN, p.suffix != ".json"))
    for path in order:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    work.rmdir()


def _check(settings: _Settings, output: str) -> None:
    """Raise UsageError for files that cannot be read together; find the models."""
    if output == "-":
        raise click.UsageError("a model is a folder: name one with -o")
    paths = settings.paths
    given = [*paths["file"], *paths["--classifier-pairs"], *paths["--development"]]
    if [*given, settings.foreign].count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    if "-" in paths["--graded"]:
        raise click.UsageError("--graded cannot be stdin")
    if settings.foreign == "-":
        raise click.UsageError("--foreign cannot be stdin")
    for path in given:
        if FORMATS[format_of(path) or "tsv"].read_files > 1:
            raise click.UsageError(f"{path}: of several files; bitext-convert makes one of them")
    for name in (settings.encoder, settings.start):
        if name not in (None, _NONE):
            find_model(str(name))


def _plan(run: Run, settings: _Settings, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the model depends on."""
    contents: dict[str, Any] = {
        f"{group} {number}, {Path(path).name},": (
            "a pipe" if _is_pipe(path) else file_digest(path)[:12]
        )
        for group, paths in settings.paths.items()
        for number, path in enumerate(paths, 1)
    }
    contents["the weights of --graded"] = [
        weighted(text, "--graded")[1] for text in settings.graded
    ]
    for name in ("scol", "tcol", "header", "on_error"):
        contents[f"--{name.replace('_', '-')}"] = getattr(run.row_settings, name)
    models = {
        name: model and model_digest(find_model(model))
        for name, model in (("--encoder", settings.encoder), ("--start", settings.start))
        if model != _NONE
    }
    return {**config, "languages": settings.languages, **contents, **models}


def _is_pipe(path: str) -> bool:
    return path == "-" or (Path(path).exists() and not Path(path).is_file())


def _training(run: Run, settings: _Settings, config: Any, work: Path) -> ModelTraining:
    """Return the stages, of which the first, to read the pairs, is done."""
    from bitextfilter.training.model_training import ModelFiles, ModelTraining, Place

    paths = list(chain.from_iterable(settings.paths.values()))
    names, pairs = [Path(path).name for path in paths], len(settings.files)
    files = ModelFiles(names[:pairs], names[pairs:])
    place = Place(work, run.common.device, run.common.threads, run.note)
    languages = settings.languages or ("", "")
    training = ModelTraining(languages, config, files, place, settings.encoder)
    known, begun = training.record("pairs"), time.monotonic()
    if known is None:
        given = _given(run, settings)
        languages = settings.languages or _languages(settings, next(filter(None, given.files)))
        _check_encoder(settings.encoder, languages)
        if settings.foreign is not None:
            foreign = list(read_lines(settings.foreign))
            training = replace(training, files=files._replace(foreign=foreign))
        training = training.of(languages, _start(settings, languages))
        known = training.keep_record("pairs", _gathered(run, training, given), begun)
    elif any(map(_is_pipe, paths)):
        run.warn("goes on with the pairs that were read before; the pipe is not read again")
    languages = known["languages"][0], known["languages"][1]
    _tell_pairs(run, known)
    return training.of(languages, _start(settings, languages))


def _check_encoder(name: str | None, languages: tuple[str, str]) -> None:
    """Raise SettingsError for an encoder of other languages, or of more than two."""
    from bitextfilter.languages import find_language
    from bitextfilter.models.folders import all_languages_of

    known = () if name is None else all_languages_of(name)
    if len(known) > 2:
        remedy = "bitext-models prune makes a model of two of them"
        raise SettingsError(f"--encoder {name} is of {len(known)} languages; {remedy}")
    if known and tuple(find_language(each, known) for each in languages) != known:
        raise SettingsError(f"--encoder {name} is of {','.join(known)}, not {','.join(languages)}")


def _given(run: Run, settings: _Settings) -> GivenPairs:
    """Read all pairs."""
    from bitextfilter.training.model_training import GivenPairs

    files = [_pairs(run, path, settings.languages) for path in settings.files]
    if not any(files):
        raise InputError("no pairs to learn from", file=settings.files[0])
    more = [_pairs(run, path, settings.languages) for path in settings.classifier_pairs]
    path = settings.development
    development = None if path is None else _pairs(run, path, settings.languages)
    graded = [graded_pairs(run, text) for text in settings.graded]
    return GivenPairs(files, more, development, graded)


def _pairs(run: Run, path: str, languages: tuple[str, str] | None) -> list[Pair]:
    """Read the pairs of a file of any format."""
    before, form = run.row_settings, format_of(path) or "tsv"
    if form in ("tsv", "parquet", "arrow"):
        pairs = run.pairs(path)
        run.row_settings = before
        return pairs
    run.begin_rows()
    windows = run.windows(rows_of_format(run, form, [path], languages, Columns())[0])
    return [(r.source, r.target) for window in windows for r in window if isinstance(r, Row)]


def _languages(settings: _Settings, pairs: Sequence[Pair]) -> tuple[str, str]:
    """Return the languages of the encoder that is given, or those that the text tells."""
    from bitextfilter.cleaning.choice import MANY
    from bitextfilter.models.folders import languages_of
    from bitextfilter.scoring.row_checks import languages_of_texts

    if settings.encoder is not None and (known := languages_of(settings.encoder)) is not None:
        return known
    first = pairs[:CHECKED_ROWS]
    return languages_of_texts(MANY, [pair[0] for pair in first], [pair[1] for pair in first])


def _start(settings: _Settings, languages: tuple[str, str]) -> str | None:
    """Return the model whose classifier is trained further, if there is one."""
    from bitextfilter.cleaning.choice import MANY
    from bitextfilter.languages import find_language
    from bitextfilter.models.folders import all_languages_of

    if settings.start is not None:
        return None if settings.start == _NONE else settings.start
    known = {name: all_languages_of(name) for name in shipped_models()}
    shared = {
        name: sum(find_language(each, own) is not None for each in languages)
        for name, own in known.items()
    }
    best = max(known, key=lambda name: (shared[name], name != MANY, -len(name)))
    return best if shared[best] else None


def _gathered(run: Run, training: ModelTraining, given: GivenPairs) -> dict[str, Any]:
    """Keep the pairs, and measure the shipped model of their languages."""
    from bitextfilter.cleaning.choice import model_of
    from bitextfilter.scoring.row_checks import column_doubt

    facts = {**training.gather(given), "languages": training.languages}
    try:
        shipped = model_of(training.languages)
    except SettingsError:
        return facts
    model = run.load(shipped, run.common.device, run.common.threads)
    for name, pairs in zip(training.files.names, given.files, strict=True):
        sources, targets = ([pair[side] for pair in pairs[:CHECKED_ROWS]] for side in (0, 1))
        if doubt := pairs and column_doubt(sources, targets, model.processor):
            run.warn(f"{name}: {doubt} (--scol and --tcol choose columns)")
    return {**facts, "shipped": shipped, "shipped_error": training.recovery_error(model)}


def _tell_pairs(run: Run, known: Mapping[str, Any]) -> None:
    """Say what there is to learn from, and what a shipped model can do."""
    source, target = known["languages"]
    run.note(
        f"{source},{target}: {known['pairs']:,} pairs, {known['development']:,} to validate on;"
        f" left out: {known['duplicates']:,} duplicates, {known['known']:,} that share a sentence"
        " with a development pair"
    )
    if known["pairs"] < _FEW:
        run.warn(f"fewer than {_FEW:,} pairs: a model will miss wrong names and figures")
    if "shipped" in known:
        name = known["shipped"].partition(":")[0]
        run.note(
            f"the shipped {name} may be enough: {known['shipped_error']:.2f} % of the development"
            " sentences do not find their translation by it"
        )


def _estimates(run: Run, training: ModelTraining) -> dict[str, float]:
    """Return the seconds of each stage by a trial, or as a run before has found them."""
    known, begun = training.record("estimate"), time.monotonic()
    if known is None:
        from bitextfilter.training.model_estimate import estimate

        run.note("a small trial tells how long it will take")
        known = training.keep_record("estimate", estimate(training), begun)
    seconds = {name: value for name, value in known.items() if name != "seconds"}
    parts = ", ".join(f"{name} {duration(value)}" for name, value in seconds.items())
    run.note(f"about {duration(sum(seconds.values()))} in all: {parts}")
    return seconds


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


class _Reporter(TrainingReporter):
    """Shows the progress of a stage, with the time left in all."""

    def __init__(self, run: Run, error: str, expected: tuple[float, float]) -> None:
        """*expected*: seconds of the stage, and of those after it."""
        super().__init__(run, error)
        self._expected, self._begun = expected, time.monotonic()
        self._before: int | None = None

    def figures(self, progress: Progress, updates: int) -> list[str]:
        """Return the losses, and the time left."""
        own, after = self._expected
        if self._before is None:
            self._before = progress.update - 1  # updates of a run that was interrupted
        done, rest = progress.update - self._before, updates - progress.update
        left = rest / updates * own
        if done > _TOLD * updates:
            left = rest * (time.monotonic() - self._begun) / done
        return [*super().figures(progress, updates), f"{duration(left + after)} left in all"]


_TOLD = 0.1
"""The part of a stage after which its own speed tells the time left."""


def _train(run: Run, training: ModelTraining, estimates: Mapping[str, float], output: Path) -> None:
    """Run the stages that are not done, and write the table."""
    from bitextfilter.training.model_training import STAGES

    def report(stage: str, error: str) -> _Reporter:
        later = STAGES[STAGES.index(stage) + 1 :]
        after = sum(estimates.get(name, 0.0) for name in later)
        return _Reporter(run, error, (estimates.get(stage, 0.0), after))

    work: dict[str, Callable[[], dict[str, Any]]] = {
        "encoder": lambda: training.train_encoder(report("encoder", "recovery error {:.2f} %")),
        "examples": training.make_examples,
        "classifier": lambda: training.train_classifier(report("classifier", "tuning loss {:.4f}")),
        "cuts": lambda: training.find_cuts(run.command_line),
        "model": lambda: training.finish(output),
    }
    rows = []
    for number, stage in enumerate(STAGES, 1):
        facts = training.record(stage)
        if stage == STAGES[-1] and not (output / CONFIG).is_file():
            facts = None
        if facts is None:
            left = sum(estimates.get(name, 0.0) for name in STAGES[number - 1 :])
            run.note(
                f"stage {number} of {len(STAGES)}, {stage}: about {duration(left)} left in all"
            )
            run.messages.end_progress()
            begun = time.monotonic()
            facts = training.keep_record(stage, work[stage](), begun)
        expected = f"{estimates[stage]:.0f}" if stage in estimates else ""
        figures = "none"  # where no cuts are found
        if stage != "cuts" or "mlp" in facts:
            figures = _SHOWN[stage].format(**facts)
        rows.append([stage, f"{facts['seconds']:.0f}", expected, figures])
    run.output("-").write(lines([["stage", "seconds", "estimate", "figures"], *rows]))
    digest = training.record("model") or {}
    run.facts["model"], run.facts["digest"] = str(output), digest["digest"]
    run.counts["stages"] = len(STAGES)


_SHOWN = {
    "pairs": "{pairs} pairs, {development} to validate on",
    "encoder": "recovery error {error:.2f} %",
    "examples": "{positives} translations, {negatives} damaged, {contrasts} with a mistake",
    "classifier": "AUC {auc:.4f} on examples kept from it",
    "cuts": "mlp {mlp:.4f}, cosine {cosine:.4f}",
    "model": "digest {digest}",
}
