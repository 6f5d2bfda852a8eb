"""``bitext-paraphrase make``, ``generate`` and ``lexicon``: paraphrases, and a lexicon of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    DIGITS,
    as_numbered_column,
    option,
    options_of,
    row_options,
)
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
from bitextfilter.io.files import BOM, stream_name
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import REMEDY, BadRow, Columns, Row, TextColumn, WantedColumn
from bitextfilter.models.folders import find_model, model_digest

if TYPE_CHECKING:
    from bitextfilter.filters.rule import Bounded
    from bitextfilter.mining.word_alignment import Entries
    from bitextfilter.translation.translator import (
        AnyTranslator,
        Hypothesis,
        SearchSettings,
        Translation,
    )

_TEXTS = ("reference", "translation", "rank", "score")
"""The names of the first columns; the columns of the rules follow."""


class _Pair(NamedTuple):
    """One line of output, before the rules have measured it."""

    row: Row
    rank: int
    found: Hypothesis


@dataclass(frozen=True)
class _Settings:
    """The translator, and the encoder of the paraphrase score, if any."""

    translator: str = option(
        "--translator DIR", "The folder of bitext-train-translator.", required=True
    )
    model: str | None = option(
        "--model NAME|DIR", "Also append the paraphrase score, by this encoder."
    )


_SEARCH = options_of(
    SearchOptions,
    "beam n_best max_length digits",
    {
        "n_best": {"help": "Pair each reference with its K best translations.  [default: 1]"},
        "beam": {
            "help": "Hypotheses kept while searching; 1 is greedy search.  "
            "[default: 5, or --n-best]"
        },
        "max_length": {"help": "Most subwords of a sentence that are read, and of a translation."},
    },
)


@command("make", _Settings, _SEARCH, row_options(), batch_size=2048)
def make(run: Run, models: _Settings, search: SearchOptions) -> None:
    """Translate the foreign side of sentence pairs, and pair it with the other, the reference.

    Reads pairs of a foreign sentence (--scol) and its reference (--tcol). Writes a row for each
    translation, tab-separated, best first: reference, translation, rank (from 1), and

        score       mean natural-log probability of a subword, -inf to 0; the cost is -score
        length      words of the translation
        overlap1    0 to 1: words that both share / words of the shorter side
        overlap2    the same of two words in a row, overlap3 of three
        bleu        0 to 1: smoothed sentence BLEU of the translation
        paraphrase  -1 to 1, with --model: cosine of the two sentence vectors

    each as bitext-filter has it (rules length, ngram-overlap, sentence-bleu, paraphrase-score).
    --header names these columns, in place of those read; other columns are not written.
    A rejected row has no translation. Of a sentence of more than --max-length subwords only so
    many are read, and its line is said on stderr. Memory is bounded by --batch-size.

    Example:

        bitext-paraphrase make --translator de-en --scol 2 --tcol 1 < en-de.tsv > pairs.tsv
        bitext-paraphrase make --translator de-en --n-best 10 --beam 50 -i de-en.tsv.gz -o ten.tsv
    """
    settings = search.settings()
    rules = _rules(run, models.model)
    reader, output = run.rows(), run.output()
    model = load_translation_model(run, models.translator, settings)

    def find(window: Sequence[Row | BadRow]) -> list[Translation]:
        return model.translate([text_of(row) for row in window], settings)

    output.write(_first_line(reader, rules))
    run.counts["pairs"] = 0
    for window in found_windows(run, reader, find):
        pairs = list(_pairs(run, reader, window, search.n_best or 1))
        run.counts["pairs"] += len(pairs)
        output.writelines(_lines(pairs, rules, search.digits))


def _rules(run: Run, model: str | None) -> dict[str, Bounded]:
    """Return the prepared rules by the names of their columns."""
    from bitextfilter.filters.likeness import NgramOverlap, ParaphraseScore, SentenceBleu
    from bitextfilter.filters.shape import Length

    rules: dict[str, Bounded] = {"length": Length()}
    rules |= {f"overlap{order}": NgramOverlap(order=order) for order in (1, 2, 3)}
    rules["bleu"] = SentenceBleu()
    if model is not None:
        rules["paraphrase"] = ParaphraseScore(model=model)
        rules["paraphrase"].prepare(None)
        run.facts["paraphrase_model"] = Path(model).name
        run.facts["paraphrase_digest"] = model_digest(find_model(model))
    return rules


def _first_line(reader: RowReader, names: Mapping[str, object]) -> bytes:
    """Return the BOM, if any, and the new header."""
    first = reader.first_line()
    if reader.header is None:
        return first
    mark = BOM if first.startswith(BOM) else b""
    return mark + "\t".join([*_TEXTS, *names]).encode() + (reader.header_ending or b"\n")


def _pairs(
    run: Run, reader: RowReader, window: Sequence[tuple[Row | BadRow, Translation]], n_best: int
) -> Iterator[_Pair]:
    """Yield the references of a window with their translations; a row without any is bad."""
    for row, translation in window:
        if isinstance(row, BadRow):
            continue
        if not translation.hypotheses:
            problem = "nothing in the source to translate"
            run.reject(BadRow(row.number, row.line, row.ending, problem, REMEDY, reader.name))
        for rank, found in enumerate(translation.hypotheses[:n_best], 1):
            yield _Pair(row, rank, found)


def _lines(pairs: Sequence[_Pair], rules: Mapping[str, Bounded], digits: int) -> Iterator[bytes]:
    """Measure some pairs, and yield their lines."""
    from bitextfilter.filters.pairs import Pairs

    sides = [pair.row.target for pair in pairs], [pair.found.text for pair in pairs]
    measured = [rule.values(Pairs(*sides)) for rule in rules.values()]
    columns = [values if values.ndim == 1 else values[:, 1] for values in measured]
    for place, (row, rank, found) in enumerate(pairs):
        numbers = (column[place].item() for column in columns)
        cells = [row.target, found.text, str(rank), f"{found.score:.{digits}f}"]
        cells += (str(n) if isinstance(n, int) else f"{n:.{digits}f}" for n in numbers)
        yield "\t".join(cells).encode() + (row.ending or b"\n")


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
def generate(run: Run, templates: _Templates, search: SearchOptions) -> None:
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


@dataclass(frozen=True)
class _LexiconSettings:
    """The entries to keep, and the form of scores."""

    min_count: int = option("--min-count N", "Leave out rarer entries.", COUNT, 2)
    max_words: int = option("--max-words N", "Leave out pairs with a longer side.", COUNT, 60)
    digits: int = option("--digits", "Decimals of scores.", DIGITS, 4)


@command("lexicon", _LexiconSettings, row_options(), uses="batch_size")
def lexicon(run: Run, settings: _LexiconSettings) -> None:
    """Extract phrases of one to three words and their paraphrases from paraphrase pairs.

    The words of each pair are aligned (IBM model 1 with a preference for the diagonal, both ways,
    made one); phrase pairs are taken that no link leads out of. Text is lower-cased, and
    punctuation stands apart: it is aligned, but in no phrase. Words stand between spaces.

    Writes, tab-separated, the highest PMI first: phrase (of the source side), paraphrase, count,
    pmi in nats (from -inf to inf), p(paraphrase|phrase) and p(phrase|paraphrase), 0 to 1. Equal
    phrases count in these, but are left out.

    Memory holds the words of all pairs as numbers, 4 bytes for each word of one side with each of
    the other in a pair, and all distinct pairs of words and of phrases, some 50 bytes each.

    Example:

        bitext-paraphrase lexicon < paraphrases.tsv | bitext-rank --column 5 > by-probability.tsv
    """
    from bitextfilter.mining.word_alignment import entries_of, extract
    from bitextfilter.text.vocabulary import NumberedWords

    windows, output, words = run.good_windows(), run.output(), NumberedWords()
    for row in chain.from_iterable(windows):
        words.add(row.source, row.target, settings.max_words)
    run.counts["left out"] = words.left
    if not words.pairs:
        return
    entries = entries_of(extract(*words.sides(), words.readable()), settings.min_count)
    for line in _entry_lines(entries, words.words, settings.digits):
        output.write(line)
    run.counts["entries"] = len(entries.counts)


def _entry_lines(entries: Entries, words: list[str], digits: int) -> Iterator[bytes]:
    from bitextfilter.mining.word_alignment import phrase_words

    for phrase, paraphrase, count, *scores in zip(*entries, strict=True):
        texts = (" ".join(words[n] for n in phrase_words(int(key))) for key in (phrase, paraphrase))
        cells = [*texts, str(count), *(f"{score:.{digits}f}" for score in scores)]
        yield "\t".join(cells).encode() + b"\n"
