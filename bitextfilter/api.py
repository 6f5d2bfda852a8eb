"""The public functions: each does the work of a command, on Python values.

A pair is a tuple or a list: source, target, perhaps more members, and last of all its score.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader, WantedColumn, is_blank, number_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bitextfilter.corpus.duplicate_keys import DedupSettings
    from bitextfilter.evaluation.recovery import Recovery, RowScorer
    from bitextfilter.io.ranking import SelectionSettings
    from bitextfilter.scoring.model import Model

Pair = TypeVar("Pair", bound=Sequence[Any])
_Languages = tuple[str, str]

_WINDOW = 8192
"""Pairs processed together."""
_REMEDY = "on_bad=FUNCTION goes on"


def read_rows(
    path: str | Path,
    source: int | str = 1,
    target: int | str = 2,
    score: int | str | None = None,
    *,
    header: bool = False,
    on_bad: Callable[[int, str], object] | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Yield the source and target of each row of a TSV file, and its score if a column is given.

    Args:
        path: may end in ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
        source, target, score: columns: a number from 1, or from -1 for the last, or a name in the
            header. A row without a number in the column of the score has the score NaN.
        header: the first line names the columns; a UserWarning tells where it may be a row.
        on_bad: called with the number and the reason of each bad row, which is then skipped.

    Raises:
        NotFoundError: the file does not exist.
        InputError: a row lacks a column, is not UTF-8, has a NUL or an empty side, and ``on_bad``
            is None.
    """
    columns = _Columns(source, target, blank=score is not None, score=score)
    with open_input(path) as stream:
        reader = RowReader(stream, str(path), columns, header, _REMEDY)
        if reader.doubt:
            warnings.warn(reader.doubt, stacklevel=2)
        for row in reader:
            reason = _fault(row)
            if isinstance(row, Row) and not reason:
                yield (*row.texts[:2], *(number_of(text.encode()) for text in row.texts[2:]))
            elif on_bad is None:
                raise InputError(reason, file=str(path), line=row.number, remedy=_REMEDY)
            else:
                on_bad(row.number, reason)


def _fault(row: Row | BadRow) -> str:
    """Return the reason why a row is bad; empty for a good one."""
    if isinstance(row, BadRow):
        return row.reason
    sides = zip(("source", "target"), row.texts, strict=False)
    return next((f"the {side} is empty" for side, text in sides if is_blank(text)), "")


@dataclass(frozen=True)
class _Columns(Columns):
    score: int | str | None = None

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the columns, the score last."""
        named = ("source", self.source), ("target", self.target), ("score", self.score)
        return tuple(WantedColumn(name, f"{name}=", at) for name, at in named if at is not None)


class Filter:
    """The rules of ``bitext-filter``; one Filter takes any number of collections of pairs.

    ``passed_over``: the default rules that cannot run here, by name, each with the reason.
    """

    def __init__(
        self,
        rules: str | Iterable[str] = "default",
        languages: _Languages | None = None,
        without: Collection[str] = (),
    ) -> None:
        """Make the rules.

        Args:
            rules: one or several, in the form of ``--rule``: ``default``, ``numbers``,
                ``length:maximum=80``, ``score>=0.5``. ``score`` is a pair's last member; other
                columns are numbers from 1, or from -1 for the last.
            languages: codes of both sides (ISO 639-1), for the rules that need them.
            without: names of rules to leave out.

        Raises:
            SettingsError: a rule or a parameter is unknown, or a rule cannot run.
            DeviceError: a rule needs a package that is not installed.
        """
        from bitextfilter.filters.custom import columns_of
        from bitextfilter.filters.pipeline import Pipeline
        from bitextfilter.filters.registry import parse_rules, usable

        self._languages = _language_codes(languages)
        choices = parse_rules([rules] if isinstance(rules, str) else rules)
        if unknown := sorted(set(without) - {choice.rule.name for choice in choices}):
            raise SettingsError(f"without {unknown[0]!r}: not one of the rules")
        wanted = [choice for choice in choices if choice.rule.name not in without]
        able, self.passed_over = usable(wanted, self._languages)
        self._places = {name: _member_place(name) for name in columns_of(able)}
        self._pipeline = Pipeline(able)

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that pass every rule, in order."""
        return (pair for pair, verdict in self.explain(pairs) if verdict == "keep")

    def explain(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, str]]:
        """Yield each pair with its verdict: ``keep``, or every rule that it fails, and why."""
        from bitextfilter.filters.pairs import Pairs

        for window in _windows(pairs):
            sides = [pair[0] for pair in window], [pair[1] for pair in window]
            column = partial(_column, window, self._places)
            checked = self._pipeline.check(Pairs(*sides, self._languages, column))
            yield from ((pair, checked.verdict(index)) for index, pair in enumerate(window))


