"""Labels of a sample by a program, kept as they come so that a run can go on after a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import in_utf_8, locked, naming_input, naming_output
from bitextfilter.io.programs import Lines, PoolSettings, ProgramPool, question_line
from bitextfilter.judge.judgements import Label, RowSample, SampledRow, Scale


@dataclass(frozen=True)
class Question:
    """The program to ask, and what is asked of it."""

    command: str
    scale: Scale
    annotator: str
    timeout: float | None = None
    """The most seconds in which it neither reads nor answers."""
    batch: int | None = None
    """Rows given to one run of the program; None: all."""

    @property
    def plan(self) -> str:
        """The line that heads the answers kept, without its end."""
        return " ".join(f"answers on {self.scale.name} of {self.command}".split())


def ask(
    rows: Sequence[SampledRow], question: Question, keep: Callable[[SampledRow, str], None]
) -> None:
    """Ask a program for the labels of *rows*, and *keep* each as it comes.

    Raises WorkerError as ``ProgramPool.answers`` does, InputError for an answer off the scale.
    """
    size = question.batch or max(1, len(rows))
    settings = PoolSettings(question.command, timeout=question.timeout)
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        lines = Lines(question_line(row.source, row.target) for row in part)
        unanswered = iter(part)
        with ProgramPool(settings) as pool:
            for _, answers in pool.answers([lines]):
                for answer in answers:
                    row = next(unanswered)
                    keep(row, _checked(answer, row, question))


def _checked(answer: bytes, row: SampledRow, question: Question) -> str:
    """Return the label of an answer."""
    label = answer.decode("utf-8", "replace").strip()
    if question.scale.holds(label):
        return label
    message = f"the answer {label[:80]!r} for row {row.row} is not {question.scale.labels}"
    remedy = "print one for each line, and nothing else; --scale names others"
    raise InputError(message, file=question.command, remedy=remedy)


class KeptAnswers:
    """The answers of an unfinished run, in ``NAME.answers`` beside the output NAME."""

    def __init__(self, path: Path, question: Question) -> None:
        """Read the answers kept; raises SettingsError if they are of another command or scale."""
        self._path, self._question = path, question
        self.known: dict[str, str] = {}
        """Labels by the pair's digest."""
        self._stream: BinaryIO | None = None
        data = b""
        if path.exists():
            with naming_input(path):
                data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        self._size = len(whole)
        plan, *lines = whole.decode("utf-8", "replace").split("\n")
        if whole and plan != question.plan:
            raise SettingsError(f"{path} has {plan[:200]}; delete it, or name another output")
        for line in lines:
            pair, _, label = line.partition("\t")
            if question.scale.holds(label):
                self.known[pair] = label

    def add(self, row: SampledRow, label: str) -> None:
        """Keep an answer."""
        with naming_output(self._path):
            if self._stream is None:
                self._stream = open(self._path, "ab")
                self._stream.truncate(self._size)
                if not self._size:
                    self._stream.write(in_utf_8(f"{self._question.plan}\n"))
            self._stream.write(in_utf_8(f"{row.pair}\t{label}\n"))
            self._stream.flush()
        self.known[row.pair] = label

    def close(self) -> None:
        """Close the file, which stays."""
        if self._stream is not None:
            self._stream.close()

    def forget(self) -> None:
        """Remove the file."""
        with naming_output(self._path):
            self._path.unlink(missing_ok=True)


@contextmanager
def kept_answers(output: str, question: Question) -> Iterator[KeptAnswers]:
    """Hold the answers kept beside *output*; waits for another run that has them."""
    path = Path(f"{Path(output).absolute()}.answers")
    with locked(path):
        kept = KeptAnswers(path, question)
        try:
            yield kept
        finally:
            kept.close()


def labels_by(question: Question, sample: RowSample, known: dict[str, str]) -> list[Label]:
    """Return the labels of a sample, of which all are *known*."""
    scale, name = question.scale.name, question.annotator
    return [Label(row.row, row.pair, known[row.pair], scale, name) for row in sample.rows]
