"""The plan of a cleaning: its languages, its model and its cut, found by the first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bitextfilter.cleaning.choice import MANY, model_of
from bitextfilter.cleaning.cleaner import Cleaner, Cut, Score
from bitextfilter.cleaning.rows import Preparer
from bitextfilter.corpus.dedup import Deduplicator
from bitextfilter.corpus.duplicate_keys import DedupSettings
from bitextfilter.corpus.other_texts import OtherTexts
from bitextfilter.corpus.repair import Repairer
from bitextfilter.errors import SettingsError
from bitextfilter.filters.custom import InColumn
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import parse_rules, usable, without
from bitextfilter.io.rows import Row, RowParser
from bitextfilter.languages import own_language
from bitextfilter.models.folders import BALANCED, ModelName, languages_of, naming_pair
from bitextfilter.scoring.row_checks import languages_of_rows
from bitextfilter.scoring.thresholds import NamedCut, measure_of, named_cut

KEEP_ALL = "none"
"""In place of a kind of duplicates: all rows are kept."""


class Rules(NamedTuple):
    """Rules of ``bitext-filter``."""

    specs: Sequence[str] = ("default",)
    without: Sequence[str] = ()
    """Names of default rules that are left out."""


@dataclass(frozen=True)
class Plan:
    """The languages, the model and the cut."""

    languages: tuple[str, str]
    model: str
    """As ``scoring.model.load`` takes it."""
    cut: Cut
    named: NamedCut | None = None
    """The cut, where it was asked for by name."""

    @classmethod
    def of(
        cls,
        rows: Callable[[], Sequence[Row]],
        languages: tuple[str, str] | None = None,
        model: str | None = None,
        least: float | str = BALANCED,
    ) -> Plan:
        """Find all that is not given.

        Args:
            rows: returns the first rows, which tell the languages.
            languages: in any usual spelling.
            model: name or folder; None for the shipped one for the languages.
            least: lowest score of a row that is kept, or the name of a cut.

        Raises SettingsError where the rows do not tell the languages, no shipped model knows them,
        or the model has no such cut.
        """
        if languages is None and model is not None:
            languages = languages_of(model)
        if languages is None:
            languages = languages_of_rows(model or MANY, rows())
        model = model_of(languages) if model is None else _of_pair(model, languages)
        measure, named = measure_of(model, None, None), None
        if isinstance(least, str):
            named = named_cut(model, measure, least)
            least = named.threshold
        return cls(languages, model, Cut(measure, least), named)

    def preparer(self, parser: RowParser, rules: Rules) -> tuple[Preparer, dict[str, str]]:
        """Return the first steps, and by name why a default rule cannot be applied.

        Raises SettingsError for an unknown rule, or one that cannot be applied.
        """
        wanted = without(parse_rules(rules.specs), rules.without)
        if columns := [each.rule for each in wanted if isinstance(each.rule, InColumn)]:
            raise SettingsError(
                f"{columns[0].name}: reads a column, and cleaning reads texts alone: bitext-filter"
                " has this rule"
            )
        able, passed_over = usable(wanted, self.languages)
        repairers = [Repairer(language=language) for language in self.languages]
        return Preparer(parser, repairers, Pipeline(able), self.languages), passed_over

    def cleaner(
        self,
        parser: RowParser,
        duplicates: tuple[str, OtherTexts | None],
        score: Score,
        aside: bool = False,
    ) -> Cleaner:
        """Return the other steps; to be closed.

        *duplicates*: a kind of ``bitext-dedup``, or ``KEEP_ALL``, and the texts of other files. The
        rest is as in :class:`Cleaner`.
        """
        match, others = duplicates
        deduplicator = None
        if match != KEEP_ALL:
            deduplicator = Deduplicator(DedupSettings(match=match), others=others)
        return Cleaner((deduplicator, others), score, self.cut, parser, aside)


def _of_pair(model: str, languages: tuple[str, str]) -> str:
    """Return the name of a model for two languages. Raises SettingsError where it is of others."""
    name = ModelName.parse(model)
    known = name.config.get("languages") or languages
    source, target = (own_language(language, known) for language in languages)
    own = languages_of(model) if name.config.get("languages") else None
    if own in (None, (source, target)):
        return naming_pair(model, languages)
    if name.languages is not None:
        raise SettingsError(f"{model} is not for {','.join(languages)}")
    return f"{model}:{source},{target}"
