"""``bitext-bicleaner``: scores by the command line of bicleaner-ai-classify."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bitextfilter.cleaning.choice import MANY
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    RowSettings,
    argument,
    as_column,
    cores,
    flag,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.io.files import read_lines
from bitextfilter.io.rows import BadRow, Columns, Row, is_blank
from bitextfilter.languages import any_language, find_language
from bitextfilter.models.folders import languages_of, naming_pair, shipped_models

if TYPE_CHECKING:
    from bitextfilter.filters.pipeline import Pipeline
    from bitextfilter.scoring.model import Model

_COLUMN, _ZERO = "bicleaner_ai_score", b"0"
_NO_EFFECT = "Accepted; no result depends on it."


@dataclass(frozen=True)
class _Settings:
    """The options of bicleaner-ai-classify."""

    files: tuple[str, ...] = argument("INPUT [OUTPUT] MODEL", nargs=-1)
    source_lang: str | None = option("-s --source_lang LANGUAGE", "Language of the source.")
    target_lang: str | None = option("-t --target_lang LANGUAGE", "Language of the target.")
    header: bool = flag("--header", "The first line names the columns.")
    scol: int | str | None = option(
        "--scol COLUMN", "Column of the source  [default: 3; with --header src_text]", as_column
    )
    tcol: int | str | None = option(
        "--tcol COLUMN", "Column of the target  [default: 4; with --header trg_text]", as_column
    )
    score_only: bool = flag("--score_only", "Write the scores without the rows.")
    disable_hardrules: bool = flag(
        "--disable_hardrules", "Do not give 0 to pairs that fail the rules of bitext-filter."
    )
    require_gpu: bool = flag("--require_gpu", "Compute on a GPU, or end with exit code 69.")
    processes: int | None = option(
        "-p --processes N",
        "Threads  [default: BICLEANER_AI_THREADS, or all cores]",
        COUNT,
        envvar="BICLEANER_AI_THREADS",
    )
    block_size: int = option("-b --block_size N", "Rows in memory at a time.", COUNT, 10000)
    batch_size: int = option("--batch_size N", _NO_EFFECT, COUNT, 32)
    mixed_precision: bool = flag("--mixed_precision --fp16", _NO_EFFECT)
    tmp_dir: str | None = option("--tmp_dir DIR", _NO_EFFECT)
    disable_lm_filter: bool = flag("--disable_lm_filter", "Accepted; there is none.")
    disable_porn_removal: bool = flag("--disable_porn_removal", "Accepted; there is none.")
    offline: bool = flag("--offline", "Accepted; nothing is ever downloaded.")

    @property
    def paths(self) -> tuple[str, str, str]:
        """Input, output and model. Raises UsageError.

        A number before them, as mozilla/translations gives, is passed over: it repeats
        BICLEANER_AI_THREADS.
        """
        words = self.files[1:] if self.files and self.files[0].isdecimal() else self.files
        if len(words) not in (2, 3):
            raise click.UsageError(f"expected INPUT [OUTPUT] MODEL, not {len(words)} words")
        first, *output, model = words
        return first, output[0] if output else "-", model

    def columns(self) -> Columns:
        """Return the columns."""
        usual = ("src_text", "trg_text") if self.header else (3, 4)
        source, target = self.scol or usual[0], self.tcol or usual[1]
        return Columns(source, target, blank=True)


@command("bitext-bicleaner", _Settings, uses="")
def main(run: Run, settings: _Settings) -> None:
    """Score pairs by the options of bicleaner-ai-classify: a drop-in for its place in pipelines.

    Appends the default score of the model, the probability that a person calls the row right, from
    0 to 1, with three decimals (column bicleaner_ai_score). As there,
    a row with an empty side or without its columns gets 0, and so does one that fails the default
    rules of bitext-filter, unless --disable_hardrules is given. Other options are refused.

    MODEL is a shipped model, the folder of one, or a metadata.yaml, whose source_lang and
    target_lang choose a shipped model. The scores are of that model, not of Bicleaner's: thresholds
    differ. Memory is bounded by --block_size.

    Example:

        bitext-bicleaner --scol 1 --tcol 2 - - en-de < pairs.tsv > scored.tsv
        bitext-bicleaner --disable_hardrules --score_only pairs.tsv scores.txt pack/metadata.yaml
    """

    path, out, name = settings.paths
    chosen = choose_model(name, settings.source_lang, settings.target_lang)
    run.row_settings = RowSettings(
        input=path, output=out, header=settings.header, on_error="reject"
    )
    run.common = replace(run.common, batch_size=settings.block_size)
    device = "cuda" if settings.require_gpu else "auto"
    model = run.load(chosen.name, device, settings.processes or cores())
    run.facts["model"], run.facts["digest"] = model.name, model.digest
    scorer = _Scorer(model, chosen, None if settings.disable_hardrules else _rules(run, chosen))
    rows, output = run.rows(settings.columns()), run.output()
    if not settings.score_only:
        output.write(rows.first_line([_COLUMN]))
    elif settings.header:
        output.write(f"{_COLUMN}\n".encode())
    run.counts["zero"] = 0
    for window in run.windows(rows):
        cells = scorer.cells(window)
        run.counts["zero"] += cells.count(_ZERO)
        if settings.score_only:
            output.write(b"".join(cell + b"\n" for cell in cells))
        else:
            lines = zip(window, cells, strict=True)
            output.write(b"".join(b"%b\t%b%b" % (row.line, c, row.ending) for row, c in lines))


def _rules(run: Run, chosen: Chosen) -> Pipeline:
    """Return the default rules of bitext-filter that can run."""
    from bitextfilter.filters.pipeline import Pipeline
    from bitextfilter.filters.registry import parse_rules, usable

    able, passed_over = usable(parse_rules(("default",)), chosen.languages)
    for reason in dict.fromkeys(passed_over.values()):
        run.note(f"not applied: {reason}", always=True)
    return Pipeline(able)


@dataclass(frozen=True)
class _Scorer:
    """Scores windows of rows."""

    model: Model
    chosen: Chosen
    pipeline: Pipeline | None

    def cells(self, window: Sequence[Row | BadRow]) -> list[bytes]:
        """Return the score of each row as text."""
        cells = [_ZERO] * len(window)
        whole = {
            place: (row.source, row.target)
            for place, row in enumerate(window)
            if isinstance(row, Row) and not (is_blank(row.source) or is_blank(row.target))
        }
        places = [*whole]
        kept = [places[index] for index in self._kept([*whole.values()])]
        for place, score in zip(kept, self._scores([whole[n] for n in kept]), strict=True):
            cells[place] = f"{score:.3f}".encode()
        return cells

    def _kept(self, pairs: Sequence[tuple[str, str]]) -> Sequence[int]:
        """Return the places of the pairs that pass all rules."""
        if self.pipeline is None or not pairs:
            return range(len(pairs))
        from bitextfilter.filters.pairs import Pairs

        checked = self.pipeline.check(Pairs(*_sides(pairs), self.chosen.languages))
        places: list[int] = checked.keep.nonzero()[0].tolist()
        return places

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the score of each pair."""
        source, target = _sides(pairs)
        if self.chosen.swapped:
            source, target = target, source
        (found,) = self.model.score(source, target).values()
        scores: list[float] = found.tolist()
        return scores


