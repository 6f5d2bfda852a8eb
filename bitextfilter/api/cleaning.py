"""All of a cleaning in one call; filters, duplicates, repairs and noise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

from bitextfilter.api.pairs import (
    Languages,
    Pair,
    check_member,
    check_name,
    checked,
    in_python,
    is_number,
    languages_as,
    member_number,
    member_place,
    names_of,
    windows_of,
)
from bitextfilter.errors import SettingsError
from bitextfilter.io.files import SPACES
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, Row, TextColumn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bitextfilter.arrays import Scores
    from bitextfilter.cleaning.plan import Plan
    from bitextfilter.cleaning.rows import Preparer, Window
    from bitextfilter.corpus.duplicate_keys import DedupSettings
    from bitextfilter.corpus.other_texts import AgainstSettings, OtherTexts
    from bitextfilter.scoring.model import Model


class Filter:
    """The rules of ``bitext-filter``; one Filter takes any number of collections of pairs.

    ``passed_over``: the default rules that cannot run here, by name, each with the reason.
    """

    @checked()
    def __init__(
        self,
        rules: str | Iterable[str] = "default",
        languages: Languages | None = None,
        without: Collection[str] = (),
        *,
        model: Model | str | None = None,
    ) -> None:
        """Make the rules.

        Args:
            rules: one or several, in the form of ``--rule``: ``default``, ``numbers``,
                ``length:maximum=80``, ``score>=0.5``, ``score>=balanced``. ``score`` is a
                pair's last member; other columns are numbers from 1, or from -1 for the last.
            languages: of both sides, in any usual spelling, for the rules that need them.
            without: names of rules to leave out.
            model: of the scores, for a cut by name, by its default measure; None for en-de.

        Raises:
            SettingsError: a rule or a parameter is unknown, or a rule cannot run.
            DeviceError: a rule needs a package that is not installed.
        """
        from bitextfilter.filters.pipeline import Pipeline
        from bitextfilter.filters.registry import columns_of, parse_rules, usable

        self._languages, self._model = languages_as("tag", languages), model
        self._cut: list[tuple[int, str]] = []
        choices = parse_rules(names_of(rules, "rules"), self._named_cut)
        left_out = names_of(without, "without")
        if unknown := sorted(set(left_out) - {choice.rule.name for choice in choices}):
            raise SettingsError(f"without {unknown[0]!r}: not one of the rules")
        wanted = [choice for choice in choices if choice.rule.name not in left_out]
        able, passed_over = usable(wanted, self._languages)
        self.passed_over = {n: in_python(why, ["languages"]) for n, why in passed_over.items()}
        self._places = {name: member_place(name) for name in columns_of(able)}
        self._pipeline = Pipeline(able)

    def _named_cut(self, column: str, name: str) -> float:
        """Return a cut of a column, whose scores will be checked."""
        from bitextfilter.api.scoring import DEFAULT_MODEL, named_cut

        self._cut.append((member_place(column), name))
        return named_cut(self._model or DEFAULT_MODEL, name).threshold

    def __call__(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that pass every rule, in order."""
        return (pair for pair, verdict in self.explain(pairs) if verdict == "keep")

    def explain(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, str]]:
        """Yield each pair with its verdict: ``keep``, or every rule that it fails, and why.

        Raises InputError before the first if a cut is named, and the scores are of another
        model, and SettingsError if no pair has a column of the rules.
        """
        return self._explained(windows_of(pairs))

    def _explained(self, windows: Iterable[Sequence[Pair]]) -> Iterator[tuple[Pair, str]]:
        from bitextfilter.api.scoring import cut_of
        from bitextfilter.filters.pairs import Pairs

        for number, window in enumerate(windows):
            for place in self._places.values() if number == 0 else ():
                check_member(window, place, "rules")
            for place, name in self._cut if number == 0 else ():
                cut_of(window, place, name, None, self._model)
            sides = [pair[0] for pair in window], [pair[1] for pair in window]
            column = partial(_column, window, self._places)
            checked = self._pipeline.check(Pairs(*sides, self._languages, column))
            yield from ((pair, checked.verdict(index)) for index, pair in enumerate(window))


