"""bitext-score --scorer-command beside the program alone: what asking costs.

    python benchmarks/scorer_command.py
    python benchmarks/scorer_command.py --rows 100000 --speed 20000 --rounds 5

The program sleeps for as long as a scorer of --speed rows a second would compute. It answers each
row at once, in batches of 64, or all at the end. Seconds of the processor count: others may use
the machine: those of all processes together, less those of a run of one row, and of the program
alone. They take turns; the medians count.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
LAUNCHER = HERE.parent / "bin" / "bitext-score"

SCORER = """
import sys, time

def score(lines):
    time.sleep(len(lines) / {speed})
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
    """Return the seconds of the processor that a command takes, with all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, input=data, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost(words: list[str], rows: list[bytes]) -> float:
    """Seconds for all rows, above those for the first."""
    return seconds(words, b"".join(rows)) - seconds(words, rows[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--speed", type=int, default=5000, help="rows a second of the program")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rows = [
        b"The %d cats sleep on the sofa.\tDie %d Katzen.\n" % (n, n) for n in range(arguments.rows)
    ]
    print(f"{len(rows)} rows, {arguments.speed} rows/s; processor, microseconds a row")
    print("answers            more  of a scorer of 1000 rows/s")
    with tempfile.TemporaryDirectory() as folder:
        for way, size in WAYS.items():
            path = Path(folder) / "scorer.py"
            path.write_text(SCORER.format(speed=arguments.speed, size=size))
            command = f"{sys.executable} {path}"
            words = [sys.executable, str(LAUNCHER), "-q", "--score-only", "--scorer-command"]
            more = median(
                cost([*words, command], rows) - cost([sys.executable, str(path)], rows)
                for _ in range(arguments.rounds)
            )
            print(f"{way:16} {1e6 * more / len(rows):6.1f}  {100e3 * more / len(rows):4.1f} %")


if __name__ == "__main__":
    main()
