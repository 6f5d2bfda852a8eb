"""Reasons against a pair: words that lower its score, a negation, a language, failed rules.

A word lowers the score if the score rises without it: one by one, each word is taken away, and the
rest is scored. So any model and measure will do, and the reasons are those of the score itself.
Where one side lacks a word, its counterpart on the other side is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bitextfilter.arrays import Floats, Scores
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import parse_rules
from bitextfilter.filters.rule import Cost, Rule
from bitextfilter.io.rows import SIDES
from bitextfilter.text.features import NEGATION_WORDS
from bitextfilter.text.identifier import load_ngram_identifier
from bitextfilter.text.units import Span, word_spans

_LEAST_GAIN = 0.5
"""Gain from which a word is named: in logits of a score from 0 to 1, in twentieths of others."""
_TWENTIETHS = 20
_NAMED = 5
"""Words of a side that are named, those of the largest gain."""
_FRAGMENT = 3
"""Words of a fragment, at most."""
_MOST_WORDS = 100
"""Words of a side that are taken away, one by one."""
_LEAD = 1.0
"""Nats from which another language that leads is named."""
_PAIRS = 64
"""Pairs explained together: memory holds their texts as often as they have words."""

PairScores = Callable[[Sequence[str], Sequence[str]], Scores]
"""Sources and targets → scores ``(n,)``."""


class Explainer:
    """Tells what weighs against pairs, by a measure of a model and by rules."""

    def __init__(self, score: PairScores, measure: str, languages: tuple[str, str]) -> None:
        """Take the default rules of bitext-filter that need no model of language, and numbers.

        Args:
            score: sources and targets → their scores ``(n,)``.
            measure: the name of the scores.
            languages: codes of both sides.
        """
        self._score, self._measure, self._languages = score, measure, languages
        self._rules: list[Rule] = []
        for rule, *_ in parse_rules(["default", "numbers"]):
            if rule.cost < Cost.MODEL and rule not in self._rules:
                rule.prepare(languages)
                self._rules.append(rule)

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[str]]:
        """Return the reasons against each of ``n`` pairs.

        ``source-words=7 red(+1.2)``: without the seventh word, red, the score's logit is higher by
        1.2. ``negation=not(source only)``; ``fragment=2 words``; ``target-language=nl(+2.3)``, for
        Dutch leads the target's language by 2.3 nats, fewer in short texts; rules give their own
        reasons, as ``length-ratio=4.2>3``. A pair's reasons do not depend on the others.
        """
        found: list[list[str]] = []
        for first in range(0, len(sources), _PAIRS):
            some = slice(first, first + _PAIRS)
            found += self._reasons(list(zip(sources[some], targets[some], strict=True)))
        return found

    def _reasons(self, pairs: list[tuple[str, str]]) -> Iterator[list[str]]:
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        batch = Pairs(sources, targets, self._languages)
        results = [rule.check(batch) for rule in self._rules]
        foreign = [self._foreign(side, texts) for side, texts in enumerate((sources, targets))]
        for place, (pair, words) in enumerate(zip(pairs, self._words(pairs), strict=True)):
            languages = [side[place] for side in foreign if side[place]]
            failed = [result.reason(place) for result in results if not result.keep[place]]
            yield [*words, *_of_text(*pair), *languages, *failed]

    def _foreign(self, side: int, texts: list[str]) -> list[str]:
        """Return the reason of each text of a side that is in another language, or nothing."""
        identifier = load_ngram_identifier()
        place = identifier.place(self._languages[side])
        if place is None:
            return [""] * len(texts)
        evidence = identifier.evidence(texts)
        leads = -identifier.behind(evidence, place)
        best = identifier.logits(evidence).argmax(axis=1)
        return [
            f"{SIDES[side]}-language={identifier.languages[other]}(+{lead:.1f})"
            if lead >= _LEAD
            else ""
            for lead, other in zip(leads, best, strict=True)
        ]

    def _words(self, pairs: list[tuple[str, str]]) -> Iterator[list[str]]:
        """Yield the reason of each side of each pair that has words that lower the score."""
        spans = [[word_spans(side)[:_MOST_WORDS] for side in pair] for pair in pairs]
        texts = list(pairs)
        for pair, sides in zip(pairs, spans, strict=True):
            texts += [(_without(pair[0], span), pair[1]) for span in sides[0]]
            texts += [(pair[0], _without(pair[1], span)) for span in sides[1]]
        levels = self._levels(texts)
        at = len(pairs)
        for place, (pair, sides) in enumerate(zip(pairs, spans, strict=True)):
            reasons = []
            for side, places in enumerate(sides):
                gains = levels[at : at + len(places)] - levels[place]
                at += len(places)
                if named := _named(pair[side], places, gains):
                    reasons.append(f"{SIDES[side]}-words={named}")
            yield reasons

    def _levels(self, pairs: list[tuple[str, str]]) -> Floats:
        """Return the scores of pairs, as logits or twentieths."""
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        scores = self._score(sources, targets)
        if self._measure not in ("mlp", "probability"):
            return scores.astype(np.float64) * _TWENTIETHS
        bounded = np.clip(scores.astype(np.float64), 1e-12, 1 - 1e-7)
        return np.asarray(np.log(bounded / (1 - bounded)))


def _without(text: str, span: Span) -> str:
    """Return *text* without a word, and without the space behind it."""
    return text[: span[0]] + text[span[1] :].lstrip(" ")


def _named(text: str, spans: Sequence[Span], gains: Floats) -> str:
    """Return the words of the largest gains, in order, with their places, from 1 on, and gains."""
    best = sorted(np.argsort(-gains, kind="stable")[:_NAMED].tolist())
    words = [
        f"{place + 1} {text[slice(*spans[place])]}(+{gains[place]:.1f})"
        for place in best
        if gains[place] >= _LEAST_GAIN
    ]
    return ", ".join(words)


def _of_text(source: str, target: str) -> Iterator[str]:
    """Yield what the text alone tells."""
    sides = [[text[slice(*span)].lower() for span in word_spans(text)] for text in (source, target)]
    negations = [
        [word for word in words if word in NEGATION_WORDS or word.endswith(("n't", "n’t"))]
        for words in sides
    ]
    for side, found in enumerate(negations):
        if found and not negations[1 - side]:
            yield f"negation={found[0]}({SIDES[side]} only)"
    if (fewest := min(map(len, sides))) <= _FRAGMENT:
        yield f"fragment={fewest} word{'s' * (fewest != 1)}"
