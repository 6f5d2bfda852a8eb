"""A command line of each kind of work that writes, for trials that disturb it.

The files that it reads are in the folder ``@``; its outputs are called ``out``, and what it keeps
to go on from ``kept`` or ``cache``, in the working folder.
"""

from __future__ import annotations

import atexit
import functools
import gzip
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import toys
import translators
from click.testing import CliRunner
from console import command

from bitextfilter.encoders.reference_classifier import (
    ReferenceNetwork,
    ReferenceSettings,
    save_reference_classifier,
)
from bitextfilter.judge.judgements import Label, labels_text, read_sample
from bitextfilter.models.folders import writing_folder
from bitextfilter.scoring.score_combiner import CombinedColumn, Combiner, LogisticPart

TINY = {
    "architecture": "averaging",
    "shape": {"embedding": 8},
    "segmentation": {"kind": "none", "vocabulary_size": 200},
    "training": {"batch_size": 16, "passes": 1, "validate_every": 2, "warmup": 2},
}
TINY_AUTOENCODER = {
    "architecture": "autoencoder",
    "shape": {"embedding": 8, "hidden": 4},
    "segmentation": {"kind": "none"},
    "training": {
        "batch_size": 16, "passes": 2, "validate_every": 3, "warmup": 2, "softmax": "sampled",
        "samples": 9,
    },
}  # fmt: skip
TINY_TRANSLATOR = {
    "shape": {"width": 8, "heads": 2, "layers": 1, "feed_forward": 8},
    "segmentation": {"kind": "none"},
    "training": {"batch_size": 16, "passes": 1, "validate_every": 2, "warmup": 2},
}
TINY_MODEL = {
    "encoder": TINY,
    "classifier": {
        "width": 4, "hidden": 4, "bigrams": 0,
        "training": {"epochs": 1, "batch_size": 16, "held_out": 0.1},
    },
}  # fmt: skip
GRID = """
architecture = "averaging"
[shape]
embedding = [4, 6]
[segmentation]
kind = "none"
[training]
batch_size = 16
validate_every = 2
passes = 1
"""

REJECTS = "--on-error reject --rejects out.rejects.gz --manifest out.json"
MODEL = "--model @/model --threads 1"
TEXTS = "@/text.aa @/text.ba"
GIVEN = "--source-vectors @/text.aa.npy --target-vectors @/text.ba.npy --threads 1"
RULES = "--rule default --without language"
TRAIN = "--languages aa,ba --development @/dev.tsv --pairs @/train.tsv --threads 1 -o out.model"
WRITE = "--max-length 9 --threads 1 -o out.tsv"
SKIP_GRAM = " ".join(
    f"--set skip_gram.{name}"
    for name in ("dim=4", "epochs=1", "minimum_count=1", "subsampling=1", "buckets=50")
)

