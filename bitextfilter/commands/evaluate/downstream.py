"""``bitext-evaluate downstream``: BLEU of translators trained on the rows that scores choose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.options import measurement
from bitextfilter.commands.frame.options import (
    FOLDER,
    argument,
    as_amount,
    as_column,
    flag,
    languages_option,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    TRANSLATOR_ERRORS,
    PairColumns,
    TrainingOptions,
    run_environment,
)
from bitextfilter.evaluation.result import Bootstrap, Result
from bitextfilter.io.work_folder import kept_folder

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.tuning.downstream import DownstreamTask, Experiment, SystemResult
    from bitextfilter.tuning.subsets import System


_TRAINING = options_of(
    TrainingOptions,
    "settings overrides",
    {
        "settings": {"help": "Settings of bitext-train-translator (JSON)."},
        "overrides": {"metavar": "GROUP.NAME=VALUE"},
    },
)


def _columns(text: str) -> list[int | str]:
    """Read ``cosine,csls,-1``."""
    return [as_column(name) for name in text.split(",") if name]


def _seeds(text: str) -> list[int]:
    """Read ``1,2,3``."""
    seeds = text.split(",")
    if not all(seed.isdecimal() for seed in seeds) or len(set(map(int, seeds))) < len(seeds):
        raise click.BadParameter(f"{text!r} are not different whole numbers, such as 1,2,3")
    return list(map(int, seeds))


@dataclass(frozen=True)
class _Settings:
    """The systems, the files, and the training that all systems share."""

    file: str = argument(type=click.Path(allow_dash=False))
    scores: list[int | str] = option(
        "--scores COLUMNS", "Score columns, separated by commas: each is a system.", _columns, ""
    )
    random: bool = flag("--random", "A system of random rows.")
    oracle: int | str | None = option(
        "--oracle COLUMN", "A system of random rows with --clean-label in this column.", as_column
    )
    clean_label: str = option("--clean-label LABEL", "Of --oracle.", default="clean")
    words: int = option(
        "--words N", "Most target words of each system: 500, 10k, 2.5M.", as_amount, required=True
    )
    languages: tuple[str, str] = languages_option("Such as de,en.", required=True)
    development: str = option(
        "--development FILE", "Pairs to choose the best network on.", required=True
    )
    tests: tuple[str, ...] = option(
        "--test FILE", "Pairs to translate and measure; repeatable.", multiple=True, required=True
    )
    seeds: list[int] = option("--seeds N,...", "Train once for each.", _seeds, "1")
    beam: int = option("--beam N", "Hypotheses kept while translating.", click.IntRange(1, 100), 5)
    work: Path = option(
        "--work DIR", "Keep models and outcomes here, and go on from there.", FOLDER, required=True
    )


@measurement(
    "downstream",
    _Settings,
    row_options("output texts"),
    options_of(PairColumns, "dev_scol dev_tcol"),
    _TRAINING,
    uses="threads device",
)
def downstream(
    run: Run, settings: _Settings, columns: PairColumns, chosen: TrainingOptions
) -> Result:
    r"""Train the same translator on the best rows of FILE by each score.

    Each system takes its best rows of FILE, a TSV, up to --words target words (Kim et al. 2019,
    section 4.2). The same translator is then trained on each: the same subwords, learnt from all
    of FILE, the same settings, the same number of updates; of each training the network with the
    lowest error on --development is kept. Test sets are translated and measured by sacreBLEU.

    A line for each system, test set and seed, tab-separated: rows, target words, target subwords
    trained on, BLEU and chrF (0 to 100, higher is better), the difference in BLEU from the first
    system with the ends of its 95 % interval, two signatures. Of several seeds, also mean and sd.

    Run again with the same --work, it goes on where it stood, within a training too. Rows wait
    on disk, with 24 bytes a row in memory; text of a million rows and of the chosen ones is held.

    Example:

        bitext-evaluate downstream --header --scores cosine,mlp --random --words 300k \
            --languages de,en --scol de --tcol en --development dev.tsv --test test.tsv \
            --work trained scored.tsv.gz
    """
    from bitextfilter.tuning.downstream import Experiment, result_lines, result_of
    from bitextfilter.tuning.subsets import digests

    systems, names = _systems(settings), _test_names(settings.tests)
    task = _task(run, settings, columns.development, chosen.values())
    pairs, *chosen_by = digests(task.corpus, systems)
    folder = run.enter(kept_folder(settings.work, task.described(pairs)))
    error = TRANSLATOR_ERRORS[task.config.training.validation]
    experiment = Experiment(task, folder.path, run_environment(run, error, output=""))
    experiment.check(dict(zip(systems, chosen_by, strict=True)), settings.seeds)
    outcomes = _outcomes(run, experiment, systems, settings.seeds)
    references = [[pair[1] for pair in test] for test in experiment.tests]
    tests = dict(zip(names, references, strict=True))
    lines = result_lines(outcomes, tests, Bootstrap())
    return result_of(lines, settings.file)


def _systems(settings: _Settings) -> list[System]:
    """Return the systems; UsageError for none, and for two of one name."""
    from bitextfilter.tuning.subsets import System

    systems = [System(str(where), where) for where in settings.scores]
    systems += [System("random")] if settings.random else []
    if settings.oracle is not None:
        systems.append(System("oracle", settings.oracle, settings.clean_label))
    if not systems:
        raise click.UsageError("no system: give --scores, --random or --oracle")
    names = [system.name for system in systems]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise click.UsageError(f"two systems are called {twice}")
    return systems


def _test_names(paths: tuple[str, ...]) -> list[str]:
    """Return the names of the test sets; UsageError for two of one name."""
    names = [Path(path).name for path in paths]
    if len(set(names)) < len(names):
        raise click.UsageError(f"two files of --test have the same name: {', '.join(names)}")
    return names


def _task(run: Run, settings: _Settings, theirs: Columns, values: dict[str, Any]) -> DownstreamTask:
    """Return the settings that all systems share."""
    from bitextfilter.training.data import PairFile
    from bitextfilter.training.translator_training import TranslatorConfig
    from bitextfilter.translation.translator import TEMPLATED
    from bitextfilter.tuning.downstream import DownstreamTask
    from bitextfilter.tuning.subsets import ScoredFile

    files = run.row_settings
    if settings.file == "-":
        raise click.UsageError("FILE is read several times: name a file, not -")
    named = [settings.oracle, *settings.scores, files.columns.source, files.columns.target]
    if not files.header and any(isinstance(where, str) for where in named):
        raise click.UsageError("a column can only be named with --header")
    training = values.get("training", {})
    if isinstance(training, dict):  # for the same number of updates
        if "seed" in training:
            raise click.UsageError("training.seed is not set here: give --seeds")
        values = {**values, "training": {"patience": 0, **training}}
    config = TranslatorConfig.from_dict(values)
    if config.architecture in TEMPLATED:
        raise click.UsageError(f"{config.architecture} writes by templates, which FILE lacks")
    return DownstreamTask(
        ScoredFile(settings.file, files.columns, files.header),
        settings.languages,
        settings.words,
        config,
        PairFile(settings.development, columns=theirs),
        tuple(PairFile(path, columns=theirs) for path in settings.tests),
        settings.beam,
    )


def _outcomes(
    run: Run, experiment: Experiment, systems: list[System], seeds: list[int]
) -> dict[tuple[str, int], SystemResult]:
    """Choose the rows of every system first, to find errors early; then train and translate."""
    found = {}
    run.counts.update(trained=0, kept=0)
    places = [(system, seed) for system in systems for seed in seeds]
    for system, seed in places:
        if (outcome := experiment.finished(system, seed)) is not None:
            found[system.name, seed] = outcome
            run.counts["kept"] += 1
            continue
        subset = experiment.choose(system, seed)
        if subset.everything:
            run.warn(f"{system.name} has only {subset.words} words, in {subset.rows} rows")
    if left := len(places) - len(found):
        run.progress(experiment.updates * left, "updates")
    for system, seed in places:
        if (system.name, seed) not in found:
            run.note(f"{system.name}, seed {seed}")
            found[system.name, seed] = experiment.run(system, seed)
            run.counts["trained"] += 1
    return {(system.name, seed): found[system.name, seed] for system, seed in places}
