"""Sentences of an invented language and their translations, to try things on: COUNT and SEED.

Both languages have 40 words; a sentence has 6 to 9 of them, and its translation says them one by
one. Prints source and target, tab-separated.
"""

import random
import sys

count, seed = map(int, sys.argv[1:])
chooser = random.Random(seed)
sides = [
    [start + end for start in starts for end in "aeiou"] for starts in ("bdfgklmn", "prstvwxz")
]
for _ in range(count):
    words = chooser.choices(range(40), k=chooser.randint(6, 9))
    print("\t".join(" ".join(side[word] for word in words) for side in sides))