LINES = {
    "score": f"bitext-score {MODEL} -i @/bad.tsv -o out.tsv.gz {REJECTS}",
    "clean": f"bitext-clean {MODEL} --rule length -i @/bad.tsv -o out.tsv --rejects out.rejects",
    "score cached": f"bitext-score {MODEL} -i @/rows.tsv -o out.tsv --cache cache",
    "score shared": f"bitext-score {MODEL} -i @/bad.tsv -o out.tsv --share out.parquet"
    " --on-error reject",
    "score resumed": f"bitext-score {MODEL} @/bad.tsv @/rows.tsv.gz -o out.tsv"
    f" --resume kept --shard-rows 50 {REJECTS}",
    "bicleaner": "bitext-bicleaner --disable_hardrules -p 1 --scol 1 --tcol 2 @/bad.tsv out.tsv"
    " @/model",
    "score by a program": "bitext-score --scorer-command @/judge --scorer-processes 2 --cache cache"
    " -i @/bad.tsv -o out.tsv.gz --on-error reject --rejects out.rejects.gz",
    "combine": f"bitext-combine @/combiner.json -i @/scored.tsv -o out.tsv.xz {REJECTS}",
    "combiner": "bitext-train-combiner --labels 1 --column 4 -i @/judged.tsv --bootstrap 9"
    " -o out.json",
    "filter": f"bitext-filter {RULES} --threads 1 -i @/bad.tsv -o out.tsv.zst --explain {REJECTS}",
    "filter resumed": f"bitext-filter {RULES} --threads 2 @/rows.tsv @/rows.tsv.gz"
    " --shard-rows 60 --resume kept -o out.tsv.xz --manifest out.json",
    "filter by processes": f"bitext-filter {RULES} --threads 2 --batch-size 40 --explain"
    f" -i @/bad.tsv -o out.tsv.bz2 {REJECTS}",
    "fix": f"bitext-fix --threads 1 --explain -i @/bad.tsv -o out.tsv {REJECTS}",
    "fix by processes": "bitext-fix --threads 2 --batch-size 60 -i @/rows.tsv -o out.tsv",
    "rank": "bitext-rank -i @/scored.tsv -o out.tsv --top-words 600 --rejects out.rejects",
    "rank in order": "bitext-rank -i @/scored.tsv --order input --top-lines 50 -o out.tsv.gz",
    "sample": f"bitext-sample {MODEL} -i @/scored.tsv -o out.tsv --column 3 --top-words 300"
    " --drop-similar 0.95 --rejects out.rejects",
    "dedup": "bitext-dedup @/scored.tsv -o out.tsv --match normalised --memory 1M"
    " --keep best --column 3 --groups out.groups --rejects out.rejects",
    "dedup near": "bitext-dedup @/rows.tsv @/rows.tsv.gz -o out.tsv --match near --by source"
    " --memory 1M",
    "dedup against": "bitext-dedup @/scored.tsv -o out.tsv --against @/few.tsv --by either"
    " --against-target @/dev.ba --overlap 0.5 --ngram 3 --memory 1M --rejects out.rejects",
    "split": "bitext-split --part out.a=30% --part out.b=9 --rest out.c -i @/rows.tsv -o {}.tsv",
    "split at once": "bitext-split --part out.a=30% --by target @/bad.tsv @/rows.tsv.gz"
    f" --rest out.b -o {{}}.gz {REJECTS}",
    "report": "bitext-report -i @/scored.tsv --column 3 --reasons 2 -o out.html"
    " --manifest out.json",
    "sample to judge": "bitext-judge sample -i @/scored.tsv --column 3 --cut 0.4 --count 40"
    " --dropped @/dropped.tsv -o out.tsv --manifest out.json",
    "page to judge": "bitext-judge page @/sample.tsv --annotator a -o out.html",
    "judged by a program": "bitext-judge command @/judge @/sample.tsv -o out.tsv",
    "requests for labels": "bitext-judge requests @/sample.tsv --model m -o out.jsonl.gz",
    "imported labels": "bitext-judge import @/sample.tsv @/labels.tsv --scale 0-1 -o out.tsv"
    " --on-error reject --rejects out.rejects",
    "a small filter": "bitext-judge combiner @/sample.tsv @/labels.tsv --bootstrap 9 -o out.json",
    "a learning score": f"bitext-judge learn {MODEL} @/sample.tsv @/labels.tsv --bootstrap 9"
    " -o out.model",
    "yields": "bitext-judge report @/sample.tsv @/labels.tsv --disagreements out.apart -o out.tsv",
    "convert": "bitext-convert --to moses -i @/rows.tsv out.aa out.ba.gz",
    "convert to tmx": "bitext-convert --to tmx --languages aa,ba -i @/rows.tsv -o out.tmx",
    "convert to parquet": "bitext-convert --to parquet --numbers 3 -i @/scored.tsv -o out.parquet",
    "convert to datasets": "bitext-convert --to datasets -i @/rows.tsv out.data",
    "rank a table": "bitext-rank -i @/scored.parquet --column 3 -o out.tsv",
    "noise": "bitext-noise --rate shuffled=0.2 -i @/rows.tsv -o out.tsv",
    "embed": f"bitext-embed {MODEL} --language aa @/text.aa -o out.npy",
    "embed resumed": f"bitext-embed {MODEL} --language aa @/text.aa -o out.npy --resume kept"
    " --shard-rows 50",
    "align": f"bitext-align {MODEL} {TEXTS} -o out.tsv.gz --manifest out.json",
    "align resumed": f"bitext-align {MODEL} {TEXTS} -o out.tsv --resume kept --batch-size 40",
    "align with an index": f"bitext-align {MODEL} {TEXTS} -o out.tsv --index-save out.index",
    "align by an index": f"bitext-align {MODEL} {TEXTS} -o out.tsv --index ivf --resume kept",
    "align by given vectors": f"bitext-align {GIVEN} {TEXTS} -o out.tsv --resume kept",
    "score given vectors": f"bitext-score {GIVEN} -i @/rows.tsv -o out.tsv --resume kept"
    " --shard-rows 50",
    "align documents": f"bitext-align-documents {MODEL} {TEXTS} -o out.tsv",
    "pair documents": f"bitext-pair-documents {MODEL} @/documents.aa @/documents.ba --resume kept"
    " -o out.tsv",
    "align words": "bitext-align-words -i @/bad.tsv -o out.tsv --save out.lexicon.gz --unaligned"
    f" {REJECTS}",
    "segment": "bitext-segment learn --kind bpe --merges 30 @/text.aa -o out.bpe",
    "segment a text": "bitext-segment apply --segmenter @/model -i @/text.aa -o out.aa",
    "language model": "bitext-train-language-model --set order=2 -i @/text.aa -o out.arpa.gz",
    "embeddings": f"bitext-train-embeddings --languages aa,ba --source-text @/text.aa {SKIP_GRAM}"
    " --target-text @/text.ba --map dictionary --dictionary @/words.tsv"
    " --separate out.aa.vec out.ba.vec -o out.vec",
    "whole model": "bitext-train @/train.tsv --settings @/model.json --languages aa,ba"
    " --development @/dev.tsv --threads 1 -o out.model",
    "encoder": f"bitext-train-encoder --settings @/encoder.json {TRAIN}",
    "autoencoder": f"bitext-train-encoder --settings @/autoencoder.json {TRAIN}",
    "translator": f"bitext-train-translator --settings @/translator.json {TRAIN}",
    "classifier": f"bitext-train-classifier {MODEL} @/train.tsv --set training.epochs=1"
    " --set hidden=4 --negatives random --noisy @/rows.tsv -o out.model",
    "tune": "bitext-tune @/grid.toml --languages aa,ba --pairs @/train.tsv --processes 1"
    " --development @/dev.tsv -o out.tsv --models out.models",
    "translate": f"bitext-translate --model @/translator -i @/few.aa --beam 2 {WRITE}",
    "join": "bitext-models join @/model @/model --pairs @/train.tsv -o out.model",
    "prune": "bitext-models prune @/many --languages ce,aa -o out.model",
    "export": "bitext-models export @/model --to sentence-transformers -o out.exported",
    "grade": "bitext-models grade @/many aa,ba=@/rows.tsv --threads 1 -o out.model",
    "encoder of three": "bitext-train-encoder --settings @/encoder.json --languages aa,ba,ce"
    " --pairs @/three.tsv --pairs ba,ce=@/rows.tsv --development aa,ba=@/dev.tsv --threads 1"
    " --set training.translation=0 --set training.autoencoding=0 -o out.model",
    "scores of three": "bitext-score --model @/many:aa,ba --similarity cosine,csls"
    " -i @/rows.tsv -o out.tsv --cache cache",
    "calibrate": "bitext-models calibrate @/model aa,ba=@/judged.tsv --right 1 --wrong 0 --scol 2"
    " --tcol 3 --threads 1 -o out.model",
    "recommend": "bitext-models recommend @/model @/cut.json -o out.model",
    "paraphrases": "bitext-paraphrase make --translator @/translator --beam 2 -i @/few.tsv"
    f" {WRITE}",
    "reference classifier": "bitext-paraphrase train @/rows.tsv --architecture averaging"
    " --set shape.embedding=4 --set training.epochs=1 --threads 1 -o out.model",
    "references": "bitext-paraphrase score --model @/references --threads 1 -i @/bad.tsv"
    f" -o out.tsv {REJECTS}",
    "analysis": "bitext-paraphrase analyse -i @/rows.tsv -o out.tsv",
    "other words": f"bitext-paraphrase generate --model @/same --beam 2 -i @/few.aa {WRITE}",
    "lexicon": "bitext-paraphrase lexicon -i @/rows.tsv -o out.tsv",
    "recovery": f"bitext-evaluate recovery {MODEL} @/dev.tsv --similarity cosine -o out.tsv",
    "filtering": "bitext-evaluate filtering --labels 1 --clean-label 1 --column 4 @/judged.tsv"
    " -o out.tsv",
    "contrasts": f"bitext-evaluate contrasts {MODEL} --worse-tcol 1 @/dev.tsv -o out.tsv",
    "mining": "bitext-evaluate mining @/dev.tsv @/scored.tsv --json -o out.json",
    "links": "bitext-evaluate alignment @/links @/links -o out.tsv",
    "correlation": "bitext-evaluate sts --human 1 --column 4 @/judged.tsv -o out.tsv",
    "judgements": f"bitext-evaluate paraphrase {MODEL} --language aa --development @/judged.tsv"
    " @/judged.tsv -o out.tsv",
    "neighbours": f"bitext-evaluate neighbours {MODEL} --language aa --of @/few.aa @/text.aa"
    " -o out.tsv",
    "corpus": "bitext-evaluate corpus @/rows.tsv -o out.tsv",
    "words": "bitext-evaluate words --source @/aa.vec --target @/ba.vec @/words.tsv -o out.tsv",
    "downstream": "bitext-evaluate downstream @/scored.tsv --scores 3 --words 200 --languages"
    " aa,ba --development @/dev.tsv --test @/few.tsv --settings @/translator.json --beam 2"
    " --threads 1 --work kept -o out.tsv",
    "explained": "bitext-evaluate lexicon --lexicon @/lexicon.tsv @/rows.tsv -o out.tsv",
}

