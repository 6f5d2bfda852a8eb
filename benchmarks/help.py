"""How soon each command answers --help: the median of some runs, in seconds."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 5


def seconds(launcher: Path) -> float:
    """Time one --help, the start of Python included."""
    start = time.perf_counter()
    subprocess.run([sys.executable, str(launcher), "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each command."""
    for launcher in sorted((Path(__file__).parents[1] / "bin").iterdir()):
        median = statistics.median(seconds(launcher) for _ in range(RUNS))
        print(f"{launcher.name:<24} {median:.3f}")


if __name__ == "__main__":
    main()
