"""Seconds on the clock with one thread and with more, of commands that take --threads, by rows.

    python benchmarks/threads.py PAIRS.tsv.gz [--rows 300 3000 30000 200000] [--threads 2]

PAIRS is a TSV of real English and German pairs; the first rows of it are read. Each command runs
as a user has it, start and end included, in turns; the shortest run of --rounds counts, and both
must write the same bytes. A ratio above 1: so many times as fast as with one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from bitextfilter.io.files import open_input

BIN = Path(__file__).parents[1] / "bin"
PAIRS = ["-i", "pairs", "-o", "out"]
COMMANDS = {
    "score": ["bitext-score", *PAIRS],
    "score, cosine": ["bitext-score", "--similarity", "cosine", *PAIRS],
    "filter": ["bitext-filter", "--languages", "en,de", *PAIRS],
    "fix": ["bitext-fix", "--languages", "en,de", *PAIRS],
    "clean": ["bitext-clean", "--languages", "en,de", *PAIRS],
    "embed": ["bitext-embed", "--language", "en", "-i", "sources", "-o", "out.npy"],
    "align": ["bitext-align", "-o", "out", "sources", "targets"],
}


def seconds(name: str, threads: int, folder: Path) -> tuple[float, bytes]:
    """Run a command once: seconds, and the bytes that it wrote."""
    program, *words = COMMANDS[name]
    line = [sys.executable, str(BIN / program), "--quiet", "--threads", str(threads), *words]
    start = time.perf_counter()
    subprocess.run(line, check=True, cwd=folder)
    taken = time.perf_counter() - start
    return taken, (folder / ("out.npy" if "out.npy" in words else "out")).read_bytes()


def main() -> None:
    """Measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs")
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 3000, 30_000, 200_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(COMMANDS), choices=COMMANDS)
    options = parser.parse_args()
    with open_input(options.pairs) as stream:
        lines = list(islice(stream, max(options.rows)))
    threads = options.threads
    print(f"| command | rows | one thread, s | {threads} threads, s | ratio |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in options.rows:
            texts = [line.rstrip(b"\n").split(b"\t")[:2] for line in lines[:rows]]
            for place, side in enumerate(("sources", "targets")):
                (folder / side).write_bytes(b"".join(text[place] + b"\n" for text in texts))
            (folder / "pairs").write_bytes(b"".join(b"\t".join(text) + b"\n" for text in texts))
            for command in options.only:
                runs = {1: [seconds(command, 1, folder)], threads: []}
                for number in (1, threads) * options.rounds:
                    runs[number].append(seconds(command, number, folder))
                if len({written for some in runs.values() for _, written in some}) > 1:
                    raise SystemExit(f"{command}: the threads write different bytes")
                one, more = (min(taken for taken, _ in some) for some in runs.values())
                print(
                    f"| {command} | {rows:,} | {one:.2f} | {more:.2f} | {one / more:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
