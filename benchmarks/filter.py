"""Speed and memory of bitext-filter, beside OpusFilter with the same nine filters.

    python benchmarks/filter.py PAIRS.tsv.gz --opusfilter VENV/bin/python

PAIRS is a TSV of real sentence pairs in Latin letters. Install OpusFilter in an environment of
its own and name that environment's Python; without it, ours alone is measured, without and with
the values of the rules as columns (--emit). Each runs in one process. Seconds are the processor's;
the start-up, measured with one pair, is taken off both. Then every filter's decision on every pair
is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LAUNCHER = HERE.parent / "bin" / "bitext-filter"

RULES = {
    "LengthFilter": "length",
    "LengthRatioFilter": "length-ratio:maximum=2.999999",
    "LongWordFilter": "long-word:maximum=39",
    "HtmlTagFilter": "html-tags",
    "AlphabetRatioFilter": "alphabet-ratio:minimum=0.75",
    "CharacterScoreFilter": "script:source=Latin,target=Latin,minimum=1",
    "TerminalPunctuationFilter": "terminal-punctuation:minimum=-2",
    "NonZeroNumeralsFilter": "numerals:minimum=0.5",
    "RepetitionFilter": "repetition",
}
"""OpusFilter's classes with their defaults, and our rules with the same bounds."""

OURS = [sys.executable, str(LAUNCHER), "--quiet", "--threads", "1"]
OURS += [word for rule in RULES.values() for word in ("--rule", rule)]


class Cost(NamedTuple):
    """Seconds of the processor, start-up aside, and peak memory of a run."""

    seconds: float
    mebibytes: float


def run(line: list[str]) -> Cost:
    """Run a command, and measure its time and memory."""
    child = subprocess.Popen(line)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(child.returncode)
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20)


def measured(command: list[str], pairs: Path, one: Path, output: Path) -> Cost:
    """Run *command* on one pair and on all, and return the difference."""
    options = ["-i", "-o"] if command[: len(OURS)] == OURS else [""]
    start, whole = (
        run([word for word in [*command, options[0], str(path), options[-1], str(output)] if word])
        for path in (one, pairs)
    )
    return Cost(whole.seconds - start.seconds, whole.mebibytes)


def report(name: str, cost: Cost, pairs: int) -> None:
    """Print a line of the table."""
    speed = pairs / cost.seconds
    print(f"{name:12} {cost.seconds:9.2f} {speed:13.0f} {cost.mebibytes:9.0f}")


def our_decisions(pairs: Path, output: Path) -> list[set[str]]:
    """Return the names of the rules that drop each pair."""
    run([*OURS, "--explain", "-i", str(pairs), "-o", str(output)])
    names = {rule.partition(":")[0]: theirs for theirs, rule in RULES.items()}
    verdicts = [line.rstrip("\n").rpartition("\t")[2] for line in lines_of(output)]
    return [
        {names[part.split("=")[0].split("(")[0]] for part in verdict.split("; ")}
        if verdict != "keep"
        else set()
        for verdict in verdicts
    ]


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def compare(ours: list[set[str]], theirs: list[set[str]], pairs: list[str]) -> None:
    """Print how many decisions differ, and on which pairs."""
    differing = [
        (place, a ^ b) for place, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b
    ]
    counts = Counter(name for _, names in differing for name in names)
    print(f"decisions that differ: {sum(counts.values())} of {len(pairs) * len(RULES)}")
    for place, names in differing:
        for name in sorted(names):
            who = "ours drops" if name in ours[place] else "theirs drops"
            print(f"  {name} ({who}), pair {place + 1}: {pairs[place]}")


def main() -> None:
    """Measure both, and compare their decisions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs")
    parser.add_argument("--opusfilter", metavar="PYTHON", help="the Python that has OpusFilter")
    parser.add_argument("--number", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        benchmark(Path(name), options.pairs, options.number, options.opusfilter)


def benchmark(folder: Path, source: str, number: int, python: str | None) -> None:
    """Copy the pairs to plain files, run everything on them, and print the tables."""
    from bitextfilter.io.files import open_input

    pairs, one, output = folder / "pairs.tsv", folder / "one.tsv", folder / "output"
    with open_input(source) as stream:
        rows = [row for row in islice(stream, number) if row.count(b"\t") >= 1]
    pairs.write_bytes(b"".join(rows))
    one.write_bytes(rows[0])
    print(f"{'':12} {'CPU s':>9} {'rows/CPU s':>13} {'peak MiB':>9}   ({len(rows)} pairs)")
    ours = measured(OURS, pairs, one, output)
    report("bitextfilter", ours, len(rows))
    report("with --emit", measured([*OURS, "--emit"], pairs, one, output), len(rows))
    if python is None:
        return
    peer = [python, "-W", "ignore", str(HERE / "opusfilter_run.py")]
    theirs = measured(peer, pairs, one, output)
    report("OpusFilter", theirs, len(rows))
    print(f"ratio        {theirs.seconds / ours.seconds:9.1f}")
    run([*peer, str(pairs), str(output), "each"])
    dropped = [set(json.loads(line)) for line in lines_of(output)]
    compare(our_decisions(pairs, output), dropped, lines_of(pairs))


if __name__ == "__main__":
    main()