def _column(window: Sequence[Pair], places: Mapping[str, int], name: str) -> NDArray[np.float64]:
    import numpy as np

    return np.array([_member_number(pair, places[name]) for pair in window])


def filter_pairs(
    pairs: Iterable[Pair],
    rules: str | Iterable[str] = "default",
    languages: _Languages | None = None,
    without: Collection[str] = (),
) -> Iterator[Pair]:
    """Yield the pairs that pass every rule: ``Filter(rules, languages, without)(pairs)``."""
    return Filter(rules, languages, without)(pairs)


def deduplicate(
    pairs: Iterable[Pair],
    *,
    match: str = "exact",
    by: str = "pair",
    keep: str = "first",
    ignore: Iterable[str] = ("case", "punctuation", "digits", "space"),
    similarity: float = 0.8,
    shingle: int = 4,
) -> Iterator[Pair]:
    """Yield one pair of each group of duplicates, in order, as ``bitext-dedup`` does.

    Pairs are yielded as they are read. Those after some 9 million others, and all with ``near``
    and ``best``, wait in memory for the end of the input.

    Args:
        pairs: for ``best``, each with its score as the last member.
        match: ``exact``, ``normalised`` or ``near``.
        by: ``pair``, ``source``, ``target`` or ``either``.
        keep: ``first`` or ``best``.
        ignore: for ``normalised`` and ``near``.
        similarity: for ``near``: the least Jaccard similarity, above 0, up to 1.
        shingle: for ``near``: characters in an n-gram.

    Raises SettingsError for an unknown value, and DeviceError if ``near`` is not installed.
    """
    from bitextfilter.corpus.duplicate_keys import DedupSettings

    names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    return _unique(pairs, DedupSettings(match, by, keep, names, similarity, shingle))


def _unique(pairs: Iterable[Pair], settings: DedupSettings) -> Iterator[Pair]:
    from bitextfilter.corpus.dedup import Deduplicator, DedupWindow, decided_windows

    places = {"source": (0,), "target": (1,)}.get(settings.by, (0, 1))
    best = settings.keep == "best"
    waiting: list[DedupWindow[Pair]] = []

    def read() -> Iterator[DedupWindow[Pair]]:
        first = 1
        for window in _windows(pairs, 3 if best else 2):
            texts = [[pair[place] for place in places] for pair in window]
            scores = [_member_number(pair, -1) for pair in window] if best else None
            yield DedupWindow(window, range(first, first + len(window)), texts, scores)
            first += len(window)

    with Deduplicator(settings) as deduplicator:
        decided = decided_windows(deduplicator, read(), waiting.append, lambda: waiting)
        for window, keepers in decided:
            numbered = zip(window.lines, window.items, strict=True)
            yield from (pair for line, pair in numbered if not keepers.get(line))


def fix(text: str, repairs: Collection[str] | None = None, *, language: str | None = None) -> str:
    """Return a text repaired as ``bitext-fix`` does: mojibake, entities, stray characters, spaces.

    ``repairs``: names of repairs, in any order; None for the default ones. ``language``: that of
    the text, as pt-BR; more mojibake is certain then. Raises SettingsError for an unknown name or
    language.
    """
    from bitextfilter.corpus.repair import DEFAULTS, Repairer

    if not isinstance(text, str):
        raise TypeError(f"text is {text!r:.40}, not a str")
    names = (repairs,) if isinstance(repairs, str) else DEFAULTS if repairs is None else repairs
    return Repairer(names, language)(text)[0]


