"""``bitext-judge command``: labels of a sample by any program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    NumberRange,
    argument,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.judge.options import read_sample, scale_option
from bitextfilter.errors import InputError, WorkerError

if TYPE_CHECKING:
    from bitextfilter.judge.asking import Question
    from bitextfilter.judge.judgements import RowSample, Scale


@dataclass(frozen=True)
class _Settings:
    """The program, the sample, and the labels."""

    program: str = argument("CMD")
    sample: str = argument("SAMPLE", default="-")
    scale: Scale = scale_option("0-1")
    annotator: str = option(
        "--annotator NAME", "Name of the program in the labels.", str, "program"
    )
    timeout: float | None = option(
        "--timeout SECONDS",
        "End a program that neither reads nor answers for so long.",
        NumberRange(min=0, min_open=True),
        600.0,
    )
    batch: int | None = option(
        "--batch N", "Start the program anew after N rows  [default: once for all]", COUNT
    )


_AGAIN = "and the same command goes on"


@command("command", _Settings, row_options("output"), uses="")
def main(run: Run, settings: _Settings) -> None:
    """Label a sample by a program: a language model, or anything that reads lines.

    CMD is started in a shell. It gets a line a row, source<TAB>target, in which line breaks of
    other kinds are spaces, and prints one label a line, in the same order: a number from 0 to 1,
    or what --scale says. It may answer each line at once, or all at the end of its input.

    With -o FILE each answer is kept at once in FILE.answers, and the same command
    goes on after a stop. A program that prints each answer at once (flush) loses none;
    --batch bounds the loss of others. FILE is written when all rows have a label.

    A program that fails, prints too few or too many lines or is idle for --timeout ends the
    run with exit code 69, an answer that is no label with 65; both name the last line of its
    stderr or the answer. The program and all that it started are then ended.

    Example:

        bitext-judge command './ask-a-model' sample.tsv -o labels.tsv
        bitext-judge command 'python judge.py' sample.tsv --scale good-bad --batch 50 -o labels.tsv
    """
    from bitextfilter.judge.asking import Question, labels_by
    from bitextfilter.judge.judgements import labels_text

    target = run.row_settings.output
    if target != "-":
        needs_own_file("--output", target, [settings.sample, run.common.manifest])
    output, sample = run.output(), read_sample(run, settings.sample)
    name = " ".join(settings.annotator.split()) or "program"
    question = Question(settings.program, settings.scale, name, settings.timeout, settings.batch)
    known = _answers(run, question, sample, target)
    run.counts["labels"] = len(known)
    run.facts.update(program=settings.program, scale=settings.scale.name)
    output.write(labels_text(labels_by(question, sample, known)))


def _answers(run: Run, question: Question, sample: RowSample, target: str) -> dict[str, str]:
    """Ask for the labels that are not kept yet; return all, by the pair's digest."""
    from bitextfilter.judge.asking import ask, kept_answers
    from bitextfilter.judge.judgements import SampledRow

    progress = run.progress(len(sample.rows), "rows")
    if target == "-":
        known: dict[str, str] = {}

        def hold(row: SampledRow, label: str) -> None:
            known[row.pair] = label
            progress.update(1)

        ask(sample.rows, question, hold)
        return known
    kept = run.enter(kept_answers(target, question))
    run.afterwards(kept.forget)
    if kept.known:
        run.note(f"{len(kept.known)} answers are kept from before")
        progress.update(len(kept.known))

    def keep(row: SampledRow, label: str) -> None:
        kept.add(row, label)
        progress.update(1)

    try:
        ask([row for row in sample.rows if row.pair not in kept.known], question, keep)
    except (InputError, WorkerError) as error:
        raise type(error)(f"{error}; {len(kept.known)} answers are kept, {_AGAIN}") from error
    return kept.known
