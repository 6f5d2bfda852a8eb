"""Lines of bitext-models: of thresholds, of grades; and the model that a subcommand is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bitextfilter.commands.frame.options import argument
from bitextfilter.commands.frame.run import Run

if TYPE_CHECKING:
    from bitextfilter.scoring.thresholds import Grade, NamedCut, Threshold
    from bitextfilter.training.calibration import Fitted


@dataclass(frozen=True)
class Named:
    """The model."""

    name: str = argument("MODEL")


def kept_thresholds(run: Run, folder: Path, digest: str) -> list[Threshold]:
    """Return the thresholds in a model folder, without those for scores of other weights."""
    from bitextfilter.scoring.thresholds import own_thresholds

    own, others = own_thresholds(folder, digest)
    if others:
        run.warn(
            f"{folder}: {others} thresholds left out: they were estimated with"
            " other weights; bitext-models recommend keeps new ones"
        )
    return own


def grade_line(grade: Grade) -> list[str]:
    """Return the name of an error, its value, and what it was measured on."""
    made = f"pairs={grade.pairs} file={grade.file}"
    return [f"error.{grade.language}", f"{grade.error:.2f}", "weak " * grade.weak + made]


def cut_line(cut: NamedCut) -> list[str]:
    """Return the name of a cut of probabilities, its value, and the rows expected above it."""
    shares = f"right={cut.right:.4f} wrong={cut.wrong:.4f}"
    return [f"cut.{cut.name}", repr(cut.threshold), f"{shares} ({cut.basis})"]


def threshold_line(threshold: Threshold) -> list[str]:
    """Return the name of a threshold, its value, and the figures it was chosen by."""
    figures = [f"{name}={getattr(threshold, name):.4f}" for name in ("precision", "recall", "f1")]
    facts = {name: getattr(threshold, name) for name in ("noise_share", "rows", "file")}
    made = " ".join(
        [*figures, *(f"{n}={value}" for n, value in facts.items() if value is not None)]
    )
    return [".".join(("threshold", *threshold.key)), repr(threshold.threshold), made]


def lines(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows of cells as lines, tab-separated."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()


_EVEN = 0.5


def calibration_lines(fitted: Fitted) -> Iterator[list[str]]:
    """Yield a line for each pair of languages of a calibration, by rows that were held out."""
    from bitextfilter.evaluation.calibration import calibration_error
    from bitextfilter.evaluation.filtering import roc_auc
    from bitextfilter.scoring.calibration import pair_key

    unseen = {pair_key(group.languages): scores for group, scores in fitted.unseen}
    share, expected = fitted.calibration.right_share, fitted.calibration.expected
    for group, scores in fitted.held_out:
        key = pair_key(group.languages)
        error = calibration_error(scores, group.right, share)
        cuts = [f"{n}={each.right:.3f},{each.wrong:.3f}" for n, each in expected[key].items()]
        if key in unseen:
            kept, passed = (unseen[key][side] >= _EVEN for side in (group.right, ~group.right))
            cuts.append(f"unseen={kept.mean():.3f},{passed.mean():.3f}")
        auc = roc_auc(scores[group.right], scores[~group.right])
        yield [key, f"error={error:.3f}", f"auc={auc:.4f}", *cuts]


def held_out_lines(fitted: Fitted) -> Iterator[list[str]]:
    """Yield a line for each labelled row, with its probabilities when it was held out."""
    from bitextfilter.scoring.calibration import pair_key

    unseen = {pair_key(group.languages): scores for group, scores in fitted.unseen}
    for group, scores in fitted.held_out:
        key = pair_key(group.languages)
        others = [f"{score:.6f}" for score in unseen[key]] if key in unseen else [""] * len(scores)
        right = map(str, group.right.astype(int).tolist())
        held_out = (f"{score:.6f}" for score in scores.tolist())
        yield from map(list, zip([key] * len(others), group.labels, right, held_out, others))  # noqa: B905
