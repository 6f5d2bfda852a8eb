"""Rows in other formats, below hostile headers, in several files."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from xml.sax.saxutils import escape

from bench import (
    Bench,
    body,
    check_rejects,
    cut,
    difference,
    models,
    rejects,
    table,
    texts,
)
from fuzz_rows import columns
from hostile import BOM, REAL, mutated


def convert(bench: Bench) -> None:
    """To another format and back: the same pairs, but for those rejected."""
    rows, chooser = table(bench), bench.chooser
    if rows.places[0] % 4 == rows.places[1] % 4:
        return
    form = chooser.choice(("moses", "tmx", "jsonl", "parquet"))
    if form == "parquet" and rows.header:
        return  # whose names may exclude each other
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
    if form == "moses" and want and want[0][1].startswith(BOM):
        return  # a mark at the start of a file is no text
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
    form = chooser.choice(("tmx", "jsonl", "moses", "csv", "parquet"))
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
    to = chooser.choice([name for name in ("tsv", "tmx", "jsonl", "csv") if name != form])
    extra = ["--languages", "en,de"] if "tmx" in (to, form) else []
    keep = ["--keep", "1,x"] if form in ("tmx", "jsonl") and bench.chance(0.3) else []
    done = bench.run("bitext-convert", "--from", form, "--to", to, *extra, *keep, *reject, *back)
    assert done.code in (0, 65), done
    if form == "parquet":
        named = Path(middle[0]).rename(f"{middle[0]}.parquet")
        words = ["--rule", "length", *reject[:2], "-i", str(named), "--threads", "1"]
        assert bench.run("bitext-filter", *words).code in (0, 65)
    bench.counts["rows"] += 30


def _catalogue() -> str:
    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    head = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
    return head + "".join(
        f"#: {n}.c\nmsgid {quoted(s)}\nmsgstr {quoted(t)}\n\n" for n, (s, t) in enumerate(REAL[:30])
    )


def _xliff() -> str:
    units = "".join(
        f'<trans-unit id="{n}"><source>{escape(s)} <g id="1">x</g><ph id="2">y</ph></source>\n'
        f"<target>{escape(t)}</target></trans-unit>\n"
        for n, (s, t) in enumerate(REAL[:30])
    )
    file = f'<file source-language="en" target-language="de"><body>{units}</body></file>'
    return f'<?xml version="1.0"?>\n<xliff version="1.2">{file}</xliff>'


def _subtitles() -> str:
    times = [f"00:00:{n:02},000 --> 00:00:{n:02},900" for n in range(30)]
    return "".join(
        f"{n}\n{time}\n{text}\n\n"
        for n, (time, (text, _)) in enumerate(zip(times, REAL, strict=False))
    )


WRITTEN = {"po": _catalogue, "xliff": _xliff, "srt": _subtitles}


def foreign(bench: Bench) -> None:
    """Damaged files of formats that are only read: pairs, or rejects, or one clear line."""
    chooser = bench.chooser
    form = chooser.choice(sorted(WRITTEN))
    paths = []
    for _ in range(1 + (form == "srt")):
        lines = WRITTEN[form]().encode().split(b"\n")
        for _ in range(chooser.choice((0, 1, 1, 5))):
            n = chooser.randrange(len(lines))
            lines[n] = chooser.choice((mutated(chooser, lines[n], 200), chooser.choice(lines), b""))
        paths.append(bench.file(b"\n".join(lines)))
    to = chooser.choice(("tsv", "jsonl", "csv", "parquet"))
    there = ["-o", str(bench.folder / "there.parquet")] if to == "parquet" else []
    reject = ["--on-error", "reject", "--rejects", str(bench.folder / "rejects")]
    done = bench.run("bitext-convert", "--from", form, "--to", to, *reject, *there, *paths)
    assert done.code in (0, 65), done
    if done.code == 0 and to == "tsv":
        out = done.out.count(b"\n")
        assert out + len(rejects(str(bench.folder / "rejects"))) > 0, done
    bench.counts["rows"] += 30


NAMED: tuple[list[str], ...] = (
    ["bitext-rank", "--column", "3", "--min-score", "balanced"],
    ["bitext-rank", "--column", "mlp"],
    ["bitext-filter", "--threads", "1", "--rule", "mlp>=0.5"],
    ["bitext-filter", "--threads", "1", "--rule", "score:min=strict"],
    ["bitext-report", "--column", "mlp", "--label", "-1"],
    ["bitext-report", "--column", "mlp", "--reasons", "-1"],
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
    named = [os.fsdecode(field) for field in fields if b"\0" not in field]
    for option in ("--scol", "--tcol", *["--column"] * ("--column" in words)):
        if bench.chance(0.3) and named:
            words = [*words, f"{option}={chooser.choice(named)}"]
    file = bench.file(data)
    done = bench.run(
        " ".join(words[:1]), *words[1:], "--header", "--on-error", "reject", "-i", file
    )
    if done.code:
        assert done.out == b"" and done.err.count("\n") <= 3, done
    bench.counts["rows"] += data.count(b"\n") - 1


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
