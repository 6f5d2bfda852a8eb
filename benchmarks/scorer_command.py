"""bitext-score --scorer-command beside the program alone: what asking costs.

    python benchmarks/scorer_command.py
    python benchmarks/scorer_command.py --rows 20000 --speed 5000 --rounds 5

The program computes for as long as a scorer of --speed rows a second would. It answers each row at
once, in batches of 64, or all at the end. The time of one row is that of the start, and set aside.
The programs take turns; the medians count.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
LAUNCHER = HERE.parent / "bin" / "bitext-score"

SCORER = """
import sys, time

def score(lines):
    end = time.perf_counter() + len(lines) / {speed}
    while time.perf_counter() < end:
        pass
    for line in lines:
        print(len(line))
    sys.stdout.flush()

lines, size = [], {size}
for line in sys.stdin:
    lines.append(line)
    if len(lines) == size:
        score(lines)
        lines = []
score(lines)
"""
WAYS = {"at once": 1, "in batches of 64": 64, "at the end": -1}


def seconds(words: list[str], data: bytes) -> float:
    """Time a command."""
    began = time.perf_counter()
    subprocess.run(words, input=data, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def cost(words: list[str], rows: list[bytes]) -> float:
    """Seconds for all rows, above those for the first."""
    return seconds(words, b"".join(rows)) - seconds(words, rows[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--speed", type=int, default=1000, help="rows a second of the program")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rows = [
        b"The %d cats sleep on the sofa.\tDie %d Katzen.\n" % (n, n) for n in range(arguments.rows)
    ]
    print(f"{len(rows)} rows, {arguments.speed} rows/s; seconds, start aside")
    print("answers           alone  asked  more")
    with tempfile.TemporaryDirectory() as folder:
        for way, size in WAYS.items():
            path = Path(folder) / "scorer.py"
            path.write_text(SCORER.format(speed=arguments.speed, size=size))
            alone = [sys.executable, str(path)]
            command = f"{sys.executable} {path}"
            asked = [
                sys.executable,
                str(LAUNCHER),
                "-q",
                "--score-only",
                "--scorer-command",
                command,
            ]
            pairs = [(cost(alone, rows), cost(asked, rows)) for _ in range(arguments.rounds)]
            one, other = (median(times) for times in zip(*pairs, strict=True))
            print(f"{way:16} {one:6.2f} {other:6.2f} {100 * (other / one - 1):4.1f} %")


if __name__ == "__main__":
    main()