def noise(
    pairs: Iterable[tuple[str, str]],
    rates: float | Mapping[str, float],
    *,
    seed: int = 1,
    languages: _Languages | None = None,
    foreign: Iterable[str] = (),
    words: tuple[int, int] = (6, 60),
    window: int = 10_000,
) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and label of each pair, some damaged as pairs from crawls are.

    The label is ``clean`` or a kind of damage of ``bitext-noise``.

    Args:
        pairs: translations, in the order of their documents.
        rates: the share of each kind, 0 to 1; or one share, divided evenly among all kinds.
        seed: the same arguments and seed give the same noise.
        languages: codes of both sides, for ``negation`` and ``boilerplate``.
        foreign: sentences in neither language, for ``wrong-language``.
        words: fewest and most words a side of a damaged pair may have.
        window: pairs before and after from which other sentences are drawn.

    Raises SettingsError for an unknown kind, a rate out of range, or a kind without its material.
    """
    from bitextfilter.corpus.noise import even_rates, noise_settings, noisy_pairs

    settings = noise_settings(_language_codes(languages), foreign, words, window, seed)
    chosen = rates if isinstance(rates, Mapping) else even_rates(rates, settings)
    checked = ((pair[0], pair[1]) for some in _windows(pairs, 2, 2) for pair in some)
    return noisy_pairs(checked, chosen, seed, settings)


def rank(
    pairs: Iterable[Pair],
    *,
    top_lines: int | None = None,
    top_words: int | None = None,
    top_fraction: float | None = None,
    min_score: float | None = None,
    count_side: str = "target",
) -> list[Pair]:
    """Return pairs ordered by score, their last member, best first, as ``bitext-rank`` does.

    Equal scores stay in order; pairs without a score (None, NaN) come last. All bounds hold.

    Args:
        pairs: source, target, perhaps more, score.
        top_lines: most pairs.
        top_words: most words in total, counted on ``count_side``.
        top_fraction: largest share of the pairs, 0 to 1.
        min_score: lowest score.
        count_side: ``source``, ``target`` or ``both``.

    Raises SettingsError for a value that is unknown or out of range.
    """
    from bitextfilter.io.ranking import SelectionSettings

    sides = {"source": (0,), "target": (1,), "both": (0, 1)}.get(count_side)
    if sides is None:
        raise SettingsError(f"count_side {count_side!r} is none of source, target, both")
    least = min(top_lines or 0, top_words or 0, top_fraction or 0)
    if least < 0 or (top_fraction or 0) > 1:
        raise SettingsError("top_lines and top_words are 0 or more, top_fraction is 0 to 1")
    share = None if top_fraction is None else Fraction(str(top_fraction))
    choice = SelectionSettings(top_lines, top_words, share, min_score)
    return _best([pair for window in _windows(pairs, 3) for pair in window], choice, sides)


def _best(rows: Sequence[Pair], choice: SelectionSettings, sides: Sequence[int]) -> list[Pair]:
    import numpy as np

    from bitextfilter.io.ranking import select_rows
    from bitextfilter.text.words import count_words

    counts = [count_words([row[side] for row in rows]) for side in sides]
    sizes = np.array([sum(row) for row in zip(*counts, strict=True)], np.uint32)
    keys = np.array([-_member_number(row, -1) for row in rows], np.float64)
    order = keys.argsort(kind="stable").astype(np.uint64)
    kept = select_rows(choice, keys, sizes, order).decisions == 0
    return [rows[place] for place in order[kept].tolist()]


def mine(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    similarity: str = "csls",
    retrieval: str = "max",
    neighbours: int = 4,
    min_score: float | None = None,
) -> list[tuple[str, str, float]]:
    """Find translations in two collections of sentences, as ``bitext-align`` does.

    Returns source, target and score, best first; repeated sentences count once.

    Args:
        model: a model of both languages.
        sources, targets: sentences of its first and of its second language.
        similarity: a measure of :meth:`Model.score`, or ``joint``.
        retrieval: ``forward``, ``backward``, ``intersect`` or ``max``.
        neighbours: candidates per sentence, and neighbours in a margin.
        min_score: lowest score.

    Raises SettingsError for an unknown value, or a measure that the model lacks.
    """
    from bitextfilter.io.vector_file import as_kept
    from bitextfilter.mining.comparable import MiningSettings, choose_pairs, scorer_for
    from bitextfilter.similarity.bidirectional import bidirectional_search
    from bitextfilter.similarity.vectors import unit_rows

    settings = MiningSettings(similarity, retrieval, neighbours, min_score, model.threads)
    texts = [list(dict.fromkeys(side)) for side in _sentence_sides(sources, targets)]
    source, target = (
        as_kept(model.encode(side, language), "float16")
        for side, language in zip(texts, model.languages, strict=True)
    )
    scorer = scorer_for(settings, ((source, texts[0]), (target, texts[1])), model.pair_scorer)
    nearest = bidirectional_search(unit_rows(source), unit_rows(target), neighbours, model.threads)
    mined = choose_pairs(nearest, settings, scorer)
    places = zip(mined.source.tolist(), mined.target.tolist(), mined.score.tolist(), strict=True)
    return [(texts[0][i], texts[1][j], score) for i, j, score in places]


def align_documents(
    model: Model | None,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    by: str = "model",
    classifier: bool = False,
    largest: int = 5,
    skip: float = 0.9,
) -> list[tuple[list[int], list[int], float | None]]:
    """Link the sentences of a document and its translation, as ``bitext-align-documents`` does.

    Returns each link's source indices, target indices and score, in order; an unlinked sentence
    stands alone, with the score None.

    Args:
        model: for ``by="model"`` and ``classifier``; else None.
        sources, targets: the sentences of both documents.
        by: ``model`` (score: cosine), ``words`` (cosine) or ``length`` (0 to 1).
        classifier: score links with the model's classifier, too.
        largest: most sentences of a side in one link, 1 to 10.
        skip: cost of leaving a sentence out, 0 to 100; linking unrelated ones costs 1.

    Raises SettingsError for a value that is unknown, out of range, or impossible with the model.
    """
    from bitextfilter.mining.link_costs import LinkSettings
    from bitextfilter.workflows.model_alignment import aligner

    if not 1 <= largest <= 10 or not 0 <= skip <= 100:
        raise SettingsError(f"largest is 1 to 10 and skip 0 to 100, not {largest} and {skip:g}")
    align = aligner(by, LinkSettings(largest, skip), model, classifier)
    links = align(*_sentence_sides(sources, targets)).links
    return [(list(link.source), list(link.target), link.score) for link in links]


def recovery(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    measures: str | Sequence[str] = ("cosine", "csls"),
    *,
    neighbours: int = 10,
) -> dict[str, Recovery]:
    """Measure how well a model recovers ``n`` translations, as ``bitext-evaluate recovery`` does.

    Returns for each measure the errors in percent, ``forward``, ``backward`` and ``mean``, the
    number of ``pairs``, and the number ``set_aside`` because they repeat a text.

    Args:
        model: a model of both languages.
        sources, targets: ``n`` sentences and their translations.
        measures: ``cosine``, ``euclidean``, ``csls``, ``ratio``, ``distance``; ``mlp`` takes a
            minute for 1,000 pairs.
        neighbours: neighbours in a margin.

    Raises:
        InputError: there are no pairs.
        SettingsError: a measure is unknown, or needs a classifier that the model lacks.
        ValueError: the sides differ in number.
    """
    from bitextfilter.evaluation.recovery import distinct_pairs, recover

    names = (measures,) if isinstance(measures, str) else tuple(measures)
    sides = _sentence_sides(sources, targets)
    kept = distinct_pairs(*sides)
    if not kept:
        raise InputError("no pairs to find")
    source, target = ([side[place] for place in kept] for side in sides)
    scorers = _row_scorers(model, (source, target), names, neighbours)
    aside = len(sides[0]) - len(kept)
    return {n: replace(recover(source, target, by), set_aside=aside) for n, by in scorers}


def _row_scorers(
    model: Model, sides: tuple[list[str], list[str]], names: Sequence[str], neighbours: int
) -> Iterator[tuple[str, RowScorer]]:
    from bitextfilter.evaluation.recovery import MATRICES, vector_scorer

    for name in names:
        if name not in MATRICES or (name == "mlp" and model.classifier is None):
            raise SettingsError(f"{name!r} is no measure of {model.name}: {', '.join(MATRICES)}")
    source, target = map(model.encode, sides, model.languages)
    classify = model.pair_scorer((source, sides[0]), (target, sides[1]))
    for name in names:
        yield name, vector_scorer(name, source, target, classify, neighbours)


def _windows(
    pairs: Iterable[Pair], fewest: int = 2, most: int | None = None
) -> Iterator[list[Pair]]:
    """Yield pairs in windows; TypeError for a member that is not a pair of texts."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f"pairs is {pairs!r:.40}, not pairs: give [(source, target)]")
    checked = (_checked_pair(pair, index, fewest, most) for index, pair in enumerate(pairs))
    while window := list(islice(checked, _WINDOW)):
        yield window


