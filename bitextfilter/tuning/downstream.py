"""Downstream evaluation: the same translator trained on the best rows of each score.

Kim et al. 2019, section 4.2: the best rows of a noisy corpus up to a number of target words, then a
translation model, then BLEU. All systems have the same segmentation and vocabulary, settings,
number of updates and development pairs.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bitextfilter import __version__
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, interval
from bitextfilter.io.files import write_whole
from bitextfilter.io.records import file_digest, read_record, write_record
from bitextfilter.text.processor import TextProcessor
from bitextfilter.training.data import PairFile
from bitextfilter.training.runs import Environment, TrainingFiles
from bitextfilter.training.settings import run_length
from bitextfilter.training.translator_training import (
    TranslatorConfig,
    TranslatorTraining,
    bleu,
    bleu_difference,
    check_bleu,
    chrf,
)
from bitextfilter.translation.translator import SearchSettings, load_translator
from bitextfilter.tuning.subsets import (
    CorpusSample,
    ScoredFile,
    Subset,
    System,
    sample_corpus,
    write_subset,
)

_RECORD = "outcome.json"
CHOICE = "choice.json"
DEVELOPMENT = "development.tsv"
_MODEL = "model"


@dataclass(frozen=True)
class DownstreamTask:
    """Settings and files that all systems share."""

    corpus: ScoredFile
    languages: tuple[str, str]
    words: int
    """Target words that each system may choose."""
    config: TranslatorConfig
    """Of each training but for its seed. ``training.passes`` are over a choice of rows of average
    length, so that the number of updates is the same for all systems."""
    development: PairFile
    tests: tuple[PairFile, ...]
    beam: int = 5

    def described(self, pairs: str) -> dict[str, Any]:
        """Return all settings that a result depends on, except system and seed.

        ``pairs``: the digest of the corpus's pairs.
        """
        config = self.config.to_dict()
        del config["training"]["seed"]
        return {
            "version": __version__,
            "pairs": pairs,
            "columns": astuple(self.corpus.columns),
            "header": self.corpus.header,
            "languages": self.languages,
            "words": self.words,
            "development": file_digest(self.development.source)[:16],
            "tests": [file_digest(test.source)[:16] for test in self.tests],
            "their columns": astuple(self.development.columns),
            "beam": self.beam,
            **config,
        }


@dataclass(frozen=True)
class SystemResult:
    """Result of a system with a seed."""

    rows: int
    words: int
    """Of the target sides of the chosen rows."""
    subwords: int
    """Of the target sides of those that were trained on: the rest is too long."""
    update: int
    """Update of the kept network."""
    seconds: float
    """Of training and translating, since it was last begun."""
    translations: list[list[str]]
    """Of each test set, line by line."""


def _clear(folder: Path) -> None:
    """Remove the state of a training, its lock, and drafts of its model, if possible."""
    for left in (folder / f"{_MODEL}.training", *folder.glob(f".{_MODEL}.*")):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with suppress(OSError):
                left.unlink()


class Experiment:
    """Chooses rows, trains and translates, one system and seed at a time; can be resumed.

    ``work`` has ``development.tsv``, and a folder of each: ``choice.json`` with the digest of the
    criteria of the choice, ``pairs.tsv``, ``model``, and last ``outcome.json``.
    """

    def __init__(self, task: DownstreamTask, work: Path, environment: Environment) -> None:
        """Read the test set. ``environment``: of all trainings; its output is not used.

        Raises:
            DeviceError: sacreBLEU is not there.
            NotFoundError, InputError: a file is missing, bad, or empty.
        """
        check_bleu()
        self._task, self._work, self._environment = task, work, environment
        self._chosen_by: Mapping[System, str] = {}
        self._subsets: dict[tuple[System, int], Subset] = {}
        self.tests = [_pairs(test) for test in task.tests]
        rows = "".join(f"{source}\t{target}\n" for source, target in _pairs(task.development))
        write_whole(work / DEVELOPMENT, rows.encode())

    def check(self, chosen_by: Mapping[System, str], seeds: Sequence[int]) -> None:
        """Set the digests of the columns that the systems choose by.

        Raises SettingsError where a folder is of other scores.
        """
        self._chosen_by = chosen_by
        for folder, digest in ((s.folder(seed), d) for s, d in chosen_by.items() for seed in seeds):
            file = self._work / folder / CHOICE
            if file.is_file() and read_record(file, "remove its folder")["digest"] != digest:
                raise SettingsError(
                    f"{file.parent} is of other scores: remove it, or name another --work"
                )

    def finished(self, system: System, seed: int) -> SystemResult | None:
        """Return a result, None if it is not there yet."""
        folder = self._work / system.folder(seed)
        record = folder / _RECORD
        if not record.is_file():
            return None
        _clear(folder)  # a run may have been killed before
        return SystemResult(**read_record(record, "remove it"))

    def choose(self, system: System, seed: int) -> Subset:
        """Choose the rows of a system. Raises InputError, as :func:`write_subset`."""
        folder, task = self._work / system.folder(seed), self._task
        folder.mkdir(exist_ok=True)
        choice = {"system": system.name, "digest": self._chosen_by[system]}
        write_record(folder / CHOICE, choice)
        subset = write_subset(task.corpus, system, task.words, seed, folder / "pairs.tsv")
        self._subsets[system, seed] = subset
        return subset

    def run(self, system: System, seed: int) -> SystemResult:
        """Train on the rows that were chosen, and translate the test sets."""
        started = time.monotonic()
        folder, subset = self._work / system.folder(seed), self._subsets[system, seed]
        training = self._training(folder, subset, seed)
        progress = training.run()
        translator = load_translator(
            folder / _MODEL, self._environment.device, self._environment.threads
        )
        search = SearchSettings(self._task.beam)
        found = [translator.translate([pair[0] for pair in test], search) for test in self.tests]
        rows = [row for test in found for row in test]
        cut = sum(row.left > 0 for row in rows)
        unfinished = sum(not row.hypotheses[0].whole for row in rows if row.hypotheses)
        if cut or unfinished:
            self._environment.note(
                f"{system.name}: {cut} lines of the test sets were too long to be read to their "
                f"end, {unfinished} translations were ended at the greatest length"
            )
        outcome = SystemResult(
            subset.rows,
            subset.words,
            int(training.corpus.target.lengths.sum()),
            progress.best_update,
            round(time.monotonic() - started, 1),
            [[row.best for row in test] for test in found],
        )
        write_record(folder / _RECORD, asdict(outcome))
        _clear(folder)
        return outcome

    def _training(self, folder: Path, subset: Subset, seed: int) -> TranslatorTraining:
        """Begin a training, or go on with the one that was interrupted."""
        task, config = self._task, self._task.config
        settings = replace(config.training, seed=seed, updates=self.updates)
        pairs = PairFile(str(folder / "pairs.tsv"), columns=subset.columns)
        development = PairFile(str(self._work / DEVELOPMENT))
        files = TrainingFiles(task.languages, [pairs], development)
        environment = replace(self._environment, output=folder / _MODEL)
        environment = replace(environment, resume=environment.has_state)
        config = replace(config, training=settings)
        return TranslatorTraining(config, files, environment, self._text)

    @cached_property
    def _survey(self) -> CorpusSample:
        segmentation = self._task.config.segmentation
        return sample_corpus(self._task.corpus, segmentation.sample_size, segmentation.seed)

    @cached_property
    def updates(self) -> int:
        """Updates of each training."""
        found = self._survey
        rows = found.rows * min(1.0, self._task.words / max(1, found.words))
        return run_length(self._task.config.training, rows)[0]

    @cached_property
    def _text(self) -> TextProcessor:
        """Segmentation and vocabulary, learnt from the whole corpus, or from a large sample."""
        self._environment.note("learning the segmentation and the vocabulary from the whole input")
        config, languages = self._task.config, self._task.languages
        sources, targets = ([pair[side] for pair in self._survey.pairs] for side in (0, 1))
        return TextProcessor.learn(
            (sources, targets), languages, config.normalisation, config.segmentation
        )


def _pairs(file: PairFile) -> list[tuple[str, str]]:
    """Return the pairs of a file. Raises InputError where there are none."""
    pairs = [(source, target) for source, target in file.texts()]
    if not pairs:
        raise InputError("no pairs", file=file.source)
    return pairs


@dataclass(frozen=True)
class _Line:
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


def result_lines(
    outcomes: Mapping[tuple[str, int], SystemResult],
    tests: Mapping[str, Sequence[str]],
    bootstrap: Bootstrap,
) -> list[_Line]:
    """Measure the translations.

    Args:
        outcomes: by name of system and seed; the first system is the one to compare with.
        tests: references by the name of the test set, in the order of the translations.
        bootstrap: of the differences' intervals.

    Returns:
        System by system and test by test: its seeds, and of several the mean and deviation.
    """
    systems = list(dict.fromkeys(name for name, _ in outcomes))
    seeds = list(dict.fromkeys(seed for _, seed in outcomes))
    lines: list[_Line] = []
    for system in systems:
        for place, (test, references) in enumerate(tests.items()):
            measured = []
            for seed in seeds:
                outcome = outcomes[system, seed]
                written, difference = outcome.translations[place], None
                if system != systems[0]:
                    baseline = outcomes[systems[0], seed].translations[place]
                    difference = bleu_difference(written, baseline, references, bootstrap)
                first, second = bleu(written, references), chrf(written, references)
                counts = (outcome.rows, outcome.words, outcome.subwords)
                figures = (first.score, second.score, difference)
                signatures = (first.signature, second.signature)
                measured.append(_Line(system, str(seed), test, *counts, *figures, *signatures))
            lines += [*measured, *_over_seeds(measured)]
    return lines


def _over_seeds(lines: Sequence[_Line]) -> list[_Line]:
    """Return the mean and the standard deviation of the lines of several seeds."""
    if len(lines) < 2:
        return []
    found = []
    for name, average in (("mean", statistics.mean), ("sd", statistics.stdev)):
        figures: dict[str, Any] = {
            figure: average(float(getattr(line, figure)) for line in lines)
            for figure in ("rows", "words", "subwords", "bleu", "chrf")
        }
        found.append(replace(lines[0], seed=name, difference=None, **figures))
    return found


def result_of(lines: Sequence[_Line], file: str) -> Result:
    """Return the lines as a result of *file*; means of counts have one decimal."""
    columns = dict.fromkeys(("system", "seed", "test", "rows", "words", "subwords"), ".1f")
    columns |= dict.fromkeys(("bleu", "chrf"), ".2f") | interval("difference", form=".2f")
    columns |= dict.fromkeys(("bleu_signature", "chrf_signature"), "")
    facts = {"file": file, "version": __version__}
    return Result("downstream", columns, {"results": list(map(asdict, lines))}, facts, "")