def _sides(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [source for source, _ in pairs], [target for _, target in pairs]


_LINE = re.compile(r"""(source_lang|target_lang|model)\s*:\s*["']?([^"'#]*?)["']?\s*(#.*)?""")
_SOURCE, _TARGET = "source_lang", "target_lang"
_ANY = {"", "xx", "xxx"}
"""Languages of a Bicleaner model of many languages."""


class Chosen(NamedTuple):
    """The model for two columns."""

    name: str
    """As ``scoring.model.load`` takes it."""
    languages: tuple[str, str]
    """Of the columns, source first."""
    swapped: bool
    """Whether the source column is the target side of the model."""


def choose_model(model: str, source: str | None = None, target: str | None = None) -> Chosen:
    """Choose the model for the languages of two columns.

    Args:
        model: a shipped model, the folder of one, or a ``metadata.yaml``. Its keys ``source_lang``
            and ``target_lang`` name the languages, its key ``model`` may name a model, or a
            folder, by its path from the file or from the working folder;
            without that, a shipped model of these languages is taken.
        source, target: languages, which override those of the file.

    Raises:
        NotFoundError: there is no such model or file.
        SettingsError: the languages are unknown, or not those of the model.
    """
    wanted, name = (source or "", target or ""), model
    if model.endswith((".yaml", ".yml")):
        found = _read(model)
        wanted = wanted[0] or found.get(_SOURCE, ""), wanted[1] or found.get(_TARGET, "")
        for key, language in zip((_SOURCE, _TARGET), wanted, strict=True):
            if language in _ANY:
                raise SettingsError(f"{model}: it does not name {key}; give --{key}")
        name = found.get("model") or _shipped(*wanted)
        beside = Path(model).parent / name
        name = str(beside) if beside.is_dir() else name
    own = languages_of(name)
    if own is None:
        if not all(wanted):
            raise SettingsError(
                f"{name} is a model of many languages; give --source_lang and --target_lang"
            )
        return Chosen(naming_pair(name, wanted), wanted, swapped=False)
    spelt = [find_language(each, own) or each for each in wanted]
    asked = spelt[0] or own[0], spelt[1] or own[1]
    if asked not in (own, own[::-1]):
        raise SettingsError(f"{name} is for {' and '.join(own)}, not for {' and '.join(asked)}")
    return Chosen(name, asked, swapped=asked != own)


def _read(path: str) -> dict[str, str]:
    """Return the keys of a ``metadata.yaml`` that matter here."""
    if not Path(path).is_file():
        raise NotFoundError(f"{path}: no such file")
    lines = (_LINE.fullmatch(line) for line in read_lines(path))
    return {found[1]: found[2] for found in lines if found}


def _shipped(source: str, target: str) -> str:
    """Return the name of the shipped model of two languages."""
    source, target = any_language(source).code, any_language(target).code
    names = f"{source}-{target}", f"{target}-{source}"
    return next((name for name in names if name in shipped_models()), MANY)