def _checked_pair(pair: Pair, index: int, fewest: int, most: int | None) -> Pair:
    members = "source, target, score" if fewest > 2 else "source, target"
    if isinstance(pair, str) or not isinstance(pair, Sequence):
        raise TypeError(f"pairs[{index}] is {pair!r:.40}, not ({members})")
    if len(pair) < fewest or len(pair) > (most or len(pair)):
        raise TypeError(f"pairs[{index}] has {len(pair)} members, not ({members})")
    for side in pair[:2]:
        if not isinstance(side, str):
            raise TypeError(f"pairs[{index}] has {side!r:.40} for a text, not a str")
    return pair


def _language_codes(languages: tuple[str, str] | None) -> tuple[str, str] | None:
    if isinstance(languages, str) or (languages is not None and len(languages) != 2):
        raise TypeError(f'languages are two codes, as ("en", "de"), not {languages!r:.40}')
    if languages is not None:
        from bitextfilter.text.words import sentence_list

        sentence_list(languages, "languages")
    return languages


def _member_place(name: str) -> int:
    """Return the index of a pair's column; SettingsError for a name other than ``score``."""
    if name == "score":
        return -1
    if not name.removeprefix("-").isdecimal() or int(name) == 0:
        raise SettingsError(f"a pair has no column {name!r}: number it from 1, or call it score")
    return int(name) - (int(name) > 0)


def _member_number(pair: Sequence[Any], place: int) -> float:
    if not -len(pair) <= place < len(pair):
        return math.nan
    value = pair[place]
    return float(value) if isinstance(value, Real) else number_of(str(value).encode())


def _sentence_sides(sources: Iterable[str], targets: Iterable[str]) -> tuple[list[str], list[str]]:
    from bitextfilter.text.words import sentence_list

    return sentence_list(sources, "sources"), sentence_list(targets, "targets")
