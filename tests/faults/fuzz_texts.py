"""Hostile sentences through the commands that read texts."""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from bench import Bench, Ran, body, cut, lines, models, whole
from hostile import REAL


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
    assert done.code == 0 and done.out.count(b"\n") == data.count(b"\n"), done
    joined = bench.run("bitext-segment apply", "--segmenter", folder, "--join", data=done.out)
    assert joined.code == 0 and joined.out.count(b"\n") == data.count(b"\n"), joined


def align(bench: Bench) -> None:
    """Pairs of lines that there are, with scores in order; threads change nothing."""
    chooser = bench.chooser
    sides = [lines(bench, min(bench.some(), 200)) for _ in range(2)]
    files = [bench.file(data) for data, _ in sides]
    words = ["--model", str(models() / "toy"), "--on-error", "reject", "--min-score", "none"]
    words += ["--similarity", chooser.choice(("cosine", "csls", "ratio", "mlp", "joint"))]
    words += ["--retrieval", chooser.choice(("forward", "backward", "intersect", "max"))]
    words += [
        "--dtype", chooser.choice(("float16", "float32", "int8")), "-k", chooser.choice("149"),
    ]  # fmt: skip
    words += ["--keep-duplicates"] * bench.chance(0.2)
    index = chooser.choice(("auto", "exact", "clusters", "flat", "ivf", "ivf-sq8", "ivf-pq"))
    done = bench.run("bitext-align", *files, *words, "--index", index)
    assert done.code == 0, done
    mined(done, sides)
    again = bench.run("bitext-align", *files, *words, "--threads", "2", "--batch-size", "3")
    assert again.out == done.out, again.words
    bench.counts["rows"] += sum(len(rows) for _, rows in sides)


def mined(done: Ran, sides: list[tuple[bytes, list[bytes]]], ordered: bool = True) -> None:
    """Each pair is of lines that there are; the best come first."""
    known = [{cut(line)[0] for line in rows} for _, rows in sides]
    scores = []
    for line in body(done.out)[1] if not done.out.startswith(b"\xef\xbb\xbf") else ():
        source, target, value = cut(line)[0].split(b"\t")
        assert source in known[0] and target in known[1], line
        scores.append(float(value))
    assert not ordered or scores == sorted(scores, reverse=True)


def indexed(bench: Bench) -> None:
    """An index of one side finds what a run over both finds, and streams in order."""
    sides = [lines(bench, min(bench.some(), 100)) for _ in range(2)]
    files, index = [bench.file(data) for data, _ in sides], str(bench.folder / "index")
    words = ["--model", str(models() / "toy"), "--on-error", "reject", "--min-score", "none"]
    words += ["--similarity", bench.chooser.choice(("cosine", "mlp"))]
    words += ["--retrieval", "forward"]
    saved = bench.run("bitext-align", *files, *words, "--index-save", index)
    assert saved.code in (0, 65), saved  # 65: no line of the target is good
    bench.counts["rows"] += sum(len(rows) for _, rows in sides)
    if saved.code:
        return
    mined(saved, sides)
    loaded = bench.run("bitext-align", files[0], *words, "--index-load", index)
    assert loaded.code == 0 and sorted(body(loaded.out)[1]) == sorted(body(saved.out)[1]), loaded
    stream = [files[0], *words[:-2], "--index-load", index, "--stream"]
    streamed = bench.run("bitext-align", *stream)
    assert streamed.code == 0, streamed
    mined(streamed, sides, False)
    again = bench.run("bitext-align", *stream, "--batch-size", "3")
    assert again.out == streamed.out, again.words


