"""Speed and memory of bitext-filter, beside OpusFilter with the same nine filters.

    python benchmarks/filter.py PAIRS.tsv.gz --opusfilter VENV/bin/python
    python benchmarks/filter.py PAIRS.tsv.gz --before CHECKOUT

PAIRS is a TSV of real sentence pairs in Latin letters. Install OpusFilter in an environment of
its own and name that environment's Python; without it, ours alone is measured: with nine rules,
also with their values as columns (--emit), and with the default rules but for language
identification. --before measures another version too, in turns; where the two write different
rows, it ends with an error below the table.

Each runs in one process. Seconds are the processor's; the start-up, measured with one pair, is
taken off all, and the median of --rounds counts. Then every filter's decision on every pair is
compared.
"""

from __future__ import annotations

import argparse
import hashlib
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
LAUNCHER = Path("bin", "bitext-filter")

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

NINE = [word for rule in RULES.values() for word in ("--rule", rule)]
OPTIONS = {
    "nine rules": NINE,
    "with --emit": [*NINE, "--emit"],
    "default": ["--without", "language", "--languages"],
}


def ours(checkout: Path, options: list[str]) -> list[str]:
    """Return the command of a version with these options."""
    return [sys.executable, str(checkout / LAUNCHER), "--quiet", "--threads", "1", *options]


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
    options = ["-i", "-o"] if str(LAUNCHER) in command[1] else [""]
    start, whole = (
        run([word for word in [*command, options[0], str(path), options[-1], str(output)] if word])
        for path in (one, pairs)
    )
    return Cost(whole.seconds - start.seconds, whole.mebibytes)


def in_turns(
    commands: dict[str, list[str]], rounds: int, pairs: Path, one: Path, output: Path
) -> tuple[dict[str, Cost], bool]:
    """Measure commands by their names, in turns: the medians, and whether their outputs agree."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    written = set()
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(measured(command, pairs, one, output))
            written.add(hashlib.sha256(output.read_bytes()).digest())
    medians = {name: sorted(some)[len(some) // 2] for name, some in costs.items()}
    return medians, len(written) == 1


def report(name: str, cost: Cost, pairs: int) -> None:
    """Print a line of the table."""
    speed = pairs / cost.seconds
    print(f"{name:18} {cost.seconds:9.2f} {speed:13.0f} {cost.mebibytes:9.0f}")


def our_decisions(pairs: Path, output: Path) -> list[set[str]]:
    """Return the names of the rules that drop each pair."""
    run([*ours(HERE.parent, NINE), "--explain", "-i", str(pairs), "-o", str(output)])
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
    parser.add_argument("--before", metavar="CHECKOUT", type=Path, help="another version of ours")
    parser.add_argument("--languages", default="en,de", help="of the pairs")
    parser.add_argument("--number", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        benchmark(Path(name), options)


def benchmark(folder: Path, options: argparse.Namespace) -> None:
    """Copy the pairs to plain files, run everything on them, and print the tables."""
    from bitextfilter.io.files import open_input

    pairs, one, output = folder / "pairs.tsv", folder / "one.tsv", folder / "output"
    with open_input(options.pairs) as stream:
        rows = [row for row in islice(stream, options.number) if row.count(b"\t") >= 1]
    pairs.write_bytes(b"".join(rows))
    one.write_bytes(rows[0])
    print(f"{'':18} {'CPU s':>9} {'rows/CPU s':>13} {'peak MiB':>9}   ({len(rows)} pairs)")
    OPTIONS["default"].append(options.languages)
    checkouts = {"": HERE.parent, " before": options.before}
    costs, differing = dict[str, Cost](), list[str]()
    for what, words in OPTIONS.items():
        commands = {what + name: ours(path, words) for name, path in checkouts.items() if path}
        found, agree = in_turns(commands, options.rounds, pairs, one, output)
        costs |= found
        differing += [] if agree else commands
        for name in commands:
            report(name, costs[name], len(rows))
    if differing:
        raise SystemExit(f"{', '.join(differing)}: not the same rows")
    if options.opusfilter is None:
        return
    peer = [options.opusfilter, "-W", "ignore", str(HERE / "opusfilter_run.py")]
    theirs = measured(peer, pairs, one, output)
    report("OpusFilter", theirs, len(rows))
    print(f"ratio              {theirs.seconds / costs['nine rules'].seconds:9.1f}")
    run([*peer, str(pairs), str(output), "each"])
    dropped = [set(json.loads(line)) for line in lines_of(output)]
    compare(our_decisions(pairs, output), dropped, lines_of(pairs))


if __name__ == "__main__":
    main()