def _column(window: Sequence[Pair], places: Mapping[str, int], name: str) -> NDArray[np.float64]:
    import numpy as np

    return np.array([member_number(pair, places[name]) for pair in window])


def filter_pairs(
    pairs: Iterable[Pair],
    rules: str | Iterable[str] = "default",
    languages: Languages | None = None,
    without: Collection[str] = (),
    *,
    model: Model | str | None = None,
) -> Iterator[Pair]:
    """Yield the pairs that pass every rule; the arguments are those of :class:`Filter`."""
    return Filter(rules, languages, without, model=model)(pairs)


@checked(overlap="> 0, <= 1", ngram=">= 1")
def deduplicate(
    pairs: Iterable[Pair],
    *,
    match: str = "exact",
    by: str = "pair",
    keep: str = "first",
    ignore: Iterable[str] = ("case", "punctuation", "space"),
    languages: Languages | None = None,
    similarity: float = 0.8,
    shingle: int = 4,
    against: Iterable[Sequence[str]] = (),
    against_source: Iterable[str] = (),
    against_target: Iterable[str] = (),
    against_match: str = "near",
    against_by: str = "any",
    against_words: tuple[int, int, int] = (3, 6, 8),
    overlap: float = 0.7,
    ngram: int = 2,
    only_against: bool = False,
) -> Iterator[Pair]:
    """Yield one pair of each group of duplicates, in order, as ``bitext-dedup`` does.

    Pairs are yielded as they are read. Those after some 9 million others, and all with ``near``
    and ``best``, wait in memory. For ``best``, a pair's last member is its score. ``against`` are
    pairs, and ``against_source`` and ``against_target`` texts, that the result must not have.

    Raises SettingsError for a bad value, and DeviceError if ``near`` is not installed.
    """
    from bitextfilter.corpus.duplicate_keys import DedupSettings

    names, codes = tuple(names_of(ignore, "ignore")), languages_as("code", languages)
    settings = DedupSettings(match, by, keep, names, similarity, shingle, languages=codes)
    _ = settings.normalisers  # raises SettingsError
    alike = _alike(settings, (against_match, against_by), against_words, (ngram, overlap))
    known = _known_texts(settings, alike, (against, against_source, against_target))
    windows = windows_of(pairs, 3 if keep == "best" else 2)
    return (_unknown if only_against else _unique)(windows, settings, known)


def _alike(
    duplicates: DedupSettings,
    named: tuple[str, str],
    words: tuple[int, int, int],
    overlap: tuple[int, float],
) -> AgainstSettings:
    """Return how texts of others are found; parts to ignore, and languages, are of duplicates."""
    from bitextfilter.corpus.other_texts import AgainstSettings, Likeness

    if min(words) < 1:
        raise SettingsError(f"against_words must be at least 1, not {words}")
    likeness, ignore = Likeness(*overlap, *words[1:]), duplicates.ignore
    try:
        return AgainstSettings(*named, words[0], likeness, ignore, duplicates.languages)
    except SettingsError as error:
        raise SettingsError(f"against_{error}") from error


def _known_texts(
    settings: DedupSettings,
    alike: AgainstSettings,
    others: tuple[Iterable[Sequence[str]], Iterable[str], Iterable[str]],
) -> OtherTexts | None:
    """Return the texts whose pairs are left out; None for none."""
    from bitextfilter.corpus.other_texts import OtherTexts
    from bitextfilter.io.rows import SIDES
    from bitextfilter.text.words import sentence_list

    pairs = [pair[:2] for window in windows_of(others[0], name="against") for pair in window]
    sides = {"source": sentence_list(others[1], "against_source")}
    sides["target"] = sentence_list(others[2], "against_target")
    if not any((pairs, *sides.values())):
        return None
    known = OtherTexts(alike, (settings.by,) if settings.by in SIDES else SIDES)
    places = [SIDES.index(name) for name in known.columns or SIDES]
    rows = [[pair[place] for place in places] for pair in pairs]
    known.read(_reader(rows, Columns(blank=True) if len(known.columns) > 1 else _WHOLE))
    for side, texts in sides.items():
        if texts and (alike.by not in (side, "any", "either") or settings.by == _OTHER[side]):
            raise SettingsError(f"against_{side} is not for by={settings.by!r}, {alike.by!r}")
        known.read(_reader([[text] for text in texts], _WHOLE), side)
    return known


