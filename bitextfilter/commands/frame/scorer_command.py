"""The option of a program that scores, and the windows of a run with its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.options import (
    COUNT,
    NATURAL,
    NumberRange,
    is_given,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import WorkerError
from bitextfilter.io.rows import BadRow, Row, RowReader
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.scoring.cached_scores import Cache

    _Windows = Iterable[list[Row | BadRow]]


@dataclass(frozen=True)
class ScorerCommand:
    """A program that scores."""

    scorer_command: str | None = option(
        "--scorer-command CMD",
        "Score by a program, which reads source<TAB>target lines and prints a number for each; "
        "with --similarity, beside those measures.",
    )
    scorer_name: str = option(
        "--scorer-name NAME", "Name of its column, also for --similarity.", default="command"
    )
    scorer_processes: int = option(
        "--scorer-processes N", "Processes of it. No result depends on it.", COUNT, 1
    )
    scorer_timeout: float = option(
        "--scorer-timeout SECONDS",
        "End one that neither reads nor answers for so long.",
        NumberRange(min=0, min_open=True),
        600.0,
    )
    scorer_retries: int = option(
        "--scorer-retries N",
        "Start one that died anew, at most N times without an answer between.",
        NATURAL,
        0,
    )

    def check(self) -> None:
        """Raise UsageError for an option that needs the program, and for a name that is taken."""
        names = ("scorer_name", "scorer_processes", "scorer_timeout", "scorer_retries")
        if self.scorer_command is None and (given := next(filter(is_given, names), None)):
            raise click.UsageError(f"--{given.replace('_', '-')} is for --scorer-command")
        name = self.scorer_name
        if name in (*MEASURES, *TRANSLATION_MEASURES, "reasons"):
            raise click.UsageError(f"--scorer-name {name} is the name of another column")
        if not name.strip() or "," in name or not name.isprintable():
            raise click.UsageError(f"--scorer-name {name!r} is no name of a column")

    def measures(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the measures *asked*, with the program's column last where it is not among them.

        None are asked without a program for the default of the model.
        """
        if self.scorer_command is None or self.scorer_name in asked:
            return asked
        return (*asked, self.scorer_name)

    def scored(
        self, run: Run, rows: RowReader, windows: _Windows, cache: Cache | None
    ) -> Iterator[tuple[list[Row | BadRow], Scores]]:
        """Yield the *windows* of raw rows as ``Run.windows`` does, with the program's scores.

        Rows are read ahead of the answers. Raises WorkerError, with a row that has no answer.
        """
        from bitextfilter.io.programs import PoolSettings, ProgramError
        from bitextfilter.scoring.command_scores import CommandScores

        assert self.scorer_command is not None, "there is no program"
        settings = PoolSettings(
            self.scorer_command, self.scorer_processes, self.scorer_timeout, self.scorer_retries
        )
        run.facts["scorer"] = settings.command
        patient = run.row_settings.reject
        scorer = CommandScores(settings, rows.parser, run.counts, cache, patient=patient)
        scores = run.enter(scorer)
        try:
            for window, found in scores.scored(_stopping(run, windows)):
                run.admit(window)
                yield window, found
                run.advance(len(window))
        except ProgramError as error:
            row = scores.row_of(error)
            if row is None:
                raise
            bad = rows.parser.refused(row, str(error), "")
            raise WorkerError(str(run.error(bad))) from error


def _stopping(run: Run, windows: _Windows) -> Iterator[list[Row | BadRow]]:
    """Yield windows; a bad row that is not rejected stops the run before it is asked of."""
    for window in windows:
        for row in window:
            if isinstance(row, BadRow) and not run.row_settings.reject:
                raise run.error(row)
        yield window
