"""Pairs filtered, repaired, damaged, ranked, and each kept once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from bitextfilter.api.reading import Pair, language_codes, member_number, member_place, windows
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bitextfilter.corpus.duplicate_keys import DedupSettings
    from bitextfilter.io.ranking import Choice


_Languages = tuple[str, str]


class Filter:
    """Rules that pairs are held against, as ``bitext-filter`` does; made once, used at will.

    ``passed_over`` has the default rules that cannot run here by name, each with the reason.
    """

    def __init__(
        self,
        rules: str | Iterable[str] = "default",
        languages: _Languages | None = None,
        without: Collection[str] = (),
    ) -> None:
        """Make the rules.

        Args:
            rules: one or several, as ``--rule`` takes them: ``default``, ``numbers``,
                ``length:maximum=80``, ``score>=0.5``. ``score`` is a pair's last member; other
                columns are numbers from 1, or from -1 for the last.
            languages: codes of both sides (ISO 639-1), for rules that need to know them.
            without: names of rules to leave out.

        Raises:
            SettingsError: a rule or a parameter is unknown, or a rule cannot run.
            DeviceError: a rule needs a package that is not installed.
        """
        from bitextfilter.filters.pipeline import Pipeline
        from bitextfilter.filters.sets import parse_rules, usable

        self._languages = language_codes(languages)
        choices = parse_rules([rules] if isinstance(rules, str) else rules)
        if unknown := sorted(set(without) - {choice.rule.name for choice in choices}):
            raise SettingsError(f"without {unknown[0]!r}: no rule is called so here")
        wanted = [choice for choice in choices if choice.rule.name not in without]
        able, self.passed_over = usable(wanted, self._languages)
        columns = (str(vars(rule)["column"]) for rule in able if "column" in vars(rule))
        self._places = {name: member_place(name) for name in columns}
        self._pipeline = Pipeline(able)

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that pass every rule, in order."""
        return (pair for pair, verdict in self.explain(pairs) if verdict == "keep")

    def explain(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, str]]:
        """Yield each pair with its verdict: ``keep``, or every rule that it fails, and why."""
        from bitextfilter.filters.pairs import Pairs

        for window in windows(pairs):
            sides = [pair[0] for pair in window], [pair[1] for pair in window]
            judged = self._pipeline.judge(Pairs(*sides, self._languages, self._column(window)))
            yield from ((pair, judged.verdict(index)) for index, pair in enumerate(window))

    def _column(self, window: Sequence[Pair]) -> Callable[[str], NDArray[np.float64]]:
        import numpy as np

        return lambda name: np.array([member_number(pair, self._places[name]) for pair in window])


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
    """Yield one of the pairs that are duplicates of each other, in order, as ``bitext-dedup``.

    The first of them come as they are read. All wait in memory for the end of the input with
    ``near`` and ``best``, and what comes after some 9 million others.

    Args:
        pairs: for ``best``, each with its score as the last member.
        match: ``exact``, ``normalised`` or ``near``.
        by: ``pair``, ``source``, ``target`` or ``either``.
        keep: ``first`` or ``best``.
        ignore: for ``normalised`` and ``near``.
        similarity: for ``near``: the least Jaccard similarity, above 0, up to 1.
        shingle: for ``near``: characters of its n-grams.

    Raises SettingsError for what is unknown, and DeviceError where ``near`` is not installed.
    """
    from bitextfilter.corpus.duplicate_keys import DedupSettings

    names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    settings = DedupSettings(match, by, keep, names, similarity, shingle)
    return _unique(pairs, settings)


def _unique(pairs: Iterable[Pair], settings: DedupSettings) -> Iterator[Pair]:
    """Yield the pairs that stay; those that wait are held until all are read."""
    from bitextfilter.corpus.dedup import Deduplicator

    places = {"source": (0,), "target": (1,)}.get(settings.by, (0, 1))
    best = settings.keep == "best"
    waiting: list[Pair] = []
    first = 1
    with Deduplicator(settings) as deduplicator:
        for window in windows(pairs, 3 if best else 2):
            numbers = range(first + len(waiting), first + len(waiting) + len(window))
            texts = [[pair[place] for place in places] for pair in window]
            scores = [member_number(pair, -1) for pair in window] if best else None
            keepers = deduplicator.add(numbers, texts, scores)
            if keepers is None:
                waiting += window
                continue
            first += len(window)
            yield from (pair for pair, keeper in zip(window, keepers, strict=True) if not keeper)
        if waiting:
            parts = deduplicator.finish().parts()
            gone = {line for lines, _ in parts for line in lines.tolist()}
            yield from (pair for line, pair in enumerate(waiting, first) if line not in gone)


