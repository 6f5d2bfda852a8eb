"""Hostile rows through reports and evaluations."""

from __future__ import annotations

from bench import Bench, models, table


def report(bench: Bench) -> None:
    """A page, or one clear line."""
    rows = table(bench)
    words = [*rows.words, "--column", "3", "--on-error", "reject", "--languages", "en,de"]
    words += ["--label", "4"] * bench.chance(0.5) + ["--count", "characters"] * bench.chance(0.3)
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
                "filtering",
                file,
                "--labels",
                "4",
                "--column",
                "3",
                "--threshold",
                "0.5",
                *rows.words,
            ],
            ["recovery", file, "--similarity", "cosine,csls", "--model", toy, *rows.words],
            ["mining", file, file, "--column", "3", *rows.words],
            ["corpus", file, "--score-column", "3", *rows.words],
            ["corpus", file, "--column", "1", "--lowercase", *header],
            ["sts", file, "--human", "3", "--model", toy, *rows.words],
            ["sts", file, "--human", "3", "--column", "3", "--grades", *rows.words],
            [
                "paraphrase",
                file,
                "--development",
                file,
                "--label-column",
                "3",
                "--model",
                toy,
                *rows.words,
            ],
            ["neighbours", file, "--of", file, "--column", "1", "--model", toy, *header],
            ["lexicon", file, "--lexicon", file, *rows.words],
            ["words", file, "--source", vectors, "--target", vectors, *rows.words],
            ["alignment", file, file],
        )
    )
    reject = [] if kind[0] == "alignment" else ["--on-error", "reject"]
    done = bench.run("bitext-evaluate", *kind, *reject)
    assert done.code in (0, 65, 2), done
    done.out.decode()
    bench.counts["rows"] += len(rows.lines)
