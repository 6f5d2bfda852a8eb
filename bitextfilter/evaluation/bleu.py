"""BLEU and chrF by sacreBLEU, an extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.errors import DeviceError
from bitextfilter.evaluation.result import Bootstrap, Estimate, estimates


class Quality(NamedTuple):
    """A score, 0 to 100, higher is better, and sacreBLEU's signature."""

    score: float
    signature: str


def check_bleu() -> Any:
    """Return sacreBLEU's metrics; DeviceError if it is not installed."""
    try:
        from sacrebleu import metrics
    except ImportError as error:
        remedy = "pip install 'bitextfilter[bleu]'"
        raise DeviceError(f"sacreBLEU is not installed; {remedy}") from error
    return metrics


def bleu(translations: Sequence[str], references: Sequence[str]) -> Quality:
    """BLEU of a corpus (Papineni et al. 2002; Post 2018), of detokenised text, cased."""
    return _quality(check_bleu().BLEU(), translations, references)


def chrf(translations: Sequence[str], references: Sequence[str]) -> Quality:
    """chrF2 of a corpus (Popović 2015): F-score, β = 2, of character n-grams up to 6."""
    return _quality(check_bleu().CHRF(), translations, references)


def _quality(metric: Any, translations: Sequence[str], references: Sequence[str]) -> Quality:
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Quality(float(score), str(metric.get_signature()))


def bleu_difference(
    translations: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    bootstrap: Bootstrap,
) -> Estimate:
    """Return the BLEU of *translations* minus the BLEU of a *baseline*, -100 to 100.

    The 95 % interval is by paired bootstrap resampling (Koehn 2004): both get the same sentences.
    """
    ours, theirs = (_sentence_counts(side, references) for side in (translations, baseline))

    def difference(strata: Sequence[Floats]) -> Floats:
        (drawn,) = strata
        return np.array(_bleu_of(drawn @ ours) - _bleu_of(drawn @ theirs))

    return Estimate(*estimates([np.ones(len(references))], difference, bootstrap).tolist())


def _sentence_counts(translations: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """Return the counts that BLEU is made of, by sentence ``(n, 10)``.

    Matched n-grams of length 1 to 4, n-grams of these lengths, own length, reference's length.
    """
    metric = check_bleu().BLEU(effective_order=True)
    pairs = zip(translations, references, strict=True)
    found = [metric.sentence_score(text, [reference]) for text, reference in pairs]
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in found], np.float64)


def _bleu_of(counts: NDArray[np.float64]) -> float:
    """BLEU of sums of sentences' counts, ``(10,)``, smoothed as :func:`bleu` does."""
    whole = counts.astype(np.int64).tolist()
    found = check_bleu().BLEU.compute_bleu(whole[:4], whole[4:8], *whole[8:], smooth_method="exp")
    return float(found.score)
