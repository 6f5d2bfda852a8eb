"""Draw how far probabilities are from the shares of right rows, by languages.

    python reliability.py HELD_OUT.tsv > reliability.svg

HELD_OUT.tsv is of bitext-models calibrate --held-out. Right and wrong rows are weighed as in the
crawl that probabilities are of. stderr gets the expected calibration error of each pair of
languages, of rows that were held out, and where all rows of the languages were.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import matplotlib as mpl
import numpy as np

from bitextfilter.evaluation.calibration import calibration_error, reliability
from bitextfilter.scoring.calibration import general_calibration

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "bitextfilter", "font.size": 9, "svg.fonttype": "none"})
from matplotlib import pyplot as plt  # noqa: E402

SHARE = general_calibration().right_share


def main(path: str) -> None:
    """Draw the rows of a file."""
    rows = defaultdict(list)
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            pair, right, held_out, unseen = line.rstrip("\n").split("\t")
            rows[pair].append((right == "1", float(held_out), float(unseen or "nan")))
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
    for axis, place, title in ((axes[0], 1, "rows held out"), (axes[1], 2, "languages held out")):
        errors = []
        for pair, some in rows.items():
            right, scores = (
                np.array([row[0] for row in some]),
                np.array([row[place] for row in some]),
            )
            bins = reliability(scores, right, SHARE)
            axis.plot([b.probability for b in bins], [b.right for b in bins], color="#9bb", lw=0.8)
            errors.append(calibration_error(scores, right, SHARE))
            print(f"{title}\t{pair}\t{errors[-1]:.3f}", file=sys.stderr)
        every = [row for some in rows.values() for row in some]
        right, scores = np.array([row[0] for row in every]), np.array([row[place] for row in every])
        bins = reliability(scores, right, SHARE)
        axis.plot([b.probability for b in bins], [b.right for b in bins], "o-", color="#036", ms=4)
        axis.plot([0, 1], [0, 1], ":", color="#888")
        axis.set_title(f"{title}: mean error {np.mean(errors):.3f}")
        axis.set_xlabel("probability")
        print(f"{title}\tmean\t{np.mean(errors):.4f}\tlargest\t{max(errors):.3f}", file=sys.stderr)
    axes[0].set_ylabel("share of right rows")
    figure.tight_layout()
    figure.savefig(sys.stdout.buffer, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1])
