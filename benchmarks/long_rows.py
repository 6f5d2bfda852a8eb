"""Time and memory of whole commands on one long row of hostile text.

    python benchmarks/long_rows.py --bytes 1000000
    python benchmarks/long_rows.py score fix --texts words letter --sides one --bytes 50000000

A file has a few short pairs and one long, by both sides or by one. Each command reads it in a
process of its own. The table has the seconds of the processor and the megabytes above the same
command on the short pairs alone; the worst texts of each command.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import resource
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # processes fork, which several threads do not survive
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.long_lines import mixed, rules, text
from bitextfilter.filters.registry import RULES

PAIRS = Path(__file__).parents[1] / "examples" / "pairs.en-de.tsv"


def drawn(signs: str) -> Callable[[int, random.Random], str]:
    """A maker of texts of random signs."""

    def make(size: int, chooser: random.Random) -> str:
        width = len(signs.encode()) / len(signs)
        return "".join(chooser.choices(signs, k=int(size / width)))

    return make


def repeated(unit: str) -> Callable[[int, random.Random], str]:
    """A maker of texts that repeat a unit."""
    return lambda size, _: text(unit, size)


def letters(first: int, last: int) -> str:
    """Signs between two code points that are letters or marks."""
    return "".join(map(chr, range(first, last + 1)))


WORD = "aabcdeeefghiiklmnoorstuäöß"
DATE = "on 3 May 2020, 4.3.2021 and am 17. März 1999 at 5 p.m., "
LINK = "https://www.example.org/a/b?c=d&e=f#g www.example.com x.y@example.de "

TEXTS: dict[str, Callable[[int, random.Random], str]] = {
    "words": drawn(WORD + " " * 4),
    "word": drawn(WORD),
    "letter": repeated("a"),
    "pairs of letters": repeated("a b "),
    "digits": drawn("0123456789"),
    "numbers": drawn("0123456789" + " " * 3),
    "marks": drawn(".,;:!?-()[]{}'\"«»„“…&<>/%$€@#*+=|~^"),
    "mixed": lambda size, chooser: mixed(size, chooser.randrange(99)).replace("\t", " "),
    "real": repeated(PAIRS.read_text("utf-8").replace("\t", " ").replace("\n", " ")),
    "dates": repeated(DATE),
    "links": repeated(LINK),
    "Chinese": drawn(letters(0x4E00, 0x9FA5) + "，。" * 300),
    "Thai": drawn(letters(0x0E01, 0x0E3A) + letters(0x0E40, 0x0E4E)),
    "emoji": drawn(letters(0x1F600, 0x1F64F) + "\u200d\ufe0f"),
}
"""Makers of texts of some bytes."""


SEGMENTERS = {"unigram": "--vocabulary-size 400", "bpe": "--merges 300", "morfessor": ""}
"""Kinds of segmenters, and their size."""


class Files(NamedTuple):
    """The same pairs as a TSV and as two files of sentences."""

    pairs: Path
    source: Path
    target: Path


def files(folder: Path, long: Sequence[str]) -> Files:
    """Write short pairs, and then one more if *long* has its sides."""
    rows = [line.split("\t")[:2] for line in PAIRS.read_text("utf-8").split("\n")[:20]]
    rows += [list(long)] if long else []
    found = Files(folder / "pairs.tsv", folder / "source.txt", folder / "target.txt")
    kinds = zip(rows, cycle(("clean", "noise")), strict=False)
    found.pairs.write_text("".join(f"{s}\t{t}\t0.5\t{kind}\n" for (s, t), kind in kinds), "utf-8")
    for side, path in enumerate(found[1:]):
        path.write_text("".join(row[side] + "\n" for row in rows), "utf-8")
    return found


def models(folder: Path) -> None:
    """Make segmenters, untrained encoders and translators of usual sizes."""
    import torch

    from bitextfilter.encoders.registry import ENCODERS
    from bitextfilter.models.folders import writing_folder
    from bitextfilter.text.normalise import Normalisation
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.text.segment import SegmenterSettings
    from bitextfilter.translation.translator import TRANSLATORS

    torch.set_num_threads(1)
    rows = [line.split("\t")[:2] for line in PAIRS.read_text("utf-8").splitlines()]
    sides = [row[0] for row in rows] * 9, [row[1] for row in rows] * 9
    for kind, size in SEGMENTERS.items():
        words = f"bitext-segment learn {PAIRS} --kind {kind} {size} -o {folder / kind}"
        assert run(words, {"out": str(folder / kind)}, 100).code == 0
    for name in ("autoencoder", "gran", "word+lstm", "translator"):
        registry: Any = TRANSLATORS if name == "translator" else ENCODERS
        kind = "transformer" if name == "translator" else name
        processor = TextProcessor.learn(
            sides, ("en", "de"), Normalisation(), SegmenterSettings("unigram", 400)
        )
        settings = registry.settings(kind, {})
        network = registry.build(kind, settings, processor.sizes())
        with writing_folder(folder / name) as draft:
            registry.save(draft, (kind, settings), network, processor)


def filtered(specs: dict[str, str]) -> str:
    """A command that filters by rules."""
    words = " ".join(f"--rule {shlex.quote(spec)}" for spec in specs.values())
    return f"bitext-filter -i {{pairs}} --threads 1 --languages en,de {words}"


def commands() -> dict[str, str]:
    """The command lines by name; braces stand for files, {out} for a new one."""
    every = {name: spec for name, spec in rules().items() if name in RULES}
    every |= {name: f"{name}:column=3,minimum=0" for name in ("column",)}
    every |= {name: f"{name}:column=3" for name in ("translation-cost", "reference-probability")}
    del every["paraphrase-score"]
    found = {"filter all rules": filtered(every), "filter": filtered({"default": "default"})}
    for name in ("py3langid", "cld2", "lingua"):
        found[f"filter {name}"] = filtered({name: f"language:identifier={name}"})
    for model in ("en-de", "en-fr", "{models}/autoencoder", "{models}/gran", "{models}/word+lstm"):
        name = model.split("/")[-1]
        found[f"score {name}"] = f"bitext-score -i {{pairs}} --threads 1 --model {model}"
    found |= {
        "score cosine": "bitext-score -i {pairs} --threads 1 --similarity cosine,csls",
        "score translator": "bitext-score -i {pairs} --threads 1 --similarity translation"
        " --translator {models}/translator",
        "fix": "bitext-fix -i {pairs} --threads 1",
        "rank": "bitext-rank -i {pairs} --column 3 --top-words 99999999",
        "rank subwords": "bitext-rank -i {pairs} --column 3 --top-words 99999999"
        " --count subwords --model en-de",
        "noise": "bitext-noise -i {pairs} --languages en,de --rate all=0.9 --words 1-99999999",
        "report": "bitext-report -i {pairs} --column 3 --languages en,de",
        "embed": "bitext-embed -i {source} --language en --threads 1 -o {out}.npy",
        "translate": "bitext-translate -i {source} --threads 1 --beam 1 --max-length 30"
        " --model {models}/translator",
        "align": "bitext-align {source} {target} --threads 1 --min-score none",
        "language model": "bitext-train-language-model -i {source}",
        "language model of characters": "bitext-train-language-model -i {source} --unit characters",
        "paraphrase analyse": "bitext-paraphrase analyse -i {pairs}",
        "paraphrase lexicon": "bitext-paraphrase lexicon -i {pairs}",
    }
    for match in ("exact", "normalised", "near"):
        found[f"dedup {match}"] = f"bitext-dedup -i {{pairs}} --match {match}"
    for by in ("model", "words", "length"):
        found[f"align-documents {by}"] = (
            f"bitext-align-documents {{source}} {{target}} --by {by} --split en,de"
            + " --threads 1" * (by == "model")
        )
    for form in ("moses", "tmx", "jsonl"):
        more = "{out}1 {out}2" if form == "moses" else "-o {out}"
        more += " --languages en,de" * (form == "tmx")
        found[f"convert {form}"] = f"bitext-convert -i {{pairs}} --to {form} {more}"
    for kind, size in SEGMENTERS.items():
        found[f"segment {kind}"] = (
            f"bitext-segment apply -i {{source}} --segmenter {{models}}/{kind}"
        )
        found[f"segment learn {kind}"] = (
            f"bitext-segment learn {{source}} {{target}} --kind {kind} {size} -o {{out}}"
        )
    for kind in (
        "recovery {pairs} --threads 1",
        "corpus {pairs}",
        "filtering {pairs} --column 3 --labels 4 --threshold 0.5",
        "mining {pairs} {pairs} --column 3",
        "sts {pairs} --human 3 --scol 1 --tcol 2 --threads 1",
        "neighbours {source} --of {source} --threads 1",
    ):
        found[f"evaluate {kind.split()[0]}"] = f"bitext-evaluate {kind}"
    return found


class Cost(NamedTuple):
    """The use of a command."""

    seconds: float
    """Of the processor."""
    megabytes: float
    """The largest resident size."""
    code: int
    """The exit code, or the signal that has ended it, negative."""


def run(line: str, names: dict[str, str], limit: int) -> Cost:
    """Run a command in a fork of this process."""
    name, *words = [word.format(**names) for word in shlex.split(line)]
    module = importlib.import_module(f"bitextfilter.commands.{name[7:].replace('-', '_')}")
    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        for stream in (0, 1):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        os.dup2(os.open(f"{names['out']}.messages", os.O_RDWR | os.O_CREAT | os.O_TRUNC), 2)
        code = 70
        try:
            module.main.main(words, name)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    return Cost(seconds, used.ru_maxrss / 1000, os.waitstatus_to_exitcode(status))


def measured(line: str, texts: Sequence[str], options: argparse.Namespace) -> Iterator[str]:
    """A row of the table for each text, the dearest first."""
    with tempfile.TemporaryDirectory() as folder:

        def cost(long: Sequence[str]) -> Cost:
            where = Path(tempfile.mkdtemp(dir=folder))
            paths = files(where, long)._asdict() | {"out": where / "out", "models": options.models}
            return run(line, {name: str(path) for name, path in paths.items()}, options.limit)

        short = cost(())
        assert not short.code, (line, short)
        found = []
        for name in texts:
            size = options.bytes // (2 if options.sides == "both" else 1)
            sides = [TEXTS[name](size, random.Random(seed)) for seed in (1, 2)]
            long = cost(sides if options.sides == "both" else [sides[0], "one short side"])
            seconds, megabytes = long.seconds - short.seconds, long.megabytes - short.megabytes
            found.append((seconds, f"{name} | {seconds:.2f} | {megabytes:.0f} | {long.code}"))
        yield from (row for _, row in sorted(found, reverse=True)[: options.worst])


def main() -> None:
    """Print the table."""
    known = commands()
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    reader.add_argument("names", nargs="*", help="the beginnings of names; default: everything")
    reader.add_argument("--bytes", type=int, default=1_000_000, help="of the long row")
    reader.add_argument("--texts", nargs="+", choices=TEXTS, default=list(TEXTS))
    reader.add_argument("--sides", choices=("both", "one"), default="both", help="that are long")
    reader.add_argument("--limit", type=int, default=100, help="seconds of the processor")
    reader.add_argument("--worst", type=int, default=3, help="texts to show for each command")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as options.models:
        models(Path(options.models))
        print("| command | text | CPU seconds | MB | exit code |\n|---|---|---:|---:|---:|")
        for name, line in known.items():
            if not options.names or name.startswith(tuple(options.names)):
                for row in measured(line, options.texts, options):
                    print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
