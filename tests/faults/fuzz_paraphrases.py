"""Hostile rows through the subcommands of bitext-paraphrase that train nothing."""

from __future__ import annotations

import re

from bench import (
    Bench,
    attempt,
    body,
    check_rejects,
    cut,
    done_rejects,
    good,
    lines,
    models,
    references,
    rejects,
    table,
)

PARSES = ["( S ( NP ) ( VP ) )", "( S ( \u2028 ) ( é ) )", "(S (NP (DT a)))", "( S", ")", "", " "]


def tables(bench: Bench) -> None:
    """Tables of phrases, or one clear line."""
    rows = table(bench, min(bench.some(), 200))
    line = bench.chooser.choice(("bitext-paraphrase lexicon", "bitext-paraphrase analyse"))
    words = [*rows.words, "--on-error", "reject"]
    done = bench.run(line, *words, "-i", bench.file(rows.data))
    assert done.code in (0, 65), done
    done.out.decode()
    bench.counts["rows"] += len(rows.lines)


def make(bench: Bench) -> None:
    """Some rows for each good one, with its reference and all their numbers."""
    rows, best = table(bench, min(bench.some(), 20)), bench.chooser.choice((1, 3))
    words = [*rows.words, "--translator", str(models() / "translator"), "--beam", "3"]
    words += ["--n-best", str(best), "--max-length", "8", "--threads", "1"]
    done = attempt(bench, "bitext-paraphrase make", words, rows, False)
    if done is None:
        return
    fine = rows.good(False)
    check_rejects(done_rejects(done), rows, [n for n, ok in enumerate(fine, rows.first) if not ok])
    made = [cut(line)[0].split(b"\t") for line in body(done.out)[1][bool(rows.header) :]]
    assert all(len(row) == 9 for row in made), done
    first = [row[0] for row in made if row[2] == b"1"]
    place = rows.places[1]
    want = [cut(row)[0].split(b"\t")[place] for row, ok in zip(rows.lines, fine, strict=True) if ok]
    assert first == want, done
    assert all(float(cell) == float(cell) for row in made for cell in row[2:]), done


def judge(bench: Bench) -> None:
    """A probability behind each good row, and nothing behind a bad one."""
    rows, model = table(bench, min(bench.some(), 200)), str(references())
    words = [*["--header"] * bool(rows.header), "--column", "2", "--model", model]
    file, out = bench.file(rows.data), str(bench.folder / "rejects")
    words += ["--on-error", "reject", "--threads", "1", "-i", file]
    done = bench.run("bitext-paraphrase score", *words, "--rejects", out)
    bench.counts["rows"] += len(rows.lines)
    fine = [good(cut(line)[0], (1,), False) for line in rows.lines]
    bad = [n for n, ok in enumerate(fine, rows.first) if not ok]
    assert done.code == 0 and [n for n, _, _ in rejects(out)] == bad, done
    found = body(done.out)[1][bool(rows.header) :]
    for line, row, ok in zip(found, rows.lines, fine, strict=True):
        text, ending = cut(row)
        assert line.startswith(text + b"\t") and cut(line)[1] == ending, (line, row)
        assert re.fullmatch(rb"[01]\.[0-9]{4}" if ok else b"", cut(line)[0][len(text) + 1 :]), line
    again = bench.run("bitext-paraphrase score", *words, "--batch-size", "7")
    assert again.out == done.out, again.words


def generate(bench: Bench) -> None:
    """A line for each line, by a template or without, or one clear line."""
    chooser, words = bench.chooser, ["--on-error", "reject", "--threads", "1", "--beam", "2"]
    data, rows = lines(bench, min(bench.some(), 8))
    kind = chooser.choice(("same", "controlled", "columns"))
    if kind == "controlled":
        words += ["--template", chooser.choice(PARSES)]
    if kind == "columns":
        rows = [cut(row)[0] + b"\t" + chooser.choice(PARSES).encode() + b"\n" for row in rows]
        data = b"".join(rows)
        words += ["--template-column", "2", "--column", "1"]
    model = models() / ("same" if kind == "same" else "controlled")
    words += ["--model", str(model), "--max-length", "6"]
    done = bench.run("bitext-paraphrase generate", *words, "-i", bench.file(data))
    bench.counts["rows"] += len(rows)
    assert done.code == 0 or (done.code in (2, 65) and kind == "controlled"), done
    if done.code == 0:
        assert len(body(done.out)[1]) == len(rows), done
        ranked = bench.run("bitext-paraphrase generate", *words, "--n-best", "2", data=data)
        numbers = [int(line.split(b"\t")[0]) for line in body(ranked.out)[1]]
        assert sorted(set(numbers)) == list(range(1, len(rows) + 1)), ranked