_WHOLE = TextColumn(blank=True)
_OTHER = {"source": "target", "target": "source"}


def _reader(rows: Iterable[Sequence[str]], columns: Columns | TextColumn) -> RowReader:
    """Return a reader of rows of texts."""
    return RowReader(map(_line, rows), "against", columns)


def _texts(window: Sequence[Pair], settings: DedupSettings) -> list[list[str]]:
    """Return the texts of pairs that are compared."""
    places = {"source": (0,), "target": (1,)}.get(settings.by, (0, 1))
    return [[pair[place] for place in places] for pair in window]


def _unknown(
    windows: Iterable[Sequence[Pair]], settings: DedupSettings, known: OtherTexts | None
) -> Iterator[Pair]:
    """Return the pairs that are not among known texts."""
    if known is None or settings.keep == "best":
        raise SettingsError("only_against needs texts of against, and keeps all duplicates")

    def left(window: Sequence[Pair]) -> Iterator[Pair]:
        found = known.find(_texts(window, settings))
        return (pair for pair, match in zip(window, found.tolist(), strict=True) if not match)

    return chain.from_iterable(map(left, windows))


def _unique(
    windows: Iterable[Sequence[Pair]], settings: DedupSettings, known: OtherTexts | None
) -> Iterator[Pair]:
    from bitextfilter.corpus.dedup import Deduplicator, DedupWindow, decided_windows

    best = settings.keep == "best"
    waiting: list[DedupWindow[Pair]] = []

    def read() -> Iterator[DedupWindow[Pair]]:
        first = 1
        for window in windows:
            scores = [member_number(pair, -1) for pair in window] if best else None
            lines = range(first, first + len(window))
            yield DedupWindow(window, lines, _texts(window, settings), scores)
            first += len(window)

    with Deduplicator(settings, others=known) as deduplicator:
        decided = decided_windows(deduplicator, read(), waiting.append, lambda: waiting)
        for window, keepers in decided:
            numbered = zip(window.lines, window.items, strict=True)
            yield from (pair for line, pair in numbered if not keepers.get(line))


@checked()
def fix(text: str, repairs: Collection[str] | None = None, *, language: str | None = None) -> str:
    """Return a text repaired as ``bitext-fix`` does: mojibake, entities, stray characters, spaces.

    ``repairs``: names of repairs, in any order; None for the default ones. ``language``: that of
    the text, as pt-BR; more mojibake is certain then. Raises SettingsError for an unknown name or
    language.
    """
    from bitextfilter.corpus.repair import DEFAULTS, Repairer

    names = DEFAULTS if repairs is None else names_of(repairs, "repairs")
    return Repairer(names, language)(text)[0]


