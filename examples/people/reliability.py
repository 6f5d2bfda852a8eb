"""Draw how far probabilities are from the shares of right rows, by languages.

    python reliability.py HELD_OUT.tsv > reliability.svg

HELD_OUT.tsv is of bitext-models calibrate --held-out. Right and wrong rows are weighed as in the
crawl that probabilities are of. stderr gets a line for each pair of languages: the expected
calibration error, the shares of valid rows (label V) and of wrong ones with a probability of one
half or more, and how far the estimated share of right rows is from the true one. It has them of
rows that were held out, and where all rows of the languages were; a line of means ends with the
worst of each.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import NamedTuple

import matplotlib as mpl
import numpy as np

from bitextfilter.evaluation.calibration import calibration_error, reliability
from bitextfilter.scoring.calibration import estimated_share, general_calibration

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "bitextfilter", "font.size": 9, "svg.fonttype": "none"})
from matplotlib import pyplot as plt  # noqa: E402

VALID, EVEN = "V", 0.5
SHARE = general_calibration().right_share
TITLES = ("rows held out", "languages held out")


class Row(NamedTuple):
    """A labelled row, with its probability under each title."""

    label: str
    right: bool
    probabilities: tuple[float, float]


def main(path: str) -> None:
    """Draw the rows of a file."""
    rows: dict[str, list[Row]] = defaultdict(list)
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            pair, label, right, *scores = line.rstrip("\n").split("\t")
            rows[pair].append(Row(label, right == "1", (float(scores[0]), float(scores[1]))))
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
    for place, axis in enumerate(axes):
        found = np.array([figures(pair, some, place, axis) for pair, some in rows.items()])
        every = [row for some in rows.values() for row in some]
        curve(every, place, axis, color="#036", marker="o", markersize=4)
        axis.plot([0, 1], [0, 1], ":", color="#888")
        axis.set_title(f"{TITLES[place]}: mean error {found[:, 0].mean():.3f}")
        axis.set_xlabel("probability")
        worst = found[:, 0].max(), found[:, 1].min(), found[:, 2].max(), found[:, 3].max()
        tell(TITLES[place], "mean", *found.mean(axis=0), "worst", *worst)
    axes[0].set_ylabel("share of right rows")
    figure.tight_layout()
    figure.savefig(sys.stdout.buffer, format="svg", metadata={"Date": None})


def curve(rows: list[Row], place: int, axis: plt.Axes, **style: object) -> None:
    """Draw the share of right rows in each tenth of probabilities."""
    scores = np.array([row.probabilities[place] for row in rows])
    bins = reliability(scores, np.array([row.right for row in rows]), SHARE)
    axis.plot([each.probability for each in bins], [each.right for each in bins], **style)


def figures(pair: str, rows: list[Row], place: int, axis: plt.Axes) -> list[float]:
    """Return the error of a pair of languages, and the valid and wrong rows kept."""
    scores = np.array([row.probabilities[place] for row in rows])
    right = np.array([row.right for row in rows])
    valid = np.array([row.label == VALID for row in rows])
    curve(rows, place, axis, color="#9bb", linewidth=0.8)
    kept = [float((scores[some] >= EVEN).mean()) for some in (valid, ~right)]
    share = abs(estimated_share(scores, SHARE) - float(right.mean()))
    found = [calibration_error(scores, right, SHARE), *kept, share]
    tell(TITLES[place], pair, *found)
    return found


def tell(*cells: str | float) -> None:
    """Write a line to stderr."""
    texts = (cell if isinstance(cell, str) else f"{cell:.3f}" for cell in cells)
    print(*texts, sep="\t", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