def fix(text: str, repairs: Collection[str] | None = None) -> str:
    """Return a text repaired as ``bitext-fix`` does: mojibake, entities, stray characters, spaces.

    ``repairs``: names of those to do, in any order; None for the default ones. Raises SettingsError
    for an unknown name.
    """
    from bitextfilter.corpus.repair import DEFAULTS, Repairer

    if not isinstance(text, str):
        raise TypeError(f"text is {text!r:.40}, not a str")
    names = (repairs,) if isinstance(repairs, str) else repairs
    return Repairer(DEFAULTS if names is None else names)(text)[0]


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
    """Yield source, target and label of each pair in turn, some damaged as crawls damage them.

    The label is ``clean`` or the kind of damage, as that of ``bitext-noise``.

    Args:
        pairs: translations, in the order of their documents.
        rates: the part of each kind, 0 to 1; one number for all kinds together, evenly.
        seed: the same arguments and seed give the same noise.
        languages: codes of both sides, for ``negation`` and ``boilerplate``.
        foreign: sentences in neither language, for ``wrong-language``.
        words: fewest and most words, of either side, of a pair that is damaged.
        window: other pairs are drawn from as many before and after.

    Raises SettingsError for unknown kinds, rates out of range, and what a kind lacks.
    """
    from bitextfilter.corpus.noise import even_rates, noise_settings, noisy_pairs

    settings = noise_settings(language_codes(languages), foreign, words, window, seed)
    chosen = rates if isinstance(rates, Mapping) else even_rates(rates, settings)
    checked = (pair for some in windows(pairs, 2, 2) for pair in some)
    return noisy_pairs(((source, target) for source, target in checked), chosen, seed, settings)


def rank(
    pairs: Iterable[Pair],
    *,
    top_lines: int | None = None,
    top_words: int | None = None,
    top_fraction: float | None = None,
    min_score: float | None = None,
    count_side: str = "target",
) -> list[Pair]:
    """Return pairs by the score that is their last member, best first, as ``bitext-rank`` does.

    Equal scores stay in order; those without a score (None, NaN) come last. Of several bounds the
    one that keeps least decides; none is exceeded.

    Args:
        pairs: source, target, perhaps more, score.
        top_lines: most pairs.
        top_words: most words in all, of the ``count_side``.
        top_fraction: largest part of the pairs, 0 to 1.
        min_score: least score.
        count_side: ``source``, ``target`` or ``both``.

    Raises SettingsError for what is unknown or out of range.
    """
    from bitextfilter.io.ranking import Choice

    sides = {"source": (0,), "target": (1,), "both": (0, 1)}.get(count_side)
    if sides is None:
        raise SettingsError(f"count_side {count_side!r} is none of source, target, both")
    least = min(top_lines or 0, top_words or 0, top_fraction or 0)
    if least < 0 or (top_fraction or 0) > 1:
        raise SettingsError("top_lines and top_words are 0 or more, top_fraction is 0 to 1")
    share = None if top_fraction is None else Fraction(str(top_fraction))
    rows = [pair for window in windows(pairs, 3) for pair in window]
    return _best(rows, Choice(top_lines, top_words, share, min_score), sides)


def _best(rows: Sequence[Pair], choice: Choice, sides: Sequence[int]) -> list[Pair]:
    """Return the rows that are chosen, best first; their size is in words of these sides."""
    import numpy as np

    from bitextfilter.io.ranking import select
    from bitextfilter.text.units import count_words

    counts = [count_words([row[side] for row in rows]) for side in sides]
    sizes = np.array([sum(row) for row in zip(*counts, strict=True)], np.uint32)
    keys = np.array([-member_number(row, -1) for row in rows], np.float64)
    order = keys.argsort(kind="stable").astype(np.uint64)
    verdicts = select(choice, keys, sizes, order).verdicts
    return [rows[place] for place in order[verdicts == 0].tolist()]