def align_documents(bench: Bench) -> None:
    """Links in order, of every sentence once at most."""
    sides = [lines(bench, min(bench.some(), 60)) for _ in range(2)]
    files = [bench.file(data) for data, _ in sides]
    by = bench.chooser.choice(("model", "words", "length"))
    words = [*files, "--on-error", "reject", "--by", by, "--links"]
    words += ["--model", str(models() / "toy")] if by == "model" else []
    words += ["--classifier"] * (by == "model" and bench.chance(0.3))
    words += (
        ["--largest", bench.chooser.choice("258")] if by != "length" and bench.chance(0.3) else []
    )
    skip = by != "length" and bench.chance(0.3)
    words += ["--skip", bench.chooser.choice(("0", "0.3", "5"))] if skip else []
    name = bench.chooser.choice(("bitext-align-documents", "bitext-align --monotonic"))
    done = bench.run(name, *words)
    assert done.code == 0, done
    last = [-1, -1]
    for line in done.out.decode().split("\n")[:-1]:
        for side, found in enumerate(re.findall(r"\[([0-9, ]*)\]", line)):
            for place in (int(word) for word in found.split(",") if word):
                assert last[side] < place < len(sides[side][1]), line
                last[side] = place
    bench.counts["rows"] += sum(len(rows) for _, rows in sides)
    if name == "bitext-align-documents":
        chunks(bench, [word for word in words if word != "--links"], done.out)


def chunks(bench: Bench, words: list[str], links: bytes) -> None:
    """Each line that is linked is in one chunk, none in two, and rows have their columns."""
    most = bench.chooser.choice(("1", "20", "256"))
    hole = bench.chooser.choice(("0", "2"))
    form = ["--as", "paragraphs", "--most-words", most, "--hole", hole]
    done = bench.run("bitext-align-documents", *words, *form)
    assert done.code == 0, done
    rows = [row.split("\t") for row in done.out.decode().split("\n")[:-1]]
    for side in (0, 1):
        spans = [tuple(map(int, row[6 + side].split(":"))) for row in rows]
        assert all(len(row) == 11 and row[side] for row in rows), done
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), done
        for line in links.decode().split("\n")[:-1]:
            numbers, score = line.split(":")[side], line.split(":")[2]
            for place in map(int, numbers.strip("[]").split(",") if score else ()):
                assert sum(first <= place < end for first, end in spans) == 1, done
    for other in ("documents", "jsonl"):
        done = bench.run("bitext-align-documents", *words, "--as", other)
        assert done.code == 0, done
        assert len(done.out.decode().split("\n")) <= 2, done


PAGE_HEADS = (b"<!doctype html>", b"<html><body><p>", b"<?xml version='1.0'?><html>", b"")


def pair_documents(bench: Bench) -> None:
    """Pairs of documents that are there, each once at most; the same for any window."""
    folders, names = [], []
    for _ in range(2):
        folder = Path(tempfile.mkdtemp(dir=bench.folder))
        for number in range(bench.chooser.randint(1, 8)):
            head = bench.chooser.choice(PAGE_HEADS) if bench.chance(0.3) else b""
            (folder / f"{number}").write_bytes(head + lines(bench, min(bench.some(), 20))[0])
        folders.append(str(folder))
        names.append({f"{folder}/{path.name}" for path in folder.iterdir()})
    if bench.chance(0.3):
        Path(folders[0], "up").symlink_to(folders[0])
    words = [*folders, "--keep-going", "--on-error", "reject", "--min-score", "none"]
    words += ["--model", str(models() / "toy"), *(["--split", "en,de"] * bench.chance(0.3))]
    done = bench.run("bitext-pair-documents", *words)
    if done.code == 65:  # a side has no document at all
        assert "no documents" in done.err, done
        return
    assert done.code == 0, done
    rows = [line.split("\t") for line in done.out.decode().splitlines()]
    for side in (0, 1):
        found = [row[side] for row in rows]
        assert len(set(found)) == len(found) and set(found) <= names[side], done
    again = bench.run("bitext-pair-documents", *words, "--batch-size", "3")
    assert again.out == done.out, again.words
    bench.counts["rows"] += len(rows)
