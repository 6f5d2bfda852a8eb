"""Money and energy of scoring a million pairs, beside published speeds of other programs.

    python benchmarks/cost.py --pairs-a-second 12000 --cores 2

PAIRS A SECOND are what score.py printed on this number of cores. This script measures nothing: the
speeds of others are those that their makers published, on hardware of theirs, or that score.py
measured on networks of the same shape. Prices and powers are options, to be replaced by yours.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

README, SHAPE = "README of bicleaner-ai", "score.py: the shape, with random weights"
FASTER, EARLIER = "mozilla/translations#1387", "mozilla/translations#392"


class Speed(NamedTuple):
    """Pairs a second of a program."""

    program: str
    hardware: str
    """Ends with ``GPU``, or with ``core`` or ``cores`` and begins with their number."""
    pairs_a_second: float
    source: str

    @property
    def cores(self) -> int:
        """Number of processor cores; 0 for a GPU."""
        return 0 if self.hardware.endswith("GPU") else int(self.hardware.split()[0])


PUBLISHED = (
    Speed("Bicleaner AI, full", "1 core", 1.78, README),
    Speed("Bicleaner AI, full", "V100 GPU", 200, README),
    Speed("Bicleaner AI, lite", "1 core", 600, README),
    Speed("Bicleaner AI, lite", "V100 GPU", 10_000, README),
    Speed("Bicleaner AI, full", "GPU", 834, EARLIER),
    Speed("Bicleaner AI, base, float32", "GPU", 273, FASTER),
    Speed("Bicleaner AI, base, float16", "GPU", 768, FASTER),
    Speed("Bicleaner AI, large, float32", "GPU", 126, FASTER),
    Speed("Bicleaner AI, large, float16", "GPU", 276, FASTER),
    Speed("LaBSE, bfloat16", "2 cores", 154.7, SHAPE),
    Speed("LASER, int8", "2 cores", 361.3, SHAPE),
)
"""Higher is better."""


def rows(speeds: list[Speed], prices: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the cells of each program, the cheapest first."""
    for speed in sorted(speeds, key=lambda one: cost(one, prices)):
        hours = 1e6 / speed.pairs_a_second / 3600
        watts = speed.cores * prices.core_watts or prices.gpu_watts
        yield [
            speed.program,
            speed.hardware,
            _figure(speed.pairs_a_second),
            _figure(speed.pairs_a_second * 3600 / max(speed.cores, 1) / 1e6),
            _figure(1 / cost(speed, prices)),
            _figure(hours * watts),
            speed.source,
        ]


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def cost(speed: Speed, prices: argparse.Namespace) -> float:
    """Return the euros of a million pairs."""
    hour = speed.cores * prices.core_hour or prices.gpu_hour
    return float(1e6 / speed.pairs_a_second / 3600 * hour)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs-a-second", type=float, nargs="+", required=True)
    parser.add_argument("--names", nargs="+", default=["bitext-score", "bitext-score, cosine"])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--core-hour", type=float, default=0.04, help="euros")
    parser.add_argument("--gpu-hour", type=float, default=1.0, help="euros")
    parser.add_argument("--core-watts", type=float, default=8.0)
    parser.add_argument("--gpu-watts", type=float, default=250.0)
    given = parser.parse_args()
    own = [
        Speed(name, f"{given.cores} cores", speed, "score.py")
        for name, speed in zip(given.names, given.pairs_a_second, strict=False)
    ]
    head = ["program", "hardware", "pairs a second", "million pairs an hour of a core or GPU"]
    head += ["million pairs a euro", "watt-hours a million", "source"]
    print("| " + " | ".join(head) + " |")
    print("|---|---|---:|---:|---:|---:|---|")
    for cells in rows([*own, *PUBLISHED], given):
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
