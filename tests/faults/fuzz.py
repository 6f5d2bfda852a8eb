"""Hostile rows through every command that reads rows or texts."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from math import isnan
from pathlib import Path
from random import Random

import numpy as np
from bench import (
    Bench,
    attempt,
    body,
    check_kept,
    check_rejects,
    cut,
    difference,
    done_rejects,
    good,
    lines,
    models,
    number,
    rejects,
    steady,
    table,
    texts,
    whole,
)
from hostile import REAL, UNITS, mutated

PATIENCE = 300
"""Seconds after which a trial is given up."""

MEMORY, MEMORY_PER_BYTE = 300e6, 100
"""Memory that a long row may take: so many bytes, and so many for each byte of it."""

FILTERS = Path(__file__).parents[1] / "filters"

Attack = Callable[[Bench], None]
"""Runs commands on hostile rows; an AssertionError is a broken promise."""


def score(bench: Bench) -> None:
    """A line for each line, in order, with empty scores for bad rows alone."""
    rows, chooser = table(bench), bench.chooser
    shipped = bench.chance(0.1)
    model = "en-de" if shipped else str(models() / chooser.choice(("toy", "words")))
    known = ["mlp", "cosine", "euclidean", "csls", "ratio", "distance"]
    measures = chooser.sample(known, chooser.randrange(1, 4))
    digits = chooser.randrange(10)
    words = [
        *rows.words,
        "--model",
        model,
        "--similarity",
        ",".join(measures),
        "--digits",
        str(digits),
    ]
    bare = bench.chance(0.1)
    words += ["--score-only"] * bare
    done = attempt(bench, "bitext-score", words, rows, False)
    if done is None:
        return
    fine = rows.good(False)
    check_rejects(done_rejects(done), rows, [n for n, ok in enumerate(fine, rows.first) if not ok])
    bom, lines = body(done.out)
    head = lines[: bool(rows.header)]
    lines = lines[bool(rows.header) :]
    assert len(lines) == len(rows.lines), done
    number = rb"-?[0-9]+" + (rb"\.[0-9]{%d}" % digits if digits else b"")
    for line, row, ok in zip(lines, rows.lines, fine, strict=True):
        start, end = (b"", b"\n") if bare else (cut(row)[0] + b"\t", cut(row)[1])
        assert line.startswith(start) and line.endswith(end), (line, row)
        cells = line[len(start) : len(line) - len(end)].split(b"\t")
        assert len(cells) == len(measures), (line, row)
        for cell in cells:
            assert re.fullmatch(number, cell) if ok else cell == b"", (line, ok)
    if not bare:
        assert bom == rows.bom
        assert all(line.startswith(cut(rows.header)[0] + b"\t") for line in head)
    parts = ["--resume", str(bench.folder / "parts"), "--shard-rows"]
    more = [[*parts, str(chooser.choice((7, 1000)))], ["--threads", "2"]]
    steady(bench, "bitext-score", [*words, "--on-error", "reject"], done.words[-1], done.out, *more)


def fix(bench: Bench) -> None:
    """Only the two columns change, and a second run changes nothing."""
    from bitextfilter.corpus.repair import REPAIRS

    rows, names = table(bench), list(REPAIRS)
    chosen = bench.chooser.sample(names, bench.chooser.randrange(len(names) + 1))
    words = [*rows.words, "--threads", "1"]
    words += [word for name in chosen for word in ("--with", name)]
    if bench.chance(0.3) and chosen:
        words = [word.replace("--with", "--only") for word in words]
    explain = bench.chance(0.3)
    done = attempt(bench, "bitext-fix", words + ["--explain"] * explain, rows, True)
    if done is None:
        return
    fine = rows.good()
    check_rejects(done_rejects(done), rows, [n for n, ok in enumerate(fine, rows.first) if not ok])
    bom, lines = body(done.out)
    assert bom == rows.bom and len(lines[bool(rows.header) :]) == len(rows.lines), done
    for line, row, ok in zip(lines[bool(rows.header) :], rows.lines, fine, strict=True):
        (fixed, end), (was, ending) = cut(line), cut(row)
        assert end == ending, (line, row)
        fields, before = fixed.split(b"\t"), was.split(b"\t")
        if explain:
            names = fields.pop().decode()
            assert bool(names) == (fields != before), (line, row)
        assert len(fields) == len(before), (line, row)
        for place in {place % len(before) for place in rows.places} if ok else ():
            fields[place] = before[place]
        assert fields == before, (line, row)
    if not explain:
        again = bench.run("bitext-fix", *words, "--on-error", "reject", data=done.out)
        assert again.out == done.out, difference(done.out, again.out)
    reject = [*words, *["--explain"] * explain, "--on-error", "reject"]
    more = [["--batch-size", "50", "--threads", "2"]] if bench.chance(0.03) else []
    steady(bench, "bitext-fix", reject, done.words[-1], done.out, *more)


def rules(bench: Bench) -> list[str]:
    """Options that name rules, with parameters."""
    from bitextfilter.filters.registry import RULES

    arpa = f"source={FILTERS / 'one.arpa'},target={FILTERS / 'two.arpa'}"
    bounded = "maximum=3" if bench.chance(0.5) else "minimum=0.1,maximum=0.6"
    given = {
        "paraphrase-score": f"model={models() / 'toy'}",
        "perplexity": f"maximum=50,{arpa}",
        "cross-entropy": f"maximum=5,per=word,{arpa}",
        "cross-entropy-gap": arpa,
        "cross-entropy-difference": f"{arpa},source_general={FILTERS / 'two.arpa'},"
        f"target_general={FILTERS / 'one.arpa'}",
        "language-model-classifier": arpa,
        "regular-expression": r"pattern=\d+(\s|$)",
        "unwanted-words": f"words={FILTERS / 'unwanted.txt'}",
        "boilerplate": f"file={FILTERS / 'boilerplate.txt'}",
        "similarity": bench.chooser.choice(("count=words", "lowercase=yes,maximum=0.5")),
        "language": "identifier=" + bench.chooser.choice(("py3langid", "cld2")),
        "length": bench.chooser.choice(("count=characters", "count=words,maximum=5")),
        "column": f"column=3,{bounded}",
        "translation-cost": "column=3",
        "reference-probability": "column=3",
        "ngram-overlap": "order=2",
    }
    names = bench.chooser.sample(sorted(RULES), bench.chooser.choice((1, 3, 8, len(RULES))))
    specs = [f"{name}:{given[name]}" if name in given else name for name in names]
    if bench.chance(0.2):
        specs.append("default")
    return [word for spec in specs for word in ("--rule", spec)]


def filter_(bench: Bench) -> None:
    """Each row is kept as it was, or set aside with a reason; --explain says the same."""
    rows = table(bench)
    words = [*rows.words, *rules(bench), "--languages", "en,de", "--threads", "1"]
    words += ["--fast"] * bench.chance(0.2)
    done = attempt(bench, "bitext-filter", words, rows, True)
    if done is None:
        return
    kept = check_kept(done, rows, rows.bom)
    fine = rows.good()
    assert all(fine[n - rows.first] for n in kept)
    reject = [*words, "--on-error", "reject"]
    explained = bench.run("bitext-filter", *reject, "--explain", "-i", done.words[-1])
    _, lines = body(explained.out)
    lines = lines[bool(rows.header) :]
    reasons = {place: reason for place, reason, _ in rejects(done_rejects(done))}
    assert len(lines) == len(rows.lines), explained.words
    for place, (line, row) in enumerate(zip(lines, rows.lines, strict=True), rows.first):
        text, ending = cut(row)
        verdict = b"\t" + reasons.get(place, b"keep")
        assert line == text + verdict + ending, (line, row, verdict)
    more = [["--resume", str(bench.folder / "parts"), "--shard-rows", "50"]]
    more += [["--batch-size", "50", "--threads", "2"]] * bench.chance(0.03)
    steady(bench, "bitext-filter", reject, done.words[-1], done.out, *more)


def dedup(bench: Bench) -> None:
    """Rows are kept in order or set aside; the texts kept are distinct."""
    rows, chooser = table(bench), bench.chooser
    match = chooser.choice(("exact", "exact", "normalised", "near"))
    by = chooser.choice(("pair", "source", "target", "either"))
    words = [*rows.words, "--match", match, "--by", by]
    best = bench.chance(0.3)
    words += ["--keep", "best", "--column", "3"] if best else []
    if match != "exact" and bench.chance(0.5):
        words += ["--ignore", chooser.choice(("case", "digits,space", "punctuation"))]
    used = {"source": rows.places[:1], "target": rows.places[1:]}.get(by, rows.places)
    fine = [good(cut(line)[0], used, False) for line in rows.lines]
    if best:
        has = [good(cut(line)[0], (2,), True) for line in rows.lines]
        fine = [one and other for one, other in zip(fine, has, strict=True)]
    file = bench.file(rows.data)
    reject = ["--on-error", "reject", "--rejects", str(bench.folder / "rejects")]
    groups = bench.folder / "groups"
    done = bench.run("bitext-dedup", *words, *reject, "--groups", str(groups), "-i", file)
    assert done.code == 0, done
    bench.counts["rows"] += len(rows.lines)
    kept = check_kept(done, rows, rows.bom)
    assert all(fine[n - rows.first] for n in kept)
    if match == "exact":
        keys = [texts(rows, n, used) for n in kept]
        assert len(set(keys)) == len(keys), done
        every = {texts(rows, n, used) for n, ok in enumerate(fine, rows.first) if ok}
        assert by == "either" or set(keys) == every, done
    for line in groups.read_bytes().split(b"\n")[:-1]:
        _, number, fate, row = line.split(b"\t", 3)
        assert row == cut(rows.lines[int(number) - rows.first])[0], line
        assert fate == (b"kept" if int(number) in kept else b"dropped"), line
    plain = [*words, "--on-error", "reject"]
    steady(bench, "bitext-dedup", plain, file, done.out, [], ["--memory", "1"])


def rank(bench: Bench) -> None:
    """All rows, the best first; or the best of them in their order."""
    rows, chooser = table(bench), bench.chooser
    choice = chooser.choice(
        (
            "--top-lines 3",
            "--top-words 100",
            "--top-fraction 0.3",
            "",
            "",
            "--min-score 0.5",
            "--min-score -inf",
            "--fold 2/3",
            "--sample 9",
            "--top-words 50 --count characters --count-side both",
        )
    )
    words = [*rows.words, "--column", "3", *choice.split()]
    ordered = bench.chance(0.3)
    words += ["--order", "input"] if ordered else []
    places = rows.places[1:] if choice == "--top-words 100" else ()
    places = rows.places if "both" in choice else places
    file = bench.file(rows.data)
    reject = ["--on-error", "reject", "--rejects", str(bench.folder / "rejects")]
    done = bench.run("bitext-rank", *words, *reject, "-i", file)
    assert done.code == 0, done
    bench.counts["rows"] += len(rows.lines)
    out = sorted(n for n, _, _ in rejects(done_rejects(done)))
    check_rejects(done_rejects(done), rows, out)
    kept = [n for n in range(rows.first, rows.first + len(rows.lines)) if n not in set(out)]
    for n in kept:
        assert good(cut(rows.lines[n - rows.first])[0], (2, *places), True), n
    lines = [rows.lines[n - rows.first] for n in kept]
    head = rows.bom + rows.header
    assert done.out.startswith(head)
    found = body(done.out[len(head) :])[1]
    if ordered:
        assert found == lines, difference(b"".join(found), b"".join(lines))
        return
    scores = [number(line.split(b"\t")[2]) for line in lines]
    order = sorted(range(len(lines)), key=lambda i: (isnan(scores[i]), -scores[i]))
    assert [cut(line)[0] for line in found] == [cut(lines[i])[0] for i in order], done.words


def noise(bench: Bench) -> None:
    """Good rows in their order, with a label; columns aside are as they were."""
    from bitextfilter.corpus.noise import NOISE_KINDS

    rows, chooser = table(bench), bench.chooser
    foreign = bench.file("Une phrase en français pour essayer.\n".encode() * 20)
    words = [*rows.words, "--languages", "en,de", "--foreign", foreign]
    words += (
        ["--rate", "all=0.9"]
        if bench.chance(0.5)
        else [*("--rate", f"{chooser.choice(list(NOISE_KINDS))}=1")]
    )
    words += ["--words", "1-500", "--window", str(chooser.choice((1, 50, 10000)))]
    words += ["--seed", str(chooser.randrange(9))]
    if rows.places[0] == rows.places[1]:
        return
    done = attempt(bench, "bitext-noise", words, rows, False)
    if done is None:
        return
    fine = rows.good(False)
    check_rejects(done_rejects(done), rows, [n for n, ok in enumerate(fine, rows.first) if not ok])
    want = [row for row, ok in zip(rows.lines, fine, strict=True) if ok]
    lines = body(done.out)[1][bool(rows.header) :]
    assert len(lines) == len(want), done.words
    for line, row in zip(lines, want, strict=True):
        (text, end), (was, ending) = cut(line), cut(row)
        fields, before = text.split(b"\t"), was.split(b"\t")
        label = fields.pop().decode()
        assert end == ending and (label == "clean" or label in NOISE_KINDS), line
        assert len(fields) == len(before), (line, row)
        for place in () if label == "clean" else rows.places:
            fields[place] = before[place]
        assert fields == before, (line, row)


def convert(bench: Bench) -> None:
    """To another format and back: the same pairs, but for those rejected."""
    rows, chooser = table(bench), bench.chooser
    if rows.places[0] % 4 == rows.places[1] % 4:
        return
    form = chooser.choice(("moses", "tmx", "jsonl"))
    middle = [str(bench.folder / f"middle{n}") for n in range(1 + (form == "moses"))]
    languages = ["--languages", "en,de"] if form == "tmx" else []
    there = middle if form == "moses" else ["-o", *middle]
    words = [*rows.words, "--to", form, *languages, *there]
    fine = rows.good()
    reject = ["--on-error", "reject", "--rejects", str(bench.folder / "rejects")]
    done = bench.run("bitext-convert", *words, *reject, "-i", bench.file(rows.data))
    assert done.code == 0, done
    bench.counts["rows"] += len(rows.lines)
    out = {n for n, _, _ in rejects(str(bench.folder / "rejects"))}
    check_rejects(str(bench.folder / "rejects"), rows, sorted(out))
    want = [
        texts(rows, n, rows.places) for n, ok in enumerate(fine, rows.first) if n not in out and ok
    ]
    want = [pair for pair in want if not pair[1].endswith(b"\r")]  # which would end the row
    assert all(fine[n - rows.first] or n in out for n in range(rows.first, rows.first + len(fine)))
    fields = []
    if form == "jsonl" and rows.header:
        names = [cut(rows.header)[0].decode().split("\t")[place] for place in rows.places]
        fields = ["--fields", ",".join(names)]
    back = middle if form == "moses" else ["-i", *middle]
    words = ["--from", form, *languages, *fields, "--on-error", "reject"]
    again = bench.run("bitext-convert", *words, *back)
    assert again.code == 0, again
    assert not body(again.out)[0] or again.out.startswith(b"\t".join(want[0])), again.words
    assert again.out == b"".join(b"\t".join(pair) + b"\n" for pair in want), difference(
        again.out, b"".join(b"\t".join(pair) + b"\n" for pair in want)
    )


def misread(bench: Bench) -> None:
    """Damaged files of other formats: pairs, or rejects, or one clear line."""
    chooser = bench.chooser
    form = chooser.choice(("tmx", "jsonl", "moses"))
    pairs = b"".join(f"{s}\t{t}\n".encode() for s, t in REAL[:30])
    middle = [str(bench.folder / f"middle{n}") for n in range(1 + (form == "moses"))]
    there = middle if form == "moses" else ["-o", *middle]
    languages = ["--languages", "en,de"] if form == "tmx" else []
    assert bench.run("bitext-convert", "--to", form, *languages, *there, data=pairs).code == 0
    for path in middle:
        data = Path(path).read_bytes()
        lines = data.split(b"\n")
        for _ in range(chooser.choice((1, 1, 5, 40))):
            n = chooser.randrange(len(lines))
            lines[n] = mutated(chooser, lines[n], 200)
        Path(path).write_bytes(b"\n".join(lines))
    reject = ["--on-error", "reject", "--rejects", str(bench.folder / "rejects")]
    back = middle if form == "moses" else ["-i", *middle]
    to = chooser.choice([name for name in ("tsv", "tmx", "jsonl") if name != form])
    extra = ["--languages", "en,de"] if "tmx" in (to, form) else []
    keep = ["--keep", "1,x"] if form != "moses" and bench.chance(0.3) else []
    done = bench.run("bitext-convert", "--from", form, "--to", to, *extra, *keep, *reject, *back)
    assert done.code in (0, 65), done
    bench.counts["rows"] += 30


def embed(bench: Bench) -> None:
    """A row for each line, NaN for bad ones alone."""
    data, rows = lines(bench)
    file, array = bench.file(data), str(bench.folder / "array.npy")
    words = ["--language", "aa", "--model", str(models() / "toy"), "--on-error", "reject"]
    done = bench.run("bitext-embed", *words, "-i", file, "-o", array)
    assert done.code == 0, done
    vectors = np.load(array)
    bad = [not whole(cut(row)[0]) for row in rows]
    assert vectors.shape[0] == len(rows)
    assert (
        np.isnan(vectors).all(axis=1).tolist() == bad
        and np.isfinite(vectors[~np.array(bad, bool)]).all()
    )
    before = Path(array).read_bytes()
    options = bench.chooser.choice(
        (["--batch-size", "3"], ["--threads", "2"], ["--resume", str(bench.folder / "parts")])
    )
    bench.run("bitext-embed", *words, *options, "-i", file, "-o", array)
    assert Path(array).read_bytes() == before, options
    bench.counts["rows"] += len(rows)


def translate(bench: Bench) -> None:
    """A line for each line."""
    data, rows = lines(bench, min(bench.some(), 8))
    words = ["--model", str(models() / "translator"), "--on-error", "reject", "--threads", "1"]
    words += ["--max-length", "10"]
    done = bench.run("bitext-translate", *words, "--beam", "2", data=data)
    assert done.code == 0 and len(body(done.out)[1]) == len(rows), done
    again = bench.run("bitext-translate", *words, "--beam", "2", "--batch-size", "7", data=data)
    assert again.out == done.out
    ranked = bench.run("bitext-translate", *words, "--n-best", "2", data=data)
    numbers = [
        int(line.split(b"\t")[0]) for line in body(ranked.out.removeprefix(b"\xef\xbb\xbf"))[1]
    ]
    assert sorted(set(numbers)) == list(range(1, len(rows) + 1)), ranked
    bench.counts["rows"] += len(rows)


def segment(bench: Bench) -> None:
    """A line for each line; what was cut can be joined."""
    data, rows = lines(bench)
    kept = [row for row in rows if b"\0" not in row and whole(cut(row)[0], True)]
    data = b"".join(kept)
    pieces, merges = ["--vocabulary-size", "300"], ["--merges", "50"]
    kinds = {"unigram": pieces, "sentencepiece-bpe": pieces, "bpe": merges, "none": []}
    kind, size = bench.chooser.choice(list(kinds.items()))
    folder = str(bench.folder / "pieces")
    real = "".join(f"{s}\n{t}\n" for s, t in REAL).encode()
    learnt = bench.run(
        "bitext-segment learn", "--kind", kind, *size, "-o", folder, data=real + data
    )
    bench.counts["rows"] += len(kept)
    if learnt.code:
        return
    done = bench.run("bitext-segment apply", "--segmenter", folder, data=data)
    assert done.code == 0 and len(body(done.out)[1]) == len(body(data)[1]), done
    joined = bench.run("bitext-segment apply", "--segmenter", folder, "--join", data=done.out)
    assert joined.code == 0 and len(body(joined.out)[1]) == len(body(data)[1]), joined


def align(bench: Bench) -> None:
    """Pairs of lines that there are, with scores in order; threads change nothing."""
    sides = [lines(bench, min(bench.some(), 200)) for _ in range(2)]
    files = [bench.file(data) for data, _ in sides]
    words = [
        *files,
        "--model",
        str(models() / "toy"),
        "--on-error",
        "reject",
        "--min-score",
        "none",
    ]
    measure = bench.chooser.choice(("cosine", "csls", "ratio", "mlp", "joint"))
    words += ["--similarity", measure]
    done = bench.run("bitext-align", *words)
    assert done.code == 0, done
    known = [{cut(line)[0] for line in rows} for _, rows in sides]
    scores = []
    for line in body(done.out)[1] if not done.out.startswith(b"\xef\xbb\xbf") else ():
        source, target, value = cut(line)[0].split(b"\t")
        assert source in known[0] and target in known[1], line
        scores.append(float(value))
    assert scores == sorted(scores, reverse=True)
    again = bench.run("bitext-align", *words, "--threads", "2", "--batch-size", "3")
    assert again.out == done.out, again.words
    bench.counts["rows"] += sum(len(rows) for _, rows in sides)


def align_documents(bench: Bench) -> None:
    """Links in order, of every sentence once at most."""
    sides = [lines(bench, min(bench.some(), 60)) for _ in range(2)]
    files = [bench.file(data) for data, _ in sides]
    by = bench.chooser.choice(("model", "words", "length"))
    words = [*files, "--on-error", "reject", "--by", by, "--links"]
    words += ["--model", str(models() / "toy")] if by == "model" else []
    done = bench.run("bitext-align-documents", *words)
    assert done.code == 0, done
    last = [-1, -1]
    for line in done.out.decode().split("\n")[:-1]:
        for side, found in enumerate(re.findall(r"\[([0-9, ]*)\]", line)):
            for place in (int(word) for word in found.split(",") if word):
                assert last[side] < place < len(sides[side][1]), line
                last[side] = place
    bench.counts["rows"] += sum(len(rows) for _, rows in sides)


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


def paraphrase(bench: Bench) -> None:
    """Tables of phrases, or one clear line."""
    rows = table(bench, min(bench.some(), 200))
    kind = bench.chooser.choice(("lexicon", "analyse"))
    words = [*rows.words, "--on-error", "reject"]
    done = bench.run(f"bitext-paraphrase {kind}", *words, "-i", bench.file(rows.data))
    assert done.code in (0, 65), done
    done.out.decode()
    bench.counts["rows"] += len(rows.lines)


def language_model(bench: Bench) -> None:
    """A model that the rules can read, or one clear line."""
    data, rows = lines(bench, min(bench.some(), 200))
    unit = bench.chooser.choice(("tokens", "words", "characters"))
    arpa = str(bench.folder / "model.arpa")
    words = ["--unit", unit, "--on-error", "reject", "-o", arpa]
    learnt = bench.run("bitext-train-language-model", *words, "-i", bench.file(data))
    assert learnt.code in (0, 65), learnt
    bench.counts["rows"] += len(rows)
    if learnt.code == 0:
        pairs = table(bench, 50)
        rule = f"perplexity:maximum=50,source={arpa},target={arpa}"
        words = [*pairs.words, "--rule", rule, "--on-error", "reject", "--threads", "1"]
        assert bench.run("bitext-filter", *words, "-i", bench.file(pairs.data)).code == 0


def columns(bench: Bench) -> list[list[str]]:
    """Commands that read rows of a source, a target and a score."""
    toy = ["--model", str(models() / "toy")]
    return [
        ["bitext-fix", "--threads", "1"],
        ["bitext-filter", "--threads", "1", "--rule", "length", "--rule", "3>=0.5"],
        ["bitext-dedup", "--match", bench.chooser.choice(("exact", "normalised", "near"))],
        ["bitext-rank", "--column", "3"],
        ["bitext-rank", "--column", "3", "--top-words", "9", "--count", "characters"],
        ["bitext-noise", "--rate", "all=0.9", "--words", "1-10000000"],
        ["bitext-convert", "--to", "jsonl"],
        ["bitext-convert", "--to", "tmx", "--languages", "en,de"],
        ["bitext-score", "--threads", "1", *toy],
        ["bitext-report", "--column", "3"],
        ["bitext-paraphrase lexicon"],
        ["bitext-paraphrase analyse"],
    ]


NAMED: tuple[list[str], ...] = (
    ["bitext-rank", "--column", "3", "--min-score", "recommended"],
    ["bitext-rank", "--column", "mlp"],
    ["bitext-filter", "--threads", "1", "--rule", "mlp>=0.5"],
    ["bitext-filter", "--threads", "1", "--rule", "score:min=recommended"],
    ["bitext-report", "--column", "mlp", "--label", "-1"],
)


def headers(bench: Bench) -> None:
    """A header of any bytes is taken or refused with one line; rows follow it, or nothing."""
    chooser, hostile = bench.chooser, bench.hostile
    names = [b"source", b"target", b"mlp", b"label", b"1", b""]
    fields = [chooser.choice(names) for _ in range(chooser.randrange(6))]
    for place in range(len(fields)):
        if bench.chance(0.3):
            fields[place] = mutated(chooser, fields[place], hostile.longest)
    data = b"\t".join(fields) + chooser.choice((b"\n", b"\r\n"))
    data += hostile.lines(min(bench.some(), 50), hostile.pair)
    words = chooser.choice([*columns(bench), *NAMED])
    if bench.chance(0.3) and fields and b"\0" not in fields[0]:
        words = [*words, "--scol=" + os.fsdecode(fields[0])]
    file = bench.file(data)
    done = bench.run(
        " ".join(words[:1]), *words[1:], "--header", "--on-error", "reject", "-i", file
    )
    if done.code:
        assert done.out == b"" and done.err.count("\n") <= 3, done
    bench.counts["rows"] += data.count(b"\n") - 1


def long(bench: Bench) -> None:
    """A row of up to 1 MB is done within bounds of time and memory, and is whole."""
    chooser, bench.seconds = bench.chooser, 2.0
    size = int(10 ** chooser.uniform(4, 6))
    unit = chooser.choice(UNITS).encode()
    text = unit * (size // len(unit))
    if bench.chance(0.3):
        text = mutated(chooser, text, 100).replace(b"\t", b"").replace(b"\0", b"")
    sides = [text, b"one word"] if bench.chance(0.5) else [text, text + b" b"]
    chooser.shuffle(sides)
    data = b"\t".join([*sides, b"0.5"]) + b"\n" + "\t".join(REAL[0]).encode() + b"\t0.7\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words = chooser.choice(columns(bench))
    done = bench.run(words[0], *words[1:], "--on-error", "reject", "-i", bench.file(data))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert done.code == 0, done
    assert grown * 1024 < MEMORY + MEMORY_PER_BYTE * len(data), (grown, len(data), done.words)
    bench.counts["rows"] += 2
    bench.counts["long rows"] += 1


def together(bench: Bench) -> None:
    """Several files, packed or not, are one."""
    rows = table(bench)
    if rows.header or rows.bom:
        return
    place = bench.chooser.randrange(len(rows.lines) + 1)
    halves = [b"".join(rows.lines[:place]), b"".join(rows.lines[place:])]
    if halves[0] and not halves[0].endswith(b"\n"):
        return
    packed = bench.file(gzip.compress(halves[1]), "second.gz")
    toy = str(models() / "toy")
    words = bench.chooser.choice(
        (
            ["bitext-score", "--model", toy, "--threads", "1"],
            ["bitext-filter", "--threads", "1", "--explain"],
            ["bitext-rank", "--column", "3"],
            ["bitext-dedup"],
        )
    )
    reject = ["--on-error", "reject", *rows.words]
    one = bench.run(words[0], *words[1:], *reject, "-i", bench.file(rows.data))
    two = bench.run(words[0], *words[1:], *reject, bench.file(halves[0]), packed)
    assert (one.code, two.code) == (0, 0), (one, two)
    assert one.out == two.out, (two.words, difference(one.out, two.out))
    bench.counts["rows"] += len(rows.lines)


ATTACKS: dict[Attack, int] = {
    score: 3,
    fix: 5,
    filter_: 8,
    dedup: 4,
    rank: 4,
    noise: 3,
    convert: 4,
    misread: 2,
    embed: 2,
    translate: 1,
    segment: 1,
    align: 1,
    align_documents: 1,
    report: 1,
    evaluate: 3,
    paraphrase: 1,
    language_model: 1,
    headers: 4,
    long: 2,
    together: 2,
}
"""Each attack, and how often it is drawn."""


def attack(chooser: Random, folder: Path, attacks: int, rows: int) -> Counter[str]:
    """Run some attacks here, each in an empty folder."""
    counts: Counter[str] = Counter()
    for place in range(attacks):
        (chosen,) = chooser.choices(list(ATTACKS), list(ATTACKS.values()))
        longest = chooser.choice((10, 300, 2000, 10000))
        (folder / str(place)).mkdir()
        bench = Bench(chooser, folder / str(place), rows, longest)
        chosen(bench)
        counts += bench.counts
        (folder / "command").write_text(chosen.__name__)
    return counts


def apart(function: Callable[[], Counter[str]], folder: Path) -> Counter[str]:
    """Run a function in a process of its own, which cannot hang, and return its counts."""
    answer = folder / "answer"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads only wait
        child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(function()))
        except BaseException as error:  # noqa: BLE001 (told by the parent)
            (folder / "error").write_text("".join(traceback.format_exception(error)))
        finally:
            os._exit(0)
    end = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"hangs: {commands(folder)}")
        time.sleep(0.01)
    if (folder / "error").exists():
        raise AssertionError((folder / "error").read_text())
    assert answer.exists(), f"died: {commands(folder)}"
    return Counter(json.loads(answer.read_text()))


def commands(folder: Path) -> str:
    """The latest command of each attack."""
    return "\n".join(os.fsdecode(path.read_bytes()) for path in sorted(folder.rglob("command")))


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """Send some thousand hostile rows through a few commands."""
    models()
    return apart(lambda: attack(chooser, folder, 4, 1000), folder)
