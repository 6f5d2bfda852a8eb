"""BLEU by sacreBLEU, which is an optional part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bitextfilter.errors import DeviceError

__all__ = ["Bleu", "bleu", "check_bleu"]


class Bleu(NamedTuple):
    """The score, 0 to 100, higher is better, and sacreBLEU's signature of how it was made."""

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


def bleu(translations: Sequence[str], references: Sequence[str]) -> Bleu:
    """BLEU of a corpus (Papineni et al. 2002; Post 2018), of detokenised text, cased."""
    metric = check_bleu().BLEU()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Bleu(float(score), str(metric.get_signature()))
