"""Rows a second and memory of Parquet beside TSV, in and out, on generated rows.

    python benchmarks/parquet.py --rows 5000000

Each is a process of its own, measured in turns; the median of --rounds counts, start and all. The
same rows are read from a TSV and from a Parquet file, and written as both. Memory is the peak of
the process; for Parquet also on the first --few rows, which must be alike but for bitext-rank, that
holds the scores.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.rank import Cost, generate, head, measure

BIN = Path(__file__).parents[1] / "bin"
HEADER = b"source\ttarget\tscore\n"
TABLE = "--fields source,target"
LINES = {
    "bitext-filter": (
        "bitext-filter --threads 1 --rule length --header -i {tsv} -o {out}",
        "bitext-filter --threads 1 --rule length -i {parquet} -o {out}",
    ),
    "bitext-rank": (
        "bitext-rank --header --column score --order input --min-score 0.5 -i {tsv} -o {out}",
        "bitext-rank --column score --order input --min-score 0.5 -i {parquet} -o {out}",
    ),
    "bitext-convert, in": (
        "bitext-convert --to jsonl --header -i {tsv} -o {out}",
        f"bitext-convert --from parquet --keep score {TABLE} --to jsonl -i {{parquet}} -o {{out}}",
    ),
    "bitext-convert, out": (
        f"bitext-convert --from jsonl --keep score {TABLE} --header -i {{jsonl}} -o {{out}}",
        f"bitext-convert --from jsonl --keep score {TABLE} --to parquet -i {{jsonl}} -o {{table}}",
    ),
    "bitext-convert, out, numbers": (
        f"bitext-convert --from jsonl --keep score {TABLE} --header -i {{jsonl}} -o {{out}}",
        f"bitext-convert --from jsonl --keep score {TABLE} --to parquet --numbers score"
        " -i {jsonl} -o {table}",
    ),
}
"""The command lines of TSV and of Parquet."""


def words_of(line: str, paths: dict[str, Path]) -> list[str]:
    """Return a command line, run by this Python."""
    name, *words = line.format(**paths).split()
    return [sys.executable, str(BIN / name), "--quiet", *words]


def prepare(folder: Path, rows: Path, count: int) -> dict[str, Path]:
    """Return the paths of the first rows in each format, and of outputs."""
    names = {"tsv": "tsv", "parquet": "parquet", "jsonl": "jsonl", "out": "out", "table": "pq"}
    paths = {name: folder / f"{count}.{ending}" for name, ending in names.items()}
    paths["table"] = folder / f"{count}.out.parquet"
    head(rows, paths["tsv"], count + 1)
    for form in ("parquet", "jsonl"):
        line = f"bitext-convert --to {form} --header -i {{tsv}} -o {{{form}}}"
        measure(words_of(line, paths))
    return paths


def measured(line: str, paths: dict[str, Path], rounds: int) -> Cost:
    """Return the median time and the most memory of some runs."""
    costs = [measure(words_of(line, paths)) for _ in range(rounds)]
    seconds = statistics.median(cost.seconds for cost in costs)
    cpu = statistics.median(cost.cpu for cost in costs)
    return Cost(seconds, cpu, max(cost.mebibytes for cost in costs))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--few", type=int, default=100_000, help="rows to compare memory with")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(LINES), choices=LINES)
    return parser.parse_args()


def main() -> None:
    """Generate the rows, and measure each command on both formats."""
    settings = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, rows = folder / "bare", folder / "rows"
        generator = get_context("spawn").Process(target=generate, args=(bare, settings.rows))
        generator.start()
        generator.join()
        with bare.open("rb") as source, rows.open("wb") as target:
            target.write(HEADER)
            while data := source.read(1 << 24):
                target.write(data)
        bare.unlink()
        all_rows, few = (prepare(folder, rows, n) for n in (settings.rows, settings.few))
        sizes = [all_rows[form].stat().st_size / 1e6 for form in ("tsv", "parquet")]
        print(f"{settings.rows} rows, {sizes[0]:.0f} MB as TSV, {sizes[1]:.0f} MB as Parquet")
        names = ("TSV rows/CPU s", "Parquet", "ratio", "of time", "TSV MiB", "few", "all")
        print(f"{'':<30}" + "".join(f"{name:>15}" for name in names))
        for name in settings.only:
            tsv, table = (measured(line, all_rows, settings.rounds) for line in LINES[name])
            small = measured(LINES[name][1], few, 1)
            speeds = (settings.rows / tsv.cpu, settings.rows / table.cpu)
            ratios = (tsv.cpu / table.cpu, tsv.seconds / table.seconds)
            figures = [f"{value:15.0f}" for value in speeds]
            figures += [f"{ratio:15.2f}" for ratio in ratios]
            figures += [f"{cost.mebibytes:15.0f}" for cost in (tsv, small, table)]
            print(f"{name:<30}" + "".join(figures), flush=True)


if __name__ == "__main__":
    main()
