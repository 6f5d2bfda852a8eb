"""Hostile rows through the commands that give rows out again."""

from __future__ import annotations

import io
import re
from math import isnan
from pathlib import Path

import numpy as np
from bench import (
    Bench,
    Table,
    attempt,
    body,
    check_kept,
    check_rejects,
    cut,
    difference,
    done_rejects,
    good,
    models,
    number,
    rejects,
    steady,
    table,
    texts,
)

ODD = (0.2, 0.3, 0.3, 0.1, 0.05, 0.05)
"""How often each number is in given vectors."""

FILTERS = Path(__file__).parents[1] / "filters"


def score(bench: Bench) -> None:
    """A line for each line, in order, with empty scores for bad rows alone."""
    chooser = bench.chooser
    shipped = bench.chance(0.1)
    model = "en-de" if shipped else str(models() / chooser.choice(("toy", "words")))
    known = ["mlp", "cosine", "euclidean", "csls", "ratio", "distance"]
    measures = chooser.sample(known, chooser.randrange(1, 4))
    scored(bench, table(bench), measures, ["--model", model])


def judges(bench: Bench) -> None:
    """The same, by translators and language models."""
    rows, toys = table(bench, min(bench.some(), 60)), models()
    known = ["translation", "dual", "language-model", "log-linear"]
    measures = bench.chooser.sample(known, bench.chooser.randrange(1, 4))
    words = ["--no-column-check"]
    if measures != ["language-model"]:
        both = {"dual", "log-linear"} & set(measures)
        words += ["--translator", f"{toys / 'translator'}" + f",{toys / 'back'}" * bool(both)]
    if {"language-model", "log-linear"} & set(measures):
        words += ["--language-models", f"{FILTERS / 'one.arpa'},{FILTERS / 'two.arpa'}"]
    scored(bench, rows, measures, words)


def scored(bench: Bench, rows: Table, measures: list[str], more: list[str]) -> None:
    """Score rows by *measures*, with *more* options."""
    digits = bench.chooser.randrange(10)
    words = [*rows.words, *more, "--similarity", ",".join(measures), "--digits", str(digits)]
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
    others = [[*parts, str(bench.chooser.choice((7, 1000)))], ["--threads", "2"]]
    others.append(["--cache", str(bench.folder / "cache")])
    reject = [*words, "--on-error", "reject"]
    steady(bench, "bitext-score", reject, done.words[-1], done.out, *others)


def fix(bench: Bench) -> None:
    """Only the two columns change, and a second run changes nothing."""
    from bitextfilter.corpus.repair import REPAIRS

    rows, names = table(bench), list(REPAIRS)
    chosen = bench.chooser.sample(names, bench.chooser.randrange(len(names) + 1))
    words = [*rows.words, "--threads", "1"]
    words += [word for name in chosen for word in ("--with", name)]
    if bench.chance(0.3) and chosen:
        words = [word.replace("--with", "--only") for word in words]
    words += ["--languages", "en,de"] * ("typography" in chosen)
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


def clean(bench: Bench) -> None:
    """Rows are kept in order, with a score, or set aside as they were."""
    rows, chooser = table(bench, min(bench.some(), 300)), bench.chooser
    words = [*rows.words, "--model", str(models() / "words"), "--threads", "1"]
    words += ["--min-score", chooser.choice(("0", "0.5")), "--rule", "length", "--rule", "empty"]
    words += ["--match", chooser.choice(("exact", "normalised", "none"))]
    if rows.places[0] == rows.places[1]:
        return
    done = attempt(bench, "bitext-clean", [*words, "--on-error", "stop"], rows, True)
    if done is None:
        return
    out = {number for number, _, _ in rejects(done_rejects(done))}
    check_rejects(done_rejects(done), rows, sorted(out))
    kept = [line for n, line in enumerate(rows.lines, rows.first) if n not in out]
    bom, lines = body(done.out)
    lines = lines[bool(rows.header) :]
    assert bom == rows.bom and len(lines) == len(kept), done
    for line, row in zip(lines, kept, strict=True):
        (text, end), (was, ending) = cut(line), cut(row)
        fields, before = text.split(b"\t"), was.split(b"\t")
        assert 0 <= float(fields.pop()) <= 1 and end == (ending or b"\n"), line
        for place in rows.places:
            fields[place] = before[place]
        assert fields == before, (line, row)
    reject = [word for word in words if word != "stop"]
    steady(bench, "bitext-clean", [*reject, "--on-error", "reject"], done.words[-1], done.out)


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
            "--top-lines 3", "--top-words 100", "--top-fraction 0.3", "", "", "--min-score 0.5",
            "--min-score -inf", "--fold 2/3", "--sample 9",
            "--top-words 50 --count characters --count-side both",
        )
    )  # fmt: skip
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
    found = list(io.BytesIO(done.out[len(head) :]))  # the first may begin with U+FEFF, as text
    if ordered:
        assert found == lines, difference(b"".join(found), b"".join(lines))
        return
    scores = [number(line.split(b"\t")[2]) for line in lines]
    order = sorted(range(len(lines)), key=lambda i: (isnan(scores[i]), -scores[i]))
    assert [cut(line)[0] for line in found] == [cut(lines[i])[0] for i in order], done.words


def sample(bench: Bench) -> None:
    """Some rows in their order; with given vectors, finite or not, as well."""
    rows, chooser = table(bench), bench.chooser
    how = chooser.choice(("--top-lines 9", "--top-words 60", "--drop-similar 0.8", "--clusters 3"))
    words = [*rows.words, "--column", "3", *how.split(), "--top-fraction", "0.5"]
    folder = bench.folder
    if bench.chance(0.5):
        draw = np.random.default_rng(chooser.randrange(99))
        vectors = draw.choice([0, 1, -2.5, 1e38, 1e-38, np.nan], (len(rows.lines), 3), p=ODD)
        np.save(folder / "some.npy", vectors.astype(np.float32))
        for side in ("source", "target"):
            words += [f"--{side}-vectors", str(folder / "some.npy")]
    else:
        words += ["--model", str(models() / "toy")]
    reject = ["--on-error", "reject", "--rejects", str(folder / "rejects")]
    file = bench.file(rows.data)
    done = bench.run("bitext-sample", *words, *reject, "-i", file)
    assert done.code == 0, done
    bench.counts["rows"] += len(rows.lines)
    out = {n for n, _, _ in rejects(done_rejects(done))}
    kept = [line for n, line in enumerate(rows.lines, rows.first) if n not in out]
    found = done.out.removeprefix(rows.bom + rows.header)
    assert found == b"".join(kept), difference(found, b"".join(kept))
    plain = [*words, "--on-error", "reject"]
    steady(bench, "bitext-sample", plain, file, done.out, ["--threads", "2"], ["--batch-size", "7"])


def noise(bench: Bench) -> None:
    """Good rows in their order, with a label; columns aside are as they were."""
    from bitextfilter.damage.noise import NOISE_KINDS

    rows, chooser = table(bench), bench.chooser
    foreign = bench.file("Une phrase en français pour essayer.\n".encode() * 20)
    words = [*rows.words, "--languages", "en,de", "--foreign", foreign]
    words += ["--related", bench.file(b"en\tdog\tcat\nde\tund\toder\n")]
    words += ["--lexicon", bench.file(b"the\tder\ndog\tHund\nand\tund\n")]
    kinds = ["all=0.9", "mistakes=0.9", f"{chooser.choice(list(NOISE_KINDS))}=1"]
    words += ["--rate", chooser.choice(kinds)]
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
