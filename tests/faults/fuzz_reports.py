"""Hostile rows through reports, evaluations, splits, word alignments, combiners and recipes."""

from __future__ import annotations

from pathlib import Path

from bench import Bench, body, models, rejects, table
from hostile import mutated

REJECT = ("--on-error", "reject")
SCORED = b"".join(b"a\tb\t%d\t%d\t%d\n" % (n % 10, n * 7 % 13, n % 3 > 0) for n in range(40))
FORMS = ("openai", "anthropic")
RECIPE = b'[[step]]\ncommand = "bitext-fix"\ninput = "rows.tsv"\noutput = "fixed.tsv"\n'


def report(bench: Bench) -> None:
    """A page, or one clear line."""
    rows = table(bench)
    words = [*rows.words, "--column", "3", "--on-error", "reject", "--languages", "en,de"]
    words += ["--label", "4"] * bench.chance(0.5) + ["--count", "characters"] * bench.chance(0.3)
    words += ["--reasons", bench.chooser.choice("124")] * bench.chance(0.5)
    done = bench.run("bitext-report", *words, "-i", bench.file(rows.data))
    assert done.code == 0, done
    page = done.out.decode()
    assert "<script>alert(1)" not in page and page.rstrip().endswith("</html>")
    bench.counts["rows"] += len(rows.lines)


def evaluate(bench: Bench) -> None:
    """Results, or one clear line."""
    rows, toy = table(bench, min(bench.some(), 150)), str(models() / "toy")
    file, header = bench.file(rows.data), ["--header"] * bool(rows.header)
    vectors = bench.file(b"2 2\nthe 1 0\ndog 0 1\n", "words.vec")
    kind = bench.chooser.choice(
        (
            [
                "bitext-evaluate filtering", file, "--labels", "4", "--column", "3", "--threshold",
                "0.5", *rows.words,
            ],
            [
                "bitext-evaluate recovery", file, "--similarity", "cosine,csls", "--model", toy,
                *rows.words,
            ],
            ["bitext-evaluate mining", file, file, "--column", "3", *rows.words],
            ["bitext-evaluate corpus", file, "--score-column", "3", *rows.words],
            ["bitext-evaluate corpus", file, "--column", "1", "--lowercase", *header],
            ["bitext-evaluate contrasts", file, "--worse-tcol", "1", "--model", toy, *rows.words],
            ["bitext-evaluate sts", file, "--human", "3", "--model", toy, *rows.words],
            ["bitext-evaluate sts", file, "--human", "3", "--column", "3", "--grades", *rows.words],
            [
                "bitext-evaluate paraphrase", file, "--development", file, "--label-column", "3",
                "--model", toy, *rows.words,
            ],
            [
                "bitext-evaluate neighbours", file, "--of", file, "--column", "1", "--model", toy,
                *header,
            ],
            ["bitext-evaluate lexicon", file, "--lexicon", file, *rows.words],
            ["bitext-evaluate words", file, "--source", vectors, "--target", vectors, *rows.words],
            ["bitext-evaluate alignment", file, file],
        )
    )  # fmt: skip
    reject = [] if kind[0].endswith("alignment") else ["--on-error", "reject"]
    done = bench.run(kind[0], *kind[1:], *reject)
    assert done.code in (0, 65, 2), done
    done.out.decode()
    bench.counts["rows"] += len(rows.lines)


def judge(bench: Bench) -> None:
    """Samples, labels and what follows from them, or one clear line; damaged files too."""
    rows, toy = table(bench, min(bench.some(), 150)), models() / "toy"
    file, out = bench.file(rows.data), bench.folder / "new"
    words = ["--column", "3", "--count", "20", "--on-error", "reject", *rows.words]
    drawn = bench.run("bitext-judge sample", "-i", file, *words)
    assert drawn.code in (0, 65), drawn
    bench.counts["rows"] += len(rows.lines)
    if drawn.code:
        return
    sample = bench.file(drawn.out, "sample.tsv")
    asked = bench.run("bitext-judge command", "awk '{print NR % 2}'", sample, "--scale", "0-1")
    assert asked.code in (0, 2, 65, 69), asked
    labels = bench.file(asked.out, "labels.tsv")
    if bench.chance(0.5):
        labels = bench.file(mutated(bench.chooser, asked.out, 50), "other.tsv")
    lines = [
        ["bitext-judge page", sample],
        ["bitext-judge requests", sample, "--model", "m", "--form", bench.chooser.choice(FORMS)],
        ["bitext-judge report", sample, labels, "--bootstrap", "9"],
        ["bitext-judge learn", sample, labels, "--bootstrap", "9", "--model", toy, "-o", out],
        ["bitext-judge import", sample, labels, "--scale", "0-1", "--on-error", "reject"],
        ["bitext-judge combiner", sample, labels, "--bootstrap", "9", "-o", f"{out}.json"],
    ]
    for line in lines:
        done = bench.run(*line)
        assert done.code in (0, 65, 78), done
    assert not out.exists() or bench.run("bitext-models verify", out).code == 0


def recommend(bench: Bench) -> None:
    """Thresholds of hostile results are kept, or refused with one clear line."""
    rows, toy = table(bench, 60), models() / "toy"
    words = ["--suggest-threshold", "--json", "--bootstrap", "9", "--on-error", "reject"]
    words += ["--model", str(toy), bench.file(rows.data), *rows.words]
    made = bench.run("bitext-evaluate filtering", *words)
    assert made.code in (0, 65), made
    result = bench.file(made.out)
    bench.counts["rows"] += len(rows.lines)
    if bench.chance(0.7) or made.code:
        broken = mutated(bench.chooser, made.out.replace(b"\n", b" ") or b"{}", 50)
        result = bench.file(broken)
    out = bench.folder / "new"
    done = bench.run("bitext-models recommend", toy, result, "-o", out)
    assert done.code in (0, 65) and out.exists() == (done.code == 0), done
    if done.code == 0:
        assert bench.run("bitext-models verify", out).code == 0, done
        assert bench.run("bitext-models show", "--json", out).code == 0, done


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
