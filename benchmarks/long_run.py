"""Memory, open files and speed of a pipeline that runs for hours.

    python benchmarks/long_run.py PAIRS.tsv.gz --hours 4

bitext-score | bitext-filter | bitext-rank read the rows of PAIRS (a source, a target) again and
again; in each round, a number at the end of both sides makes all rows new. Every minute, the memory
(resident set), the open files and the processor seconds of each command are read from
/proc, its worker processes included. At the end bitext-rank writes its rows, which are counted:
rows in = rows out + rows rejected or dropped, as the summaries have it.

The table has the medians of each tenth of the time. Growth is that of memory from the second tenth
to the last; bitext-rank may take 24 bytes a row.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

from bitextfilter.io.files import open_input

BIN = Path(__file__).parents[1] / "bin"
TICKS = os.sysconf("SC_CLK_TCK")
"""Units of processor time in a second, in /proc."""

COMMANDS = {
    "bitext-score": ["--on-error", "reject"],
    "bitext-filter": ["--on-error", "reject", "--languages"],
    "bitext-rank": ["--on-error", "reject"],
}


@dataclass
class Sample:
    """A command at one time: bytes, open files, and seconds of the processor so far."""

    memory: int
    files: int
    seconds: float


def family(process: int) -> list[int]:
    """A process and its descendants."""
    found = [process]
    for parent in found:
        for thread in Path(f"/proc/{parent}/task").glob("*"):
            found += map(int, (thread / "children").read_text().split())
    return found


def sample(process: int) -> Sample:
    """Read a command and its workers from /proc."""
    memory = files = ticks = 0
    for one in family(process):
        status = Path(f"/proc/{one}/status").read_text()
        memory += int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) * 1024
        files += len(list(Path(f"/proc/{one}/fd").iterdir()))
        ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rsplit(")")[1].split()[11:15]))
    return Sample(memory, files, ticks / TICKS)


class Writer(threading.Thread):
    """Writes rows, each round made new, until it is stopped."""

    def __init__(self, path: str, out: IO[bytes]) -> None:
        """Read the rows of a file."""
        super().__init__(daemon=True)
        with open_input(path) as lines:
            pairs = [line.rstrip(b"\n").split(b"\t")[:2] for line in lines]
        self._pairs = [pair for pair in pairs if len(pair) == 2]
        self._out, self._over = out, threading.Event()
        self.rows = 0

    def run(self) -> None:
        """Write rounds of rows."""
        turn = 0
        while not self._over.is_set():
            turn += 1
            for start in range(0, len(self._pairs), 1000):
                if self._over.is_set():
                    break
                block = self._pairs[start : start + 1000]
                self._out.writelines(b"%b %d\t%b %d\n" % (s, turn, t, turn) for s, t in block)
                self.rows += len(block)
        self._out.close()

    def stop(self) -> None:
        """End after this block."""
        self._over.set()


def tenths(samples: list[tuple[float, int, list[Sample]]]) -> list[list[str]]:
    """The rows of the table."""
    table = []
    size = len(samples) / 10
    before = samples[0]
    for tenth in range(10):
        part = samples[int(tenth * size) : int((tenth + 1) * size)]
        if not part:
            continue
        last, cells = part[-1], []
        for place in range(len(COMMANDS)):
            memory = median(found[place].memory for _, _, found in part)
            files = [found[place].files for _, _, found in part]
            spent = last[2][place].seconds - before[2][place].seconds
            rate = (last[1] - before[1]) / spent if spent else 0
            cells += [f"{memory / 2**20:,.0f}", f"{min(files)}–{max(files)}", f"{rate:,.0f}"]
        table.append([f"{last[0] / 3600:.2f}", f"{last[1]:,}", *cells])
        before = last
    return table


def main() -> None:
    """Run the pipeline, and print the table."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    reader.add_argument("pairs", help="TSV of real pairs, with noise; may be compressed")
    reader.add_argument("--hours", type=float, default=4.0)
    reader.add_argument("--every", type=float, default=60.0, help="seconds between samples")
    reader.add_argument("--languages", default="en,de")
    reader.add_argument("--threads", default="1")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stages: list[subprocess.Popen[bytes]] = []
        for name, words in COMMANDS.items():
            words = words + [options.languages] * (words[-1] == "--languages")
            words += ["--threads", options.threads] if name != "bitext-rank" else []
            with open(f"{folder}/{name}", "wb") as told:
                line = [sys.executable, str(BIN / name), *words]
                source = stages[-1].stdout if stages else subprocess.PIPE
                stages += [
                    subprocess.Popen(line, stdin=source, stdout=subprocess.PIPE, stderr=told)
                ]
            if len(stages) > 1:
                stages[-2].stdout.close()  # type: ignore[union-attr]
        assert stages[0].stdin and stages[-1].stdout
        writer = Writer(options.pairs, stages[0].stdin)
        samples, began = [], time.monotonic()
        writer.start()
        while (now := time.monotonic() - began) < options.hours * 3600:
            if now > min(30.0, options.every):  # all have started
                found = [sample(stage.pid) for stage in stages]
                samples.append((now, writer.rows, found))
                print(f"{now:.0f} s, {writer.rows:,} rows: {found}", file=sys.stderr, flush=True)
            time.sleep(options.every)
        writer.stop()
        out = sum(1 for _ in stages[-1].stdout)
        codes = [stage.wait() for stage in stages]
        summaries = {name: (Path(folder) / name).read_text().splitlines()[-1] for name in COMMANDS}
    print("| hours | rows |" + "".join(f" {n} MiB | files | rows/CPU s |" for n in COMMANDS))
    print("|---:|---:|" + "---:|---:|---:|" * len(COMMANDS))
    for row in tenths(samples):
        print(f"| {' | '.join(row)} |")
    print(f"{writer.rows:,} rows in, {out:,} out, exit codes {codes}")
    print("\n".join(f"{name}: {summary}" for name, summary in summaries.items()))


if __name__ == "__main__":
    main()