UNWRITTEN = {
    "bitext": "starts the others", "bitext-models inspect": "writes to stdout alone",
    "bitext-models list": "writes to stdout alone", "bitext-models show": "writes to stdout alone",
    "bitext-models verify": "writes to stdout alone", "bitext-run": "starts the others",
}  # fmt: skip
"""Commands without a line, and why."""

NO_OUTPUTS = (".training", ".models", ".answers")
"""The ends of names beside an output, of what a run goes on with."""

NEW = {"out.index", "out.bpe", "out.exported"}
"""Outputs that must not exist before a run."""


@functools.cache
def home() -> Path:
    """A folder for all trials of this process, removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="trials-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def inputs() -> Path:
    """The files that command lines read."""
    folder = home() / "in"
    folder.mkdir()
    for name, count, seed in (("rows", 150, 1), ("dev", 20, 2), ("train", 60, 3), ("few", 5, 4)):
        sides = toys.sentences(count, seed)
        rows = [f"{one}\t{other}\n" for one, other in zip(*sides, strict=True)]
        (folder / f"{name}.tsv").write_text("".join(rows))
        for side, text in zip(("aa", "ba"), sides, strict=True):
            name_of_text = {"rows": "text"}.get(name, name)
            (folder / f"{name_of_text}.{side}").write_text("".join(f"{t}\n" for t in text))
    rows = (folder / "rows.tsv").read_text().splitlines(keepends=True)
    scored = [f"{row[:-1]}\t{index * 37 % 50 / 50}\n" for index, row in enumerate(rows)]
    (folder / "scored.tsv").write_text("".join(scored + scored[:40]))
    words = ["--to", "parquet", "-i", folder / "scored.tsv", "-o", folder / "scored.parquet"]
    done = CliRunner().invoke(command("bitext-convert"), [*map(str, words)])
    assert done.exit_code == 0, done.output
    judged = [f"{index % 3 % 2}\t{row}" for index, row in enumerate(scored[:60])]
    (folder / "judged.tsv").write_text("".join(judged))
    (folder / "bad.tsv").write_text("".join([*rows[:40], "alone\n", *rows[40:90], "\tb1\n"]))
    (folder / "rows.tsv.gz").write_bytes(gzip.compress("".join(rows).encode(), mtime=0))
    three = [f"{row[:-1]}\tc{index}\n" for index, row in enumerate(rows)]
    (folder / "three.tsv").write_text("".join(["aa\tba\tce\n", *three]))
    (folder / "links").write_text("".join(f"[{n}]:[{n}]:0.5\n" for n in range(9)))
    (folder / "words.tsv").write_text("".join(f"a{n}\tb{n}\n" for n in range(50)))
    (folder / "lexicon.tsv").write_text("".join(f"a{n}\tb{n}\t2\t0.5\t1\t1\n" for n in range(50)))
    for side in ("aa", "ba"):
        vectors = "".join(f"{side[0]}{n} {n % 7} {n % 5} 1\n" for n in range(50))
        (folder / f"{side}.vec").write_text(f"50 3\n{vectors}")
        np.save(folder / f"text.{side}.npy", np.random.default_rng(1).random((150, 8)))
    _make_documents(folder)
    _make_sample(folder)
    (folder / "encoder.json").write_text(json.dumps(TINY))
    (folder / "model.json").write_text(json.dumps(TINY_MODEL))
    (folder / "autoencoder.json").write_text(json.dumps(TINY_AUTOENCODER))
    (folder / "translator.json").write_text(json.dumps(TINY_TRANSLATOR))
    (folder / "grid.toml").write_text(GRID)
    _make_models(folder)
    return folder


def _make_documents(folder: Path) -> None:
    """JSON lines of documents, ten lines of a text each."""
    for side in ("aa", "ba"):
        lines = (folder / f"text.{side}").read_text().splitlines()
        parts = [lines[first : first + 10] for first in range(0, len(lines), 10)]
        rows = [json.dumps({"id": str(n), "sentences": part}) for n, part in enumerate(parts)]
        (folder / f"documents.{side}").write_text("".join(f"{row}\n" for row in rows))


def _make_sample(folder: Path) -> None:
    """Rejected rows, a sample with labels, and a program that labels."""
    rows = (folder / "rows.tsv").read_text().splitlines(keepends=True)
    dropped = [f"{number}\tlength=1>0\t{row}" for number, row in enumerate(rows[:20], 1)]
    (folder / "dropped.tsv").write_text("".join(dropped))
    words = ["sample", "-i", folder / "scored.tsv", "--count", 40, "-o", folder / "sample.tsv"]
    done = CliRunner().invoke(command("bitext-judge"), [*map(str, words)])
    assert done.exit_code == 0, done.output
    (folder / "judge").write_text("#!/bin/sh\nexec awk '{print length % 2}'\n")
    (folder / "judge").chmod(0o755)
    with open(folder / "sample.tsv", "rb") as stream:
        sample = read_sample(stream, "sample.tsv")
    labels = [Label(r.row, r.pair, f"{r.row % 2}", "0-1", "a") for r in sample.rows]
    (folder / "labels.tsv").write_bytes(labels_text(labels))


def _make_models(folder: Path) -> None:
    """Models, and thresholds of one."""
    toys.toy_model(folder / "model")
    column = CombinedColumn(3, 1, missing=False)
    part = LogisticPart(0.1, [1.5], [0.5], [0.2], [0.0])
    (folder / "combiner.json").write_bytes(Combiner([column], part).to_json())
    toys.toy_many(folder / "many")
    translators.saved(folder / "translator")
    translators.saved(folder / "same", letters="aa")
    text = translators.processor()
    network = ReferenceNetwork(ReferenceSettings("averaging", 4), text.sizes())
    with writing_folder(folder / "references") as draft:
        save_reference_classifier(draft, network, text)
    line = f"{MODEL} --suggest-threshold --json --similarity cosine @/dev.tsv -o @/cut.json"
    words = line.replace("@", str(folder)).split()
    done = CliRunner().invoke(command("bitext-evaluate"), ["filtering", *words])
    assert done.exit_code == 0, done.output


Content = dict[str, str]
"""Digests of files by their names; a folder has its own line."""


def content(path: Path) -> Content:
    """What a file is, or is in a folder, as far as it is the same in each run."""
    inner = sorted(path.rglob("*")) if path.is_dir() else [path]
    made_by_torch = re.compile(r"/torchinductor_[^/]*$")
    return {
        one.relative_to(path).as_posix(): _digest(one)
        for one in inner
        if not made_by_torch.search(str(one))
    }


def _digest(path: Path) -> str:
    data = b"" if path.is_dir() else path.read_bytes()
    if ".training" in str(path) or path.name == "scores.sqlite":
        data = b""
    elif path.suffix == ".json":
        data = re.sub(rb'"(seconds|rows_per_second)": [0-9.]+', b"", data)
        data = re.sub(rb'"sha256": .*\n}', b"", data)  # of a record, its seconds too
    elif data.startswith(b"point\t"):  # the table of bitext-tune
        data = re.sub(rb"\t[0-9]+\.[0-9](?=\t)", b"", data)
    return hashlib.sha256(data).hexdigest()[:8]


def outputs(found: Mapping[str, str]) -> dict[str, Content]:
    """The content of each output: a file, or a folder with all that is in it; no drafts."""
    whole: dict[str, Content] = {}
    for path, digest in found.items():
        first, *parts = path.split("/")
        if first == "out.models" and parts:
            first += f"/{parts[0]}"
        draft = any(part.startswith(".") for part in parts)
        if first.startswith("out") and not (draft or first.endswith(NO_OUTPUTS)):
            whole.setdefault(first, {})[path] = digest
    return whole


def prepare(name: str, known: Content, work: Path) -> dict[str, Content]:
    """Write older outputs of a line whose undisturbed run is *known*; return them."""
    for path in outputs(known).keys() - NEW:
        if f"{path}/config.json" in known:
            if "/" not in path:  # bitext-tune has models of its points
                shutil.copytree(inputs() / "model", work / path)
        elif name != "tune":  # which goes on with its table
            (work / path).write_bytes(b"old\n")
    return outputs(content(work))


def check_outputs(name: str, before: Mapping[str, Content], after: Content, known: Content) -> None:
    """Check that each output of a run that ended early is old or new."""
    expected = outputs(known)
    for path, found in outputs(after).items():
        whole = found in (before.get(path), expected[path])
        if name == "tune" and path == "out.tsv":  # the points so far
            whole = True
        if f"{path}.training" in after:  # that of an earlier update, which is kept
            whole = whole or found.keys() == expected[path].keys()
        assert whole, f"partial: {path} {found}"


def again(line: str, work: Path) -> str:
    """The line of the next run, which goes on with a training if that has a state."""
    state = work / "out.model.training"
    has_state = (state / "plan.json").exists() and (state / "state.json").exists()
    return line + " --resume" * has_state
