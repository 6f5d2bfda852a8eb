"""Attacks on parts of corpora, word alignments, combiners and recipes."""

from __future__ import annotations

from pathlib import Path

from bench import Bench, body, models, rejects
from hostile import mutated

REJECT = ("--on-error", "reject")
SCORED = b"".join(b"a\tb\t%d\t%d\t%d\n" % (n % 10, n * 7 % 13, n % 3 > 0) for n in range(40))
RECIPE = b'[[step]]\ncommand = "bitext-fix"\ninput = "rows.tsv"\noutput = "fixed.tsv"\n'


def split(bench: Bench) -> None:
    """Every row is in one of the parts, or rejected."""
    data = bench.hostile.lines(bench.some(), bench.hostile.pair)
    words = ["--part", "dev=10%", "--part", "test=3", "-o", str(bench.folder / "part-{}")]
    aside = str(bench.folder / "aside")
    file = bench.file(data)
    done = bench.run("bitext-split", *words, *REJECT, "--rejects", aside, "-i", file)
    assert done.code == 0 and done.out == b"", done
    parts = [(bench.folder / f"part-{name}").read_bytes() for name in ("dev", "test", "train")]
    written = sum(len(body(part)[1]) for part in parts)
    assert written + len(rejects(aside)) == len(body(data)[1]), done.words
    bench.counts["rows"] += len(body(data)[1])


def align_words(bench: Bench) -> None:
    """A line for each line."""
    data = bench.hostile.lines(bench.some(), bench.hostile.pair)
    done = bench.run("bitext-align-words", *REJECT, "-i", bench.file(data))
    assert done.code == 0 and len(body(done.out)[1]) == len(body(data)[1]), done
    bench.counts["rows"] += len(body(data)[1])


def combiner(bench: Bench) -> None:
    """Hostile rows are combined, one for one, and hostile combiners are refused."""
    file = str(bench.folder / "combiner.json")
    data = bench.hostile.lines(bench.some(), bench.hostile.pair)
    words = ["--labels", "5", "--column", "3", "--column", "4", "--bootstrap", "2"]
    words += ["--kind", bench.chooser.choice(("logistic", "monotone", "isolation-forest"))]
    made = bench.run("bitext-train-combiner", *words, "-o", file, bench.file(SCORED))
    assert made.code == 0, made
    if bench.chance(0.5):
        damaged = bench.file(mutated(bench.chooser, Path(file).read_bytes(), 40), "damaged.json")
        bench.run("bitext-combine", damaged, data=SCORED)
    more = [*REJECT, "--column", "1", "--column", "2", "-i", bench.file(data, "rows.tsv")]
    bench.run("bitext-combine", file, *more)
    bench.counts["rows"] += len(body(data)[1])


def bicleaner(bench: Bench) -> None:
    """A score for each row, 0 for a bad one."""
    data = bench.hostile.lines(bench.some(), bench.hostile.pair)
    words = ["-p", "1", "--scol", "1", "--tcol", "2", "--disable_hardrules"]
    bench.run("bitext-bicleaner", *words, bench.file(data), "-", str(models() / "toy"))
    bench.counts["rows"] += len(body(data)[1])


def recipe(bench: Bench) -> None:
    """A damaged recipe is refused with one line."""
    data = mutated(bench.chooser, RECIPE, 60)
    bench.run("bitext-run", "--dry-run", bench.file(data, "recipe.toml"))
    bench.counts["rows"] += 1
