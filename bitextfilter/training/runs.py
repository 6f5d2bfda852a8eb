"""Resumable training runs: their files, their environment, and the state that they save."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bitextfilter.errors import InputError, NotFoundError, SettingsError
from bitextfilter.io.drafts import remove_drafts
from bitextfilter.io.files import locked, naming_output
from bitextfilter.io.records import file_digest, json_bytes, read_record
from bitextfilter.io.work_folder import PLAN, claim
from bitextfilter.models.device import resolve_device
from bitextfilter.models.folders import CONFIG, check_replaceable, model_digest, writing_folder
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import Segmenter, SegmenterSettings
from bitextfilter.training.data import Corpus, PairFile
from bitextfilter.training.loop import (
    PROGRESS,
    Hooks,
    Learner,
    Progress,
    Stream,
    learn,
    start_torch,
)
from bitextfilter.training.multilingual import LanguageFile, TaughtFile

RECORD = "training.json"
"""The file of a model folder with the settings of its training."""


@dataclass(frozen=True)
class PivotFiles:
    """Training files of the architecture pivot, instead of pairs."""

    language: str
    """A third language."""
    sides: tuple[Sequence[PairFile], Sequence[PairFile]]
    """Pairs of source and pivot; pairs of target and pivot."""


@dataclass(frozen=True)
class MultilingualFiles:
    """Files of more than two languages, instead of pairs and development pairs."""

    pairs: Sequence[LanguageFile]
    development: Sequence[LanguageFile]

    def described(self) -> dict[str, Any]:
        """The names of the files, without their folders, their languages and weights."""
        kinds = {"pairs": self.pairs, "development": self.development}
        return {kind: [file.described() for file in files] for kind, files in kinds.items()}


@dataclass(frozen=True)
class TrainingFiles:
    """The files of a run."""

    languages: tuple[str, ...]
    pairs: Sequence[PairFile]
    development: PairFile | None
    """Pairs on which the network is validated; never trained on."""
    monolingual: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Plain text files to autoencode besides, by side (0 source, 1 target)."""
    starts: Sequence[Path] = ()
    """Models whose fitting tensors are taken over, and of the first the text processing."""
    segmenter: Path | None = None
    """A learnt segmenter's folder, to use instead of learning one."""
    vectors: Path | None = None
    """Initial vectors of subwords, in text form."""
    pivot: PivotFiles | None = None
    multilingual: MultilingualFiles | None = None
    taught: Sequence[TaughtFile] = ()

    def described(self) -> dict[str, Any]:
        """The names of the files, without their folders: a model names no path of a machine."""

        def name(path: str | Path | None) -> str | None:
            return None if path is None else Path(path).name

        def names(files: Sequence[PairFile]) -> list[Any]:
            return [[name(file.source), name(file.target), file.weight] for file in files]

        described: dict[str, Any] = {
            "languages": list(self.languages),
            "pairs": names(self.pairs),
            "monolingual": {
                str(side): list(map(name, paths)) for side, paths in self.monolingual.items()
            },
            "development": name(self.development.source if self.development else None),
            "start": [name(path) for path in self.starts],
            "segmenter": name(self.segmenter),
            "vectors": name(self.vectors),
        }
        if self.multilingual is not None:
            described |= self.multilingual.described()
        if self.taught:
            described["taught"] = [each.file.described() for each in self.taught]
        if (pivot := self.pivot) is not None:
            sides = [names(files) for files in pivot.sides]
            described["pivot"] = {"language": pivot.language, "sides": sides}
        return described

    def contents(self) -> dict[str, str]:
        """A digest of each file and folder, with the columns of a TSV; a pipe has no digest.

        Raises NotFoundError for one that is missing.
        """
        contents: dict[str, list[str]] = {}

        def add(path: str | Path | None, more: str = "") -> None:
            if path is not None:
                known = contents.setdefault(f"the content of {Path(path).name}", [])
                known.append(_digest(Path(path)) + more)

        for file in self.pair_files():
            columns = ", ".join(str(wanted.where) for wanted in file.columns.wanted())
            add(file.source, "" if file.target else f" (columns {columns})")
            add(file.target)
        if (multilingual := self.multilingual) is not None:
            for each in (*multilingual.pairs, *multilingual.development):
                add(each.source)
        for taught in self.taught:
            add(taught.file.source)
            add(taught.vectors)
        for paths in self.monolingual.values():
            for path in paths:
                add(path)
        for single in (*self.starts, self.segmenter, self.vectors):
            add(single)
        return {name: ", ".join(digests) for name, digests in contents.items()}

    def pair_files(self) -> Iterator[PairFile]:
        """All files of pairs."""
        yield from self.pairs
        if self.development is not None:
            yield self.development
        for files in self.pivot.sides if self.pivot else ():
            yield from files


def _digest(path: Path) -> str:
    """Return some digits of the digest of a file or a folder; of a pipe, which is not read, none.

    Raises NotFoundError.
    """
    if path.is_fifo():
        return "a pipe"
    return model_digest(path) if path.is_dir() else file_digest(path)[:12]


