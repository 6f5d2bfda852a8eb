"""Run OpusFilter's side of ``benchmarks/filter.py``, with the Python that has OpusFilter.

python opusfilter_run.py PAIRS.tsv KEPT.tsv               filter, as its pipeline does
python opusfilter_run.py PAIRS.tsv DECISIONS.jsonl each   every filter's decision on every pair
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from opusfilter.pipeline import FilterPipeline

CONFIG = [
    {"LengthFilter": {}},
    {"LengthRatioFilter": {}},
    {"LongWordFilter": {}},
    {"HtmlTagFilter": {}},
    {"AlphabetRatioFilter": {}},
    {"CharacterScoreFilter": {"scripts": ["Latin", "Latin"]}},
    {"TerminalPunctuationFilter": {}},
    {"NonZeroNumeralsFilter": {}},
    {"RepetitionFilter": {}},
]


def pairs(path: str) -> Iterator[list[str]]:
    """Yield the pairs of a TSV."""
    with open(path, encoding="utf-8", newline="\n") as rows:
        for row in rows:
            yield row.rstrip("\n").split("\t")[:2]


def main(source: str, target: str, each: bool) -> None:
    """Write the kept pairs, or the names of the filters that drop each pair."""
    pipeline = FilterPipeline.from_config(CONFIG)
    with open(target, "w", encoding="utf-8", newline="\n") as out:
        if not each:
            for pair in pipeline.filter(pairs(source)):
                out.write("\t".join(pair) + "\n")
            return
        everything = list(pairs(source))
        decisions = [list(one.decisions(everything)) for one in pipeline.filters]
        names = [type(one).__name__ for one in pipeline.filters]
        for row in zip(*decisions, strict=True):
            dropped = [name for name, kept in zip(names, row, strict=True) if not kept]
            out.write(json.dumps(dropped) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], len(sys.argv) > 3)
