"""Long, wide and huge rows: whole, and within bounds of time and memory."""

from __future__ import annotations

import resource

from bench import Bench, Ran, body, cut, models
from fuzz_rows import columns, rules
from hostile import REAL, UNITS, mutated

MEMORY, MEMORY_PER_BYTE = 300e6, 100
"""Memory that a long row may take: so many bytes, and so many for each byte of it."""

VECTORS_PER_BYTE = 1000
"""Of a line of distinct words, whose words get vectors of 2 KB."""

HUGE_SECONDS, HUGE_MEMORY = 60.0, 2e9
"""Of a row of 50 MB."""

REJECT = ["--on-error", "reject"]
LANGUAGES = ["--languages", "en,de"]


def lengthy(bench: Bench, size: int) -> bytes:
    """A text of *size* bytes or so: a unit repeated, distinct words, or real text."""
    chooser = bench.chooser
    kind = chooser.random()
    if kind < 0.6:
        unit = chooser.choice(UNITS).encode()
        text = unit * (size // len(unit))
    elif kind < 0.8:
        words = (b"%x" % chooser.randrange(1 << 32) for _ in range(size // 9))
        text = b" ".join(words)
    else:
        real = " ".join(sentence for pair in chooser.sample(REAL, 40) for sentence in pair)
        text = (real.encode() + b" ") * (size // len(real))
    if bench.chance(0.3):
        text = mutated(chooser, text, 100).replace(b"\t", b"").replace(b"\0", b"")
    return text


def measured(bench: Bench, size: int, words: list[str]) -> Ran:
    """Run a command on *size* bytes, and look at its memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = bench.run(words[0], *words[1:])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    per_byte = VECTORS_PER_BYTE if "words" in words else MEMORY_PER_BYTE
    assert grown < MEMORY + per_byte * size, (grown, size, done.words)
    bench.counts["long rows"] += 1
    return done


def pairs(bench: Bench) -> None:
    """A row of up to 1 MB is done within bounds of time and memory."""
    chooser, bench.seconds = bench.chooser, 2.0
    text = lengthy(bench, int(10 ** chooser.uniform(4, 6)))
    sides = [text, b"one word"] if bench.chance(0.5) else [text, text + b" b"]
    chooser.shuffle(sides)
    data = b"\t".join([*sides, b"0.5"]) + b"\n" + "\t".join(REAL[0]).encode() + b"\t0.7\n"
    filter_ = ["bitext-filter", "--threads", "1", *LANGUAGES]
    lines = [
        *columns(bench),
        [*filter_, "--rule", "default"],
        [*filter_, *rules(bench)],
        [*filter_, *rules(bench), "--explain"],
    ]
    words = chooser.choice(lines)
    done = measured(bench, len(data), [*words, *REJECT, "-i", bench.file(data)])
    assert done.code == 0, done
    bench.counts["rows"] += 2


def texts(bench: Bench) -> None:
    """So is a line of a text."""
    chooser, bench.seconds = bench.chooser, 2.0
    text = lengthy(bench, int(10 ** chooser.uniform(4, 6)))
    short = "\n".join(source for source, _ in chooser.sample(REAL, 5)).encode() + b"\n"
    data = short + text + b"\n"
    file, other = bench.file(data), bench.file(short + b"a b c\n")
    toy, out = str(models() / "toy"), str(bench.folder / "out")
    words = chooser.choice(
        (
            ["bitext-align", file, other, "--model", toy, "--min-score", "none", *REJECT],
            ["bitext-align", other, file, "--model", toy, "--similarity", "csls", *REJECT],
            ["bitext-align-documents", file, other, "--by", "length", *REJECT],
            ["bitext-align-documents", file, other, "--by", "words", *REJECT],
            ["bitext-align-documents", file, other, "--by", "model", "--model", toy, *REJECT],
            ["bitext-align-documents", file, other, "--split", "en,de", "--by", "length", *REJECT],
            ["bitext-embed", "--model", toy, "--language", "aa", "-o", out, file, *REJECT],
            ["bitext-segment apply", "--segmenter", toy, "-i", file],
            ["bitext-segment learn", "--kind", "bpe", "--merges", "9", "-o", out, file],
            ["bitext-evaluate neighbours", file, "--of", other, "--model", toy, *REJECT],
            ["bitext-train-language-model", "-i", file, "-o", out, *REJECT],
            [
                *("bitext-translate", "--model", str(models() / "translator")),
                *("--max-length", "9", "-i", file, *REJECT),
            ],
        )
    )
    done = measured(bench, len(data), words)
    assert done.code in ((0, 65) if "learn" in words[0] else (0,)), done
    bench.counts["rows"] += data.count(b"\n")


def wide(bench: Bench) -> None:
    """Rows of thousands of columns keep them all; the columns in use may lie anywhere."""
    chooser = bench.chooser
    width = int(10 ** chooser.uniform(3, 3.7))
    source, target = chooser.sample(range(width - 1), 2)
    words = ["--scol", str(chooser.choice((source + 1, source - width)))]
    words += ["--tcol", str(chooser.choice((target + 1, target - width)))]
    lines = []
    for _ in range(chooser.choice((1, 20))):
        row = [chooser.choice((b"", b"x", b"\xff", b"0.5"))] * width
        for _ in range(9):
            row[chooser.randrange(width)] = mutated(chooser, b"other", 50)
        row[source], row[target] = (text.encode() for text in chooser.choice(REAL))
        row[-1] = b"%.3f" % chooser.random()
        lines.append(b"\t".join(text.replace(b"\t", b" ") for text in row) + b"\n")
    by_score = ["--column", chooser.choice(("-1", str(width)))]
    score = ["bitext-score", "--threads", "1", "--model", str(models() / "toy")]
    command = chooser.choice(
        (
            ["bitext-fix", "--threads", "1"],
            [*("bitext-filter", "--threads", "1", "--rule", f"{width}>=0", "--explain")],
            ["bitext-rank", *by_score, "--order", "input"],
            ["bitext-dedup", "--by", "source"],
            ["bitext-noise", "--rate", "all=0.000001"],
            [*score, "--no-column-check"],
        )
    )
    data = b"".join(lines)
    done = bench.run(command[0], *command[1:], *words, "-i", bench.file(data))
    assert done.code == 0, done
    kept = {line.split(b"\t")[source] for line in lines} if "dedup" in command[0] else lines
    found = body(done.out)[1]
    assert len(found) == len(kept), done.words
    added = bool({"--explain", "--rate", "--model"} & set(command))
    aside = [place for place in range(width) if place not in (source, target)]
    before = [cut(line)[0].split(b"\t") for line in lines]
    known = {tuple(fields[place] for place in aside) for fields in before}
    for line in found:
        fields = cut(line)[0].split(b"\t")
        assert len(fields) == width + added, done.words
        assert tuple(fields[place] for place in aside) in known, done.words
    bench.counts["rows"] += len(lines)
    bench.counts["wide rows"] += len(lines)


def huge(bench: Bench) -> None:
    """A row of up to 50 MB is done within a minute and 2 GB."""
    chooser, bench.seconds = bench.chooser, HUGE_SECONDS
    size = int(10 ** chooser.uniform(6.3, 7.7))
    data = lengthy(bench, size) + b"\ta translation\t0.5\n"
    command = chooser.choice(
        (
            ["bitext-fix", "--threads", "1"],
            ["bitext-filter", "--threads", "1", "--rule", "default", *LANGUAGES],
            ["bitext-rank", "--column", "3"],
            ["bitext-dedup", "--match", chooser.choice(("exact", "normalised", "near"))],
            ["bitext-convert", "--to", "jsonl"],
            ["bitext-convert", "--to", "tmx", *LANGUAGES],
            ["bitext-score", "--threads", "1", "--model", str(models() / "toy")],
        )
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = bench.run(command[0], *command[1:], *REJECT, "-i", bench.file(data))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert done.code == 0 and grown < HUGE_MEMORY, (grown, len(data), done._replace(out=b""))
    bench.counts["rows"] += 1
    bench.counts["huge rows"] += 1
