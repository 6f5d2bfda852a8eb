"""The pairs of stdin that two scores judge most differently: A B [COUNT].

A and B name columns of the header. Prints both ranks and the row, for each of the COUNT (5) rows
that A ranks highest above B, then for those that B ranks highest above A. A rank is the percentage
of the rows that score lower, and half of those that score the same.
"""

import sys

import numpy as np

count = int(sys.argv[3]) if len(sys.argv) > 3 else 5
header, *rows = (line.rstrip(b"\n").split(b"\t") for line in sys.stdin.buffer)
ranks = []
for name in sys.argv[1:3]:
    place = header.index(name.encode())
    scores = np.array([float(row[place]) for row in rows])
    ends = [np.searchsorted(np.sort(scores), scores, side) for side in ("left", "right")]
    ranks.append(50 * (ends[0] + ends[1]) / len(rows))

lead = ranks[0] - ranks[1]
order = np.argsort(lead, kind="stable")
chosen = [place for place in order[::-1][:count] if lead[place] > 0]
chosen += [place for place in order[:count] if lead[place] < 0]
for place in chosen:
    cells = [f"{rank[place]:.1f}".encode() for rank in ranks]
    sys.stdout.buffer.write(b"\t".join(cells + rows[place]) + b"\n")
