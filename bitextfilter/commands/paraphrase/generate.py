"""``bitext-paraphrase generate``: paraphrases by a translation model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import as_numbered_column, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.translators import (
    SearchOptions,
    TranslatorName,
    found_windows,
    load_translation_model,
    output_lines,
    search_options,
    text_of,
)
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import REMEDY, BadRow, Columns, Row, TextColumn, WantedColumn

if TYPE_CHECKING:
    from bitextfilter.translation.translator import AnyTranslator, SearchSettings, Translation


@dataclass(frozen=True)
class _Templates:
    """The column of sentences, and the templates to write by."""

    template: str | None = option(
        "--template PARSE", 'Write so, such as "( S ( NP ) ( VP ) ( . ) )".'
    )
    template_column: int | None = option(
        "--template-column COLUMN", "Read a TSV with parses here.", as_numbered_column
    )
    column: int | str | None = option(
        "--column COLUMN",
        "Column of the sentence.  [default: the whole line; with --template-column 1]",
        as_numbered_column,
    )

    def columns(self) -> Columns | TextColumn:
        """Return the columns to read; UsageError for options that contradict each other."""
        if self.template_column is None:
            return TextColumn(self.column, blank=True)
        if self.template is not None:
            raise click.UsageError("--template and --template-column exclude each other")
        sentence = WantedColumn("sentence", "--column", self.column or 1)
        template = WantedColumn("template", "--template-column", self.template_column)
        return Columns(blank=True, sides=(), first=(sentence, template))


@command(
    "generate",
    _Templates,
    search_options("paraphrase", "5, or --n-best + 1"),
    row_options("input output errors"),
    TranslatorName,
    batch_size=2048,
)
def main(run: Run, templates: _Templates, search: SearchOptions) -> None:
    """Paraphrase sentences, one a line: a line for each input line, in order.

    The model is one of bitext-train-translator with --languages en,en or the like, trained on
    paraphrases. Copies of the sentence, but for case, spaces and punctuation, are left out, unless
    the search found nothing else: the summary counts such lines as copies.

    With --n-best K each line gives up to K rows instead, best first, tab-separated: its number,
    the rank, the score and the paraphrase. A score is the mean natural-log probability of a
    subword, the end mark included: from -inf to 0, higher is better. --sample draws paraphrases
    from the model by --seed, K of them.

    A model of --architecture controlled writes by the two upper levels of a parse: one for all
    lines (--template), or one of each line (--template-column).

    Lines that are blank, too long or bad are treated as bitext-translate does. A paraphrase
    depends on its line alone. Memory is bounded by --batch-size.

    Example:

        bitext-paraphrase generate --model en-en --n-best 5 -i text.gz -o five.tsv
    """
    settings = search.settings(spare=1)
    reader = run.rows(templates.columns())
    output = run.output()
    generator = _Generator(
        run, load_translation_model(run, run.model_name, settings), settings, templates
    )
    output.write(reader.first_line())
    for window in found_windows(run, reader, generator.find):
        for row, translation in window:
            output.writelines(output_lines(row, translation, search))


class _Generator:
    """Finds paraphrases, window by window."""

    def __init__(
        self, run: Run, translator: AnyTranslator, settings: SearchSettings, templates: _Templates
    ) -> None:
        """Raise UsageError if --template is no parse."""
        from bitextfilter.text.wording import normaliser

        self._run, self._translator, self._settings = run, translator, settings
        self._wording = normaliser(("case", "punctuation", "symbols", "space"))
        self._reported: set[str] = set()
        self._of_rows, one = templates.template_column is not None, templates.template
        try:
            self._template = None if one is None else self._parse(one)
        except InputError as error:
            raise click.UsageError(f"--template: {error.message}") from error
        run.counts["copies"] = 0

    def find(self, window: Sequence[Row | BadRow]) -> list[Translation]:
        """Return the paraphrases of each line, the best first."""
        sentences = [text_of(row) for row in window]
        templates = None if self._template is None else [self._template] * len(window)
        if self._of_rows:
            templates = [self._template_of(row) for row in window]
            sentences = [s if t else "" for s, t in zip(sentences, templates, strict=True)]
        found = self._translator.translate(sentences, self._settings, templates)
        return [self._others(*both) for both in zip(sentences, found, strict=True)]

    def _template_of(self, row: Row | BadRow) -> str:
        """Return the template of a row; empty without a sentence, or for a rejected bad parse."""
        if not text_of(row):
            return ""
        try:
            return self._parse(row.texts[1]) if isinstance(row, Row) else ""
        except InputError as error:
            name = stream_name(self._run.row_settings.input)
            self._run.reject(BadRow(*row[:3], error.message, REMEDY, name))
            return ""

    def _parse(self, text: str) -> str:
        """Return the template of a parse; warn once of each symbol that the model does not know."""
        from bitextfilter.text.parses import template_of

        template = template_of(text)
        if (known := self._translator.processor.templates) is not None:
            for symbol in known.unknown(template):
                if symbol not in self._reported:
                    self._run.warn(f"the model has no symbol {symbol!r} for templates")
                    self._reported.add(symbol)
        return template

    def _others(self, sentence: str, found: Translation) -> Translation:
        """Leave out copies of the sentence; if all are, keep and count them."""
        same = self._wording(sentence)
        others = [other for other in found.hypotheses if self._wording(other.text) != same]
        if others:
            return found._replace(hypotheses=others)
        self._run.counts["copies"] += bool(found.hypotheses)
        return found
