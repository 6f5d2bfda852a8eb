"""A whole model from pairs, in stages: pairs, encoder, examples, classifier, cuts, model.

Each stage leaves its files in a work folder and then its record, ``encoder.json`` and so on. A run
that was interrupted goes on there: after the last stage with a record, and within a training.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.arrays import drawn
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.pair_scoring import NoiseTest, noise_test
from bitextfilter.evaluation.thresholds import (
    NOISE_SHARE,
    CutSettings,
    Origin,
    cuts_result,
    estimate_cuts,
)
from bitextfilter.io.files import make_folder, read_lines, write_whole
from bitextfilter.io.records import paths_within, read_record, write_record
from bitextfilter.models.folders import (
    ATTRIBUTION,
    CARD,
    copy_model,
    find_model,
    model_digest,
    naming_pair,
    writing_folder,
)
from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import Model, load
from bitextfilter.scoring.thresholds import Threshold, write_thresholds
from bitextfilter.settings import Settings, from_0, group_rows, none_of
from bitextfilter.training.classifier_examples import (
    PAIRS_PER_FILE,
    chosen,
    make_examples,
    write_rows,
)
from bitextfilter.training.classifier_training import (
    ClassifierConfig,
    Contrast,
    Examples,
    GradedPairs,
    Negatives,
    described,
    train_on_pairs,
    write_model,
)
from bitextfilter.training.data import PairFile
from bitextfilter.training.encoder_training import EncoderConfig, EncoderTraining, validation_error
from bitextfilter.training.loop import Course, Progress
from bitextfilter.training.model_card import attribution_page, card_page
from bitextfilter.training.runs import Environment, TrainingFiles

Pair = tuple[str, str]
Report = Callable[[Progress, int], None]

STAGES = ("pairs", "encoder", "examples", "classifier", "cuts", "model")

DEVELOPMENT_PAIRS = 1000
"""Pairs that are kept from training to validate on; a tenth of all where that is less."""
POSITIVES = 60_000
"""Positives of all files together, unless ``PAIRS_PER_FILE`` of each are more."""
_WORDS = "words"
"""The kind of the classifier."""
_FIXED = ("count", "kind", "negatives", "quantise", "start", "features", "surface")
_OF_SENTENCES = ("features", "surface")
"""Settings of classifiers of the other kind."""
_CLASSIFIER = {"keep": "last", "held_out": 0.02, "precision": "bfloat16"}
"""Defaults of its training, as the shipped models have them."""
_CUT_BY = [name for name in MEASURES if name != "probability"]
"""Measures that get a threshold: the probability's cuts are its calibration's."""
_BITS = 8
_GROUPS, _ALONE = ("encoder", "classifier"), ("seed", "negatives")


def epochs_for(pairs: int) -> int:
    """Return how often the classifier sees its examples, given the number of pairs: 3 to 10."""
    return int(min(max(300_000 / max(pairs, 1), 3), 10))


def _nested(name: str, values: Any) -> dict[str, Any]:
    """Return settings with ``training.passes`` as ``passes`` in the group ``training``."""
    made: dict[str, Any] = {}
    for path, value in _mapping(name, values).items():
        group, dot, rest = path.partition(".")
        before = _mapping(f"{name}.{group}", made.get(group, {})) if dot else {}
        made[group] = {**before, rest: value} if dot else value
    return made


def _mapping(name: str, values: Any) -> Mapping[str, Any]:
    """Return settings. Raises SettingsError for anything else."""
    if not isinstance(values, Mapping):
        raise SettingsError(f"{name}: settings are names and values, not {values!r}")
    return values


@dataclass(frozen=True)
class ModelConfig(Settings):
    """All settings of a model's training."""

    encoder: EncoderConfig
    classifier: Mapping[str, Any] = field(default_factory=dict)
    """As given: see :meth:`classifier_config`."""
    seed: int = from_0(1, "of everything that is drawn")
    negatives: int = from_0(0, "damaged pairs that the classifier learns from, drawn; 0: all")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelConfig:
        """Build from names and values, such as ``training.passes`` in the group ``encoder``.

        Raises SettingsError for an unknown name, or a value that does not fit.
        """
        known = (*_GROUPS, *_ALONE)
        if unknown := sorted(set(values).difference(known)):
            raise SettingsError(f"settings: {none_of(unknown[0], known)}")
        seed = values.get("seed", 1)
        given = {name: _nested(name, values.get(name, {})) for name in _GROUPS}
        for name, group in given.items():
            own = _mapping(f"{name}.training", group.get("training", {}))
            group["training"] = {"seed": seed, **own}
        if fixed := sorted(set(given["classifier"]).intersection(_FIXED)):
            raise SettingsError(f"classifier.{fixed[0]} cannot be set: it is of the recipe")
        alone = {name: values[name] for name in _ALONE if name in values}
        config = cls(EncoderConfig.from_dict(given["encoder"]), given["classifier"], **alone)
        config.classifier_config(1)
        return config

    def classifier_config(self, pairs: int, start: str | None = None) -> ClassifierConfig:
        """Return the settings of the classifier, whose epochs depend on the number of pairs."""
        usual = {**_CLASSIFIER, "epochs": epochs_for(pairs)}
        values = {**self.classifier, "training": {**usual, **self.classifier["training"]}}
        return ClassifierConfig.from_dict(
            values, kind=_WORDS, negatives=Negatives("given"), quantise=True, start=start
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all, as JSON takes it."""
        groups = {"encoder": self.encoder.to_dict(), "classifier": dict(self.classifier)}
        return {**groups, **{name: getattr(self, name) for name in _ALONE}}

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Return every setting as a row."""
        config = ModelConfig.from_dict({})
        classifier = config.classifier_config(100_000)
        rows = [*group_rows(classifier), *group_rows(classifier.training, "training")]
        return [
            *group_rows(config),
            *(("encoder." + row[0], *row[1:]) for row in EncoderConfig.rows()),
            *(("classifier." + row[0], *row[1:]) for row in rows if row[0] not in _OF_SENTENCES),
        ]


class GivenPairs(NamedTuple):
    """Pairs as they were read."""

    files: list[list[Pair]]
    more: list[list[Pair]]
    """Of the classifier alone."""
    development: list[Pair] | None
    """None: some of *files* are taken."""
    graded: list[GradedPairs]


class Divided(NamedTuple):
    """Distinct training pairs that share no side with a development pair."""

    files: list[list[Pair]]
    more: list[list[Pair]]
    development: list[Pair]
    duplicates: int
    known: int
    """Pairs left out for a side of a development pair."""


def divided(given: GivenPairs, seed: int) -> Divided:
    """Return development pairs, drawn by *seed* unless they are given, and the others.

    Raises InputError if one of the two is empty.
    """
    files, seen, total = [], set[Pair](), 0
    for pairs in given.files:
        total += len(pairs)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in seen]
        seen.update(new)
        files.append(new)
    development = given.development
    if development is None:
        every = [pair for pairs in files for pair in pairs]
        count = min(DEVELOPMENT_PAIRS, len(every) // 10)
        development = random.Random(seed).sample(every, count)
    if not development:
        raise InputError("too few pairs: none is left to validate on")
    kept = [_apart(pairs, development) for pairs in files]
    if not any(kept):
        raise InputError("every pair is a development pair: none is left to train on")
    drawn_from = len(development) if given.development is None else 0
    known = len(seen) - sum(map(len, kept)) - drawn_from
    more = [_apart(pairs, development) for pairs in given.more]
    known += sum(map(len, given.more)) - sum(map(len, more))
    return Divided(kept, more, development, total - len(seen), known)


def _apart(pairs: Sequence[Pair], others: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that have no text of others on the same side."""
    sources, targets = ({pair[side] for pair in others} for side in (0, 1))
    return [pair for pair in pairs if pair[0] not in sources and pair[1] not in targets]


def _graded_apart(graded: GradedPairs, others: Sequence[Pair]) -> GradedPairs:
    """Return :func:`_apart` of graded pairs."""
    left = set(_apart(graded.pairs, others))
    kept = [place for place, pair in enumerate(graded.pairs) if pair in left]
    pairs, grades = [graded.pairs[n] for n in kept], [graded.grades[n] for n in kept]
    return GradedPairs(pairs, grades, graded.weight)


class ModelFiles(NamedTuple):
    """The files of a model's training beside its pairs."""

    names: Sequence[str]
    """Of the files of pairs, without folders."""
    others: Sequence[str]
    """Of all other files."""
    foreign: Sequence[str] = ()
    """Sentences in neither language."""


class Place(NamedTuple):
    """Where a model is made."""

    work: Path
    """Folder of the stages' files."""
    device: str
    threads: int
    note: Callable[[str], None]


@dataclass(frozen=True)
class ModelTraining:
    """The stages of a model's training."""

    languages: tuple[str, str]
    config: ModelConfig
    files: ModelFiles
    place: Place
    encoder: str | None = None
    """A model whose encoder is taken instead of a new one."""
    start: str | None = None
    """A model whose classifier is trained further."""

    def of(self, languages: tuple[str, str], start: str | None) -> ModelTraining:
        """Return the same for two languages, and a model to start from."""
        return replace(self, languages=languages, start=start)

    def record(self, stage: str) -> dict[str, Any] | None:
        """Return the facts of a stage that is done; None for one that is not."""
        try:
            return read_record(self.place.work / f"{stage}.json", "remove the folder")
        except FileNotFoundError:
            return None

    def keep_record(self, stage: str, facts: Mapping[str, Any], begun: float) -> dict[str, Any]:
        """Write the facts of a stage, which is done by this, with its seconds."""
        facts = {**facts, "seconds": round(time.monotonic() - begun, 1)}
        write_record(self.place.work / f"{stage}.json", facts)
        return facts

    def gather(self, given: GivenPairs) -> dict[str, Any]:
        """Write the distinct pairs of each file, and the development pairs."""
        parts = divided(given, self.config.seed)
        graded = [_graded_apart(one, parts.development) for one in given.graded]
        self.write_pairs(parts, graded)
        left_out = sum(len(one.pairs) for one in given.graded) - sum(len(g.pairs) for g in graded)
        rows = zip(self.files.names, map(len, parts.files), strict=True)
        return {
            "files": [*map(list, rows), *([name, None] for name in self.files.others)],
            "pairs": sum(map(len, parts.files)),
            "development": len(parts.development),
            "duplicates": parts.duplicates,
            "known": parts.known + left_out,
        }

    def write_pairs(self, parts: Divided, graded: Sequence[GradedPairs] = ()) -> None:
        """Write training pairs, the classifier's own, graded ones, and development pairs."""
        rows: list[list[tuple[str, ...]]] = [
            [(*p, repr(g), repr(one.weight)) for p, g in zip(one.pairs, one.grades, strict=True)]
            for one in graded
        ]
        groups: dict[str, Sequence[Sequence[tuple[str, ...]]]] = {
            "pairs": parts.files,
            "more": parts.more,
            "graded": rows,
        }
        for name, files in groups.items():
            make_folder(self.place.work / name)
            for number, pairs in enumerate(files):
                write_rows(self.place.work / name / f"{number:03}.tsv", pairs)
        write_rows(self.place.work / "development.tsv", parts.development)
        write_rows(self.place.work / "foreign.txt", [(text,) for text in self.files.foreign])

    def read_pairs(self) -> Divided:
        """Read the pairs of :meth:`write_pairs`."""
        files, more = ([_read(p) for p in self._paths(name)] for name in ("pairs", "more"))
        return Divided(files, more, self._development, 0, 0)

    def graded(self) -> list[GradedPairs]:
        """Read the graded pairs."""
        sets = []
        for path in self._paths("graded"):
            rows = [line.split("\t") for line in read_lines(path)]
            pairs, grades = [(r[0], r[1]) for r in rows], [float(r[2]) for r in rows]
            sets.append(GradedPairs(pairs, grades, float(rows[0][3]) if rows else 1.0))
        return sets

    def train_encoder(self, report: Report) -> dict[str, Any]:
        """Train the encoder, or take the one that is given; returns its error in percent."""
        if self.encoder is not None:
            return {"error": self.recovery_error(self._load(self.encoder))}
        work, place = self.place.work, self.place
        environment = Environment(
            work / "encoder", place.device, place.threads, _BITS, note=place.note, report=report
        )
        resumed = replace(environment, resume=environment.has_state)
        pairs = [PairFile(str(path)) for path in self._paths("pairs")]
        files = TrainingFiles(self.languages, pairs, PairFile(str(work / "development.tsv")))
        progress = EncoderTraining(self.config.encoder, files, resumed).run()
        return {"error": progress.best, "updates": progress.update}

    def positives(self) -> list[list[Pair]]:
        """Return positives for the classifier, of each file."""
        paths = [*self._paths("pairs"), *self._paths("more")]
        most = max(PAIRS_PER_FILE, POSITIVES // len(paths))
        return [chosen(_read(path), most) for path in paths]

    def make_examples(self) -> dict[str, Any]:
        """Write the examples of the classifier; returns their numbers."""
        files = self.positives()
        foreign = list(read_lines(self.place.work / "foreign.txt"))
        make_examples(self._own_encoder(), files, foreign, self.place.work)
        return {name: sum(1 for _ in self._lines(name)) for name in _EXAMPLES}

    def train_classifier(self, report: Report) -> dict[str, Any]:
        """Train the classifier, and write the model without its cuts; returns its AUC."""
        model, pairs = self._own_encoder(), sum(map(len, map(_read, self._paths("pairs"))))
        start = None if self.start is None else load(naming_pair(self.start))
        config = self.config.classifier_config(pairs, self.start and Path(self.start).name)
        examples = self.examples()
        state = make_folder(self.place.work / "classifier.training")
        course = Course(report, state)
        try:
            classifier, found = train_on_pairs(model, examples, config, course, start)
        except SettingsError as error:
            if start is None:
                raise
            raise SettingsError(f"{error}; --start none trains a new classifier") from error
        facts = described(config, found, examples)
        write_model(model, self.place.work / "model", classifier, facts, _BITS)
        return {"auc": found.after.auc, "epochs": config.training.epochs}

    def examples(self) -> Examples:
        """Read the examples of the classifier."""
        right, wrong = ([(row[0], row[1]) for row in self._lines(n)] for n in _EXAMPLES[:2])
        if most := self.config.negatives:
            wrong = [wrong[place] for place in drawn(len(wrong), most, self.config.seed)]
        contrasts = [
            Contrast((row[0], row[1]), float(row[3]), (row[4], row[5]))
            for row in self._lines(_EXAMPLES[2])
        ]
        paths = [*self._paths("pairs"), *self._paths("more")]
        text = [pair for path in paths for pair in _read(path)]
        return Examples(right, wrong, (), contrasts, self.graded(), text).apart()

    def find_cuts(self, command: str) -> dict[str, Any]:
        """Give the model a threshold for each measure but the probability, by damaged pairs."""
        folder, work = self.place.work / "model", self.place.work
        model, pairs = self._load(str(folder)), self._development
        thresholds = []
        for measure in _CUT_BY:
            test = noise_test(model, pairs, NoiseTest(measure, ("target",)), lambda _: None)
            if test.clean in (0, len(test)):  # such as pairs that are too short to be damaged
                self.place.note(
                    "no thresholds but the probability's: no development pair of 6 to 60 words"
                )
                return {}
            labelled = test.labelled("development.tsv")
            settings = CutSettings(NOISE_SHARE)
            cuts = estimate_cuts(labelled, test.words, settings)
            name = "development.tsv"
            origin = Origin(str(work / name), name, command, measure, model.digest)
            found = cuts_result(cuts, labelled, settings, origin).facts["recommended"]
            thresholds += [Threshold.of(record) for record in found]
        with writing_folder(folder) as draft:
            copy_model(folder, draft)
            write_thresholds(draft, thresholds)
        return {each.measure: each.threshold for each in thresholds}

    def finish(self, output: Path) -> dict[str, Any]:
        """Write the model to *output*, and then its card and attribution, for people to edit."""
        folder = self.place.work / "model"
        records = {stage: self.record(stage) or {} for stage in STAGES}
        pages = {
            CARD: card_page(output.name, self.languages, records),
            ATTRIBUTION: attribution_page(output.name, records, self._taken()),
        }
        with writing_folder(output) as draft:
            copy_model(folder, draft)
            for name in pages:
                (draft / name).unlink(missing_ok=True)  # of the encoder's model
        for name, text in pages.items():
            write_whole(output / name, text.encode())
        return {"digest": model_digest(output)}

    def _taken(self) -> dict[str, str]:
        """Return the models that this one was made of, and whose data they were trained on."""
        found = {}
        for name in filter(None, (self.encoder, self.start)):
            page = find_model(name) / ATTRIBUTION
            known = page.read_text(encoding="utf-8") if page.exists() else "Not known.\n"
            found[Path(name).name] = known
        return found

    def recovery_error(self, model: Model) -> float:
        """Return the recovery error of a model on the development pairs, in percent.

        As the encoder's: the mean of CSLS and cosine, and of both directions; lower is better.
        """
        sources, targets = (list(side) for side in zip(*self._development, strict=True))
        return validation_error(model.encoder, model.languages, sources, targets)

    @cached_property
    def _development(self) -> list[Pair]:
        return _read(self.place.work / "development.tsv")

    def _own_encoder(self) -> Model:
        return self._load(self.encoder or str(self.place.work / "encoder"))

    def _load(self, name: str) -> Model:
        return load(naming_pair(name, self.languages), self.place.device, self.place.threads)

    def _paths(self, folder: str) -> list[Path]:
        return [path for path in paths_within(self.place.work / folder) if path.suffix == ".tsv"]

    def _lines(self, name: str) -> Iterator[list[str]]:
        lines = read_lines(self.place.work / f"{name}.tsv")
        return (line.split("\t") for line in lines)


_EXAMPLES = ("positives", "negatives", "contrasts")


def _read(path: Path) -> list[Pair]:
    return [(row[0], row[1]) for row in PairFile(str(path)).texts()]
