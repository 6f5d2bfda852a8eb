"""How alike the two sides of each line of stdin are in letters: a score a line.

1 - edit distance / length of the longer side, in lower-cased characters, 0 to 1.
"""

import sys

from rapidfuzz.distance import Levenshtein

for line in sys.stdin.buffer:
    source, target = line.decode().lower().rstrip("\n").split("\t")[:2]
    print(f"{Levenshtein.normalized_similarity(source, target):.6f}")