@dataclass(frozen=True)
class Environment:
    """Run-time environment: output folder, device, threads, callbacks."""

    output: Path
    device: str = "cpu"
    threads: int = 1
    bits: int = 32
    """Of a number of a matrix in the model: 32, 8, 4 or 3."""
    resume: bool = False
    note: Callable[[str], None] = lambda _: None
    report: Callable[[Progress, int], None] = lambda *_: None

    @property
    def state(self) -> Path:
        """The folder of the training state, beside the model."""
        return self.output.with_name(self.output.name + ".training")

    @property
    def has_state(self) -> bool:
        """Whether there is a state to resume."""
        return (self.state / PLAN).is_file() and (self.state / PROGRESS).is_file()

    def claim_state(self, plan: Mapping[str, Any]) -> None:
        """Take the state of the run to resume, or the state's folder without an earlier run's.

        Raises SettingsError where there is nothing to resume, or the state is of another run, and
        NotFoundError where its model is missing.
        """
        if self.resume and not self.has_state:
            raise SettingsError(f"{self.state}: nothing to resume; leave out --resume")
        remove_drafts(self.output)  # at its end, a run may have no model to write
        if not self.resume:
            with naming_output(self.state):
                for name in (PROGRESS, PLAN):
                    (self.state / name).unlink(missing_ok=True)
        claim(self.state, plan, ".*")
        if self.resume:
            self._check_model()

    def _check_model(self) -> None:
        """Raise NotFoundError without the model that a run to resume has kept."""
        remedy = "train again without --resume"
        kept = read_record(self.state / PROGRESS, remedy)["best"] is not None
        if kept and not (self.output / CONFIG).is_file():
            raise NotFoundError(f"{self.output}: the model of this training is missing; {remedy}")


@dataclass(frozen=True)
class NetworkConfig:
    """Settings of a network and its text, which every run has; subclasses add its training."""

    architecture: str
    shape: Any
    """Settings of the architecture: a frozen dataclass."""
    normalisation: Normalisation
    segmentation: SegmenterSettings

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested, as ``from_dict`` takes it."""
        return asdict(self)


class TrainingRun(ABC):
    """One run: reads files, trains, and writes the model folder at every best error."""

    given: Any
    """The settings as they were given."""
    config: Any
    """The settings in use: with those that depend on the text, once it is read."""
    network: Any
    processor: TextProcessor

    def __init__(self, config: Any, files: TrainingFiles, environment: Environment) -> None:
        """Read everything that the run needs.

        Raises:
            SettingsError: settings do not fit, or differ from the run to resume.
            NotFoundError, InputError: a file is missing or bad, or the model of the run to resume.
            DeviceError: the device, or an optional package, is not there.
            OutputError: something other than a model stands at the output.
        """
        self.given = self.config = config
        self.files, self.environment = files, environment
        self.check()
        self._device = resolve_device(environment.device)
        check_replaceable(environment.output)
        if environment.resume:
            environment.claim_state(self._plan())
        start_torch(config.training.seed, environment.threads)
        self.read_development()
        self.read()
        self.network = self.make_network()

    def read_development(self) -> None:
        """Read the pairs to validate on. Raises InputError if there are none."""
        file = self.files.development
        assert file is not None, "only files of many languages have none"
        self._development = [list(side) for side in zip(*file.texts(), strict=True)]
        if not self._development:
            raise InputError("no pairs to validate on", file=file.source)

    @abstractmethod
    def check(self) -> None:
        """Raise SettingsError for settings and files that do not go together."""

    @abstractmethod
    def read(self) -> None:
        """Read the training files, and learn the text processing."""

    @abstractmethod
    def make_network(self) -> Any:
        """A network at its starting point."""

    @abstractmethod
    def make_learner(self) -> tuple[Learner, Stream]:
        """The network on its device with its losses, and the mini-batches."""

    @abstractmethod
    def validate(self, network: Any) -> float:
        """Error of a network on the development pairs; lower is better."""

    @abstractmethod
    def save(self, folder: Path, network: Any) -> None:
        """Write a network and its text processing into a folder."""

    def run(self) -> Progress:
        """Train to the end, or on from the saved state of an interrupted run.

        Waits for another run that has the state.
        """
        learner, stream = self.make_learner()
        where = self.environment
        hooks = Hooks(self.validate, self.keep, where.report)
        with locked(where.state):
            if not where.resume:
                where.claim_state(self._plan())
            return learn(learner, stream, hooks, where.state, where.resume)

    def learn_text(
        self, texts: Sequence[list[str]], segmentation: SegmenterSettings | Segmenter
    ) -> TextProcessor:
        """Learn the segmentation, unless it is given, and the vocabulary of each language."""
        self.environment.note("learning the segmentation and the vocabulary")
        languages, normalisation = self.files.languages, self.config.normalisation
        return TextProcessor.learn(texts, languages, normalisation, segmentation)

    def short(self, corpus: Corpus, kind: str = "") -> Corpus:
        """Leave out, and count, pairs that are too long; *kind* goes before "pairs"."""
        longest = self.config.training.maximum_length
        short = corpus.up_to(longest)
        left = len(corpus) - len(short)
        self.environment.note(
            f"{len(short)} {kind}pairs, {left} left out for more than {longest} subwords"
        )
        if not len(short):
            raise SettingsError(
                f"every {kind}pair is longer than training.maximum_length={longest}"
            )
        return short

    def _plan(self) -> dict[str, Any]:
        """Every setting, and the names and contents of the files."""
        return {
            **self.given.to_dict(),
            "bits": self.environment.bits,
            "material": self.files.described(),
            **self.files.contents(),
        }

    def keep(self, network: Any, progress: Progress) -> None:
        """Write the model folder: the network with the lowest error so far."""
        record = {"material": self.files.described(), **self.config.to_dict()}
        record["validation"] = progress.history
        with writing_folder(self.environment.output) as folder:
            self.save(folder, network)
            (folder / RECORD).write_bytes(json_bytes(record, indent=2))