@checked(rates=">= 0, <= 1", window=">= 1")
def noise(
    pairs: Iterable[tuple[str, str]],
    rates: float | Mapping[str, float],
    *,
    seed: int = 1,
    languages: Languages | None = None,
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
        languages: of both sides, in any usual spelling, for ``negation`` and ``boilerplate``.
        foreign: sentences in neither language, for ``wrong-language``.
        words: fewest and most words a side of a damaged pair may have.
        window: pairs before and after from which other sentences are drawn.

    Raises SettingsError for an unknown kind, a rate out of range, or a kind without its material.
    """
    from bitextfilter.damage.noise import NOISE_KINDS, even_rates, noise_settings, noisy_pairs
    from bitextfilter.text.words import sentence_list

    others = sentence_list(foreign, "foreign")
    settings = noise_settings(languages_as("code", languages), others, words, window, seed)
    chosen = rates if isinstance(rates, Mapping) else even_rates(rates, settings)
    for kind, rate in chosen.items():
        check_name("rates", kind, NOISE_KINDS)
        if not is_number(rate):
            raise SettingsError(f"rates: that of {kind!r} must be a number, not {rate!r:.40}")
    checked = ((pair[0], pair[1]) for some in windows_of(pairs, 2, 2) for pair in some)
    return noisy_pairs(checked, chosen, seed, settings)


@checked()
def clean(
    pairs: Iterable[Pair],
    *,
    languages: Languages | None = None,
    model: str | None = None,
    min_score: float | Literal["lenient", "balanced", "strict"] = "balanced",
    rules: str | Iterable[str] = "default",
    without: Collection[str] = (),
    match: str = "normalised",
    against: Iterable[Sequence[str]] = (),
    on_drop: Callable[[Pair, str], object] | None = None,
) -> Iterator[Pair]:
    """Yield the clean pairs of a raw corpus, repaired, with their score as the last member.

    Does the same as ``bitext-clean``: repairs, rules, texts of *against*, duplicates, the
    probability that a person calls the pair right, a cut.

    Args:
        pairs: source, target, perhaps more.
        languages: of both sides, in any usual spelling; None: as the first pairs tell.
        model: name or folder of a model; None: the shipped one for the languages.
        min_score: the lowest score, or ``lenient``, ``balanced`` or ``strict``.
        rules, without: as for :class:`Filter`.
        match: ``exact``, ``normalised`` or ``near`` duplicates; ``none`` keeps them.
        against: texts in rows, such as a test set; a pair with one of them is left out.
        on_drop: called with each other pair, as it was given, and the reason.

    Raises SettingsError for a bad value, or where the languages are not told, or no model knows
    them; NotFoundError for no such model.
    """
    from bitextfilter.cleaning.plan import KEEP_ALL, Plan, Rules
    from bitextfilter.corpus.duplicate_keys import MATCH
    from bitextfilter.io.rows import RowParser

    tags = languages_as("tag", languages)
    windows = windows_of(pairs)
    first = list(islice(windows, 1))
    if not any(first):
        return iter(())
    parser = RowParser("pairs", Columns().wanted(), (0, 1), blank=True)

    def rows() -> list[Row]:
        parsed = [parser.row(n, _line(pair[:2])) for n, pair in enumerate(chain(*first), 1)]
        return [row for row in parsed if isinstance(row, Row)]

    plan = Plan.of(rows, tags, model, min_score)
    check_name("match", match, (*MATCH, KEEP_ALL))
    chosen = Rules(names_of(rules, "rules"), names_of(without, "without"))
    preparer, _ = plan.preparer(parser, chosen)
    others = _others(against)
    return _cleaned(chain(first, windows), plan, preparer, (match, others), on_drop)


def _line(texts: Sequence[str]) -> bytes:
    """Return texts as a row; tabs and line ends within them are spaces."""
    return b"\t".join(text.encode("utf-8", "replace").translate(SPACES) for text in texts) + b"\n"


def _others(against: Iterable[Sequence[str]]) -> OtherTexts | None:
    """Return the texts of rows; None for none."""
    from bitextfilter.corpus.other_texts import OtherTexts

    if not (rows := list(chain.from_iterable(windows_of(against, 1, name="against")))):
        return None
    known = OtherTexts()
    known.read(_reader(rows, _WHOLE))
    return known


def _cleaned(
    windows: Iterable[Sequence[Pair]],
    plan: Plan,
    preparer: Preparer,
    duplicates: tuple[str, OtherTexts | None],
    on_drop: Callable[[Pair, str], object] | None,
) -> Iterator[Pair]:
    from bitextfilter.api.scoring import load
    from bitextfilter.io.rows import RawLines
    from bitextfilter.io.spill import Records

    model, waiting = load(plan.model), dict[int, Pair]()
    drop = on_drop or (lambda *_: None)

    def score(sources: Sequence[str], targets: Sequence[str]) -> Scores:
        return model.score(sources, targets, plan.cut.measure)[plan.cut.measure]

    def prepared() -> Iterator[Window]:
        number = 1
        for pairs in windows:
            waiting.update(enumerate(pairs, number))
            window = preparer(RawLines(number, [_line(pair[:2]) for pair in pairs]))
            for bad in window.bad:
                drop(waiting.pop(bad.number), bad.reason)
            yield window
            number += len(pairs)

    with plan.cleaner(preparer.parser, duplicates, score) as cleaner, Records() as records:
        for part in cleaner.cleaned(prepared(), records):
            for dropped in part.dropped:
                drop(waiting.pop(dropped.number), dropped.reason)
            for row, text in part.kept:
                pair: Any = (row.source, row.target, *waiting.pop(row.number)[2:], float(text))
                yield pair
