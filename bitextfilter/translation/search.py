"""Greedy search, beam search and sampling: one loop with different choosers.

Letters: n sentences, k hypotheses of each, v vocabulary. A score is the mean natural-log
probability of a token, the end mark included.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.vocabulary import BEGIN, END, PAD
from bitextfilter.translation.network import TokenRows, TranslationNetwork


class Hypotheses(NamedTuple):
    """The state of ``(n, k)`` hypotheses while they are written."""

    sums: Tensor
    """Log-probabilities of all tokens; -inf: no hypothesis."""
    lengths: Tensor
    """Tokens, the end mark included."""
    ended: Tensor

    def taken(self, parents: Tensor) -> Hypotheses:
        """Return the hypotheses at the places *parents*, ``(n, k)``, of each sentence."""
        return Hypotheses(*(part.gather(1, parents) for part in self))


class SearchResult(NamedTuple):
    """Translations ``(n, k)``, best first."""

    ids: Tensor
    """``(n, k, T)``, without begin mark; from the end mark on, PAD."""
    scores: Tensor
    """-inf: no hypothesis."""
    whole: Tensor
    """True where it ended by itself, False where it reached the greatest length."""


class Chooser(ABC):
    """Chooses the next tokens of hypotheses."""

    width: int
    """k"""

    @abstractmethod
    def begin(self, rows: int, device: torch.device) -> Tensor:
        """Sums ``(n, k)`` of hypotheses with no token."""

    @abstractmethod
    def choose(self, now: Hypotheses, steps: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """Parents and tokens, ``(n, k)`` each, from log-probabilities ``steps (n, k, v)``.

        Forbidden tokens have -inf; an ended hypothesis goes on with PAD, at no cost.
        """


class Beam(Chooser):
    """The best ``k`` hypotheses by score, ended or not; with k = 1 greedy search.

    The first is always the one of greedy search, so that no beam finds worse than that does.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    def begin(self, rows: int, device: torch.device) -> Tensor:
        """See :meth:`Chooser.begin`: one hypothesis, and room for more."""
        sums = torch.full((rows, self.width), float("-inf"), device=device)
        sums[:, 0] = 0
        return sums

    def choose(self, now: Hypotheses, steps: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """See :meth:`Chooser.choose`."""
        if steps.device.type == "cpu":  # numpy takes a tenth of the time
            greedy = torch.from_numpy(steps[:, 0].numpy().argmax(axis=1))[:, None]
        else:
            greedy = steps[:, 0].argmax(dim=1)[:, None]
        if self.width == 1:
            return torch.zeros_like(greedy), greedy
        lengths = (now.lengths + ~now.ended)[:, :, None]
        candidates = ((now.sums[:, :, None] + steps) / lengths).flatten(1)
        chosen = candidates.scatter(1, greedy, float("inf")).topk(self.width, dim=1).indices
        return chosen // steps.shape[2], chosen % steps.shape[2]


class Sampler(Chooser):
    """Independent samples from the model, by the inverse of the cumulative distribution."""

    def __init__(self, chances: Tensor, temperature: float = 1.0) -> None:
        """``chances (n, k, T)``: float64 numbers in [0, 1) of each sentence and position."""
        self.width = chances.shape[1]
        self._chances = chances
        self._temperature = temperature

    def begin(self, rows: int, device: torch.device) -> Tensor:
        """See :meth:`Chooser.begin`: all of them."""
        return torch.zeros(rows, self.width, device=device)

    def choose(self, now: Hypotheses, steps: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """See :meth:`Chooser.choose`."""
        shares = (steps.double() / self._temperature).softmax(dim=2)
        sums = shares.cumsum(dim=2)
        wanted = self._chances[:, :, position, None] * sums[:, :, -1:]
        last = sums.argmax(dim=2)  # the first place of the highest sum: later ones have no share
        tokens = torch.minimum((sums <= wanted).sum(dim=2), last)
        parents = torch.arange(self.width, device=tokens.device).expand_as(tokens)
        return parents, tokens


@dataclass(frozen=True)
class Limits:
    """Limits of a translation: its length, and no words without a letter."""

    longest: int
    """Tokens, without the end mark."""
    start: int | None = None
    """The piece that only marks the start of a word, if there is one."""
    starting: Tensor | None = None
    """Pieces that cannot follow it, ``(v,)``: those that start a word, and the end mark."""


def search_translations(
    network: TranslationNetwork, sources: TokenRows, real: Tensor, chooser: Chooser, limits: Limits
) -> SearchResult:
    """Search translations within limits.

    ``real (n,)``: False for the empty rows of a block, which get no translation.
    """
    longest = limits.longest
    state = network.start(sources, chooser.width)
    rows, device = len(sources.ids), sources.ids.device
    tokens = torch.full((rows, chooser.width), BEGIN, device=device)
    ended = (~real)[:, None].expand(rows, chooser.width)
    now = Hypotheses(chooser.begin(rows, device), ended.long(), ended)
    ids = tokens.new_zeros(rows, chooser.width, longest + 1)
    whole = torch.ones_like(ended)
    for position in range(longest + 1):
        steps = network.predict(state.step(tokens)).float()
        forbid(steps, now.ended, tokens, position, limits)
        parents, tokens = chooser.choose(now, steps, position)
        flat = parents * steps.shape[2] + tokens
        now = now.taken(parents)
        sums = now.sums + steps.flatten(1).gather(1, flat)
        ended = now.ended | (tokens == END) | sums.isneginf()
        now = Hypotheses(sums, now.lengths + ~now.ended, ended)
        if chooser.width > 1:
            state.select(parents)
            ids = ids.gather(1, parents[:, :, None].expand_as(ids))
        ids[:, :, position] = tokens
        if position == longest:
            whole = tokens == PAD
        elif now.ended.all():
            break
    scores = now.sums / now.lengths
    order = scores.sort(dim=1, descending=True, stable=True).indices
    ids = ids.masked_fill(ids == END, PAD).gather(1, order[:, :, None].expand_as(ids))
    return SearchResult(ids, scores.gather(1, order), whole.gather(1, order))


def forbid(steps: Tensor, ended: Tensor, before: Tensor, position: int, limits: Limits) -> None:
    """Set log-probabilities ``(n, k, v)`` of impossible next tokens to -inf, in place.

    Marks and unknown pieces are never written, nor is an empty translation or an empty word; a
    hypothesis of the greatest length must end; PAD follows the end. ``before (n, k)``: the last
    tokens.
    """
    never = [PAD, BEGIN, UNKNOWN] + ([] if position else [END])
    steps[:, :, never] = float("-inf")
    if limits.start is not None and limits.starting is not None:
        hollow = before == limits.start
        if hollow.any():
            steps[hollow] = steps[hollow].masked_fill(limits.starting, float("-inf"))
        if position == limits.longest - 1:
            steps[:, :, limits.start] = float("-inf")
    if position == limits.longest:
        steps[:, :, :END] = float("-inf")
        steps[:, :, END + 1 :] = float("-inf")
    steps[ended] = float("-inf")
    steps[:, :, PAD].masked_fill_(ended, 0.0)
