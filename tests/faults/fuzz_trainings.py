"""Models that are trained from hostile rows: sound ones, or one clear line that names the row."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from bench import Bench, Ran, body, cut, good, lines, models, table, whole
from hostile import mutated

LEARNING = {"batch_size": 16, "passes": 1, "validate_every": 3, "warmup": 2}
SUBWORDS = ("none", "unigram", "sentencepiece-bpe", "bpe", "morfessor")
ENCODERS: dict[str, dict[str, object]] = {
    "averaging": {"embedding": 8}, "word,trigram": {"embedding": 8},
    "weighted+lstm": {"embedding": 8}, "max-blstm": {"embedding": 8}, "gran-gru": {"embedding": 8},
    "autoencoder": {"embedding": 8, "hidden": 4}, "pivot": {"embedding": 8, "hidden": 4},
}  # fmt: skip
PARTS = {"word,trigram", "weighted+lstm", "max-blstm", "gran-gru"}
"""Encoders that look for hard negatives in several mini-batches, by default."""
TRANSLATORS: dict[str, dict[str, object]] = {
    "transformer": {"width": 8, "heads": 2, "layers": 1, "feed_forward": 8},
    "recurrent": {"width": 8, "hidden": 4},
    "controlled": {"width": 8, "hidden": 4, "template_width": 2, "symbols": 6},
}
SENTENCES = ["--languages", "en,de"]


def corpus(bench: Bench, count: int, template: bool = False) -> tuple[str, int | None]:
    """A file of pairs, most often with good rows alone, and the number of the first bad row."""
    hostile, made = bench.hostile, bench.hostile.pair
    if template:
        parses = (b"(S (NP (A b)) (. .))", b"(S (NP a))", b"( \xc3\xa9 (\xe2\x80\xa8 b))")
        parsed = (*(mutated(bench.chooser, parse, 50) for parse in parses), *parses * 9)

        def made() -> bytes:
            return hostile.pair().split(b"\t", 2)[0] + b"\tb\t" + bench.chooser.choice(parsed)

    rows = body(hostile.lines(count, made))[1]
    bad = [n for n, row in enumerate(rows, 1) if not good(cut(row)[0], (0, 1), False)]
    if bench.chance(0.8):
        rows, bad = [row for n, row in enumerate(rows, 1) if n not in bad], []
    bench.counts["rows"] += len(rows)
    return bench.file(b"".join(rows)), bad[0] if bad else None


def settings(bench: Bench, architecture: str, shape: dict[str, object], kind: str = "") -> str:
    """A file of settings of a training that takes a second; any *kind* of subwords if empty."""
    kind = kind or bench.chooser.choice(SUBWORDS)
    size = {"merges": 30} if kind == "bpe" else {"vocabulary_size": 300}
    normal = [name for name in ("lowercase", "apart", "punctuation") if bench.chance(0.2)]
    made = {
        "architecture": architecture,
        "shape": shape,
        "segmentation": {"kind": kind, **({} if kind == "morfessor" else size)},
        "normalisation": dict.fromkeys(normal, True),
        "training": LEARNING | ({"mega_batch": 1} if architecture in PARTS else {}),
    }
    return bench.file(json.dumps(made).encode(), "settings.json")


def ended(bench: Bench, done: Ran, bad: dict[str, int | None], model: Path) -> bool:
    """Whether a model was trained: it is whole and sound, or not there at all."""
    first = [f"{file}:{number}: " for file, number in bad.items() if number]
    assert done.code in ((65,) if first else (0, 65)), done
    assert model.exists() == (done.code == 0), done
    if first:
        assert any(place in done.err for place in first), (first, done)
    if done.code:
        assert done.out == b"", done
        return False
    checked = bench.run("bitext-models verify", model)
    assert checked.code == 0 and checked.out.count(b"\n") == 1, checked
    for line in ("bitext-models show", "bitext-models show --json", "bitext-models inspect"):
        shown = bench.run(line, model)
        assert shown.code == 0 and shown.out.decode(), shown
    return True


def again(bench: Bench, done: Ran, model: Path, threads: int = 1) -> None:
    """At times, a second training, on so many threads, writes the same model."""
    if bench.chance(0.1):
        words = [word if word != str(model) else f"{model}2" for word in done.words]
        assert bench.run(words[0], *words[1:], "--threads", str(threads)).code == 0
        sound = [bench.run("bitext-models verify", f"{model}{n}").out for n in ("", "2")]
        digests = [out.split(b"\t")[1] for out in sound]
        assert digests[0] == digests[1], words


def join(bench: Bench) -> None:
    """A model of two encoders, with neighbours of hostile pairs, or one clear line."""
    (pairs, bad), toy, model = corpus(bench, 60), models() / "toy", bench.folder / "both"
    words = ("--weight", str(bench.chooser.choice((0.01, 0.25, 0.9))), "-o", str(model))
    done = bench.run("bitext-models join", toy, toy, "--pairs", pairs, *words)
    ended(bench, done, {pairs: bad}, model)


def calibrate(bench: Bench) -> None:
    """A calibration by labels of hostile rows, or one clear line; its scores are finite."""
    (pairs, bad), toy, model = corpus(bench, 150), models() / "toy", bench.folder / "calibrated"
    kinds = (b"V", b"F", b"L", b"A", b"?", b"")
    rows = [bench.chooser.choice(kinds) + b"\t" + row for row in body(Path(pairs).read_bytes())[1]]
    labelled = bench.file(b"".join(rows), "labelled")
    words = ("--right", "V,F", "--wrong", "L,A", "--scol", "2", "--tcol", "3", "-o", str(model))
    done = bench.run("bitext-models calibrate", toy, f"aa,ba={labelled}", *words)
    if ended(bench, done, {labelled: bad}, model):
        finite(bench, "bitext-score", "--similarity", "mlp,probability", "--model", model)


def multiparallel(bench: Bench, count: int) -> str:
    """A file of four columns, most often in all rows."""
    bom, rows = body(bench.hostile.lines(count, bench.hostile.pair))
    if bench.chance(0.8):
        rows = [
            row
            for row in rows
            if good(cut(row)[0], (0, 1, 2, 3), True) and cut(row)[0].count(b"\t") == 3
        ]
    bench.counts["rows"] += len(rows)
    return bench.file(bom + b"".join(rows))


def three_languages(bench: Bench) -> None:
    """An encoder of three languages, or one clear line; a smaller model is cut out of it."""
    pairs, others, development = (multiparallel(bench, count) for count in (150, 150, 40))
    model = bench.folder / "three"
    named = others if bench.chance(0.1) else f"en,fr,-,-={others}"
    words = ["--pairs", f"en,de,-,-={pairs}", "--pairs", named]
    words += ["--development", f"fr,en,-,-={development}", "-o", str(model), "--threads", "1"]
    made = settings(bench, "word,trigram", {"embedding": 8})
    done = bench.run("bitext-train-encoder", "--languages", "en,de,fr", "--settings", made, *words)
    if ended(bench, done, {}, model):
        named = f"fr,en,-,-={development}"
        graded = bench.run("bitext-models grade", model, named, "-o", model)
        assert graded.code == 0 and b"error.fr\t" in graded.out, graded
        finite(bench, "bitext-score", "--similarity", "cosine,csls", "--model", f"{model}:fr,de")
        small = bench.folder / "two"
        left = ("--languages", "fr,de", "-o", small)
        assert bench.run("bitext-models prune", model, *left).code == 0
        finite(bench, "bitext-score", "--similarity", "cosine,csls", "--model", small)


def encoder(bench: Bench) -> None:
    """An encoder that gives finite scores, or one clear line."""
    name, shape = bench.chooser.choice(list(ENCODERS.items()))
    (pairs, bad), (development, worse) = corpus(bench, 120), corpus(bench, 20)
    model = bench.folder / "encoder"
    words = [*SENTENCES, "--development", development, "-o", str(model)]
    words += ["--settings", settings(bench, name, shape)]
    words += ["--threads", "1"]
    if bench.chance(0.3):
        words += ["--bits", bench.chooser.choice(["3", "4", "8"])]
    reads = {pairs: bad, development: worse}
    if name == "pivot":
        other, bad = corpus(bench, 120)
        reads[other] = bad
        words += ["--pivot", "fr", "--source-pivot", pairs, "--target-pivot", other]
    else:
        words += ["--pairs", pairs]
    done = bench.run("bitext-train-encoder", *words)
    if ended(bench, done, reads, model):
        again(bench, done, model)
        finite(bench, "bitext-score", "--similarity", "cosine", "--model", model)
        if find_spec("tokenizers") is not None:
            exported(bench, model)


def whole_model(bench: Bench) -> None:
    """A whole model that gives finite scores, or one clear line."""
    model, chooser = bench.folder / "whole", bench.chooser
    reads = dict([corpus(bench, 200)])
    words = [*reads, "--languages", "aa,ba", "--threads", "1", "-o", str(model)]
    for option, count in (("--development", 40), ("--classifier-pairs", 60)):
        if bench.chance(0.4):
            path, bad = corpus(bench, count)
            reads[path] = bad
            words += [option, path]
    if bench.chance(0.3):
        each = body(Path(corpus(bench, 30)[0]).read_bytes())[1]
        rows = [cut(row)[0].split(b"\t")[:2] for row in each]
        words += ["--graded", bench.file(b"".join(b"\t".join([*row, b"0.5\n"]) for row in rows))]
    if bench.chance(0.3):
        words += ["--foreign", bench.file(lines(bench, 50)[0])]
    if bench.chance(0.3):
        words += ["--encoder", str(models() / "toy")]
    name = chooser.choice(("averaging", "word,trigram", "max-blstm"))
    made = settings(bench, name, ENCODERS[name], chooser.choice(("none", "unigram", "bpe")))
    quick = {"epochs": 1, "batch_size": 32, "held_out": chooser.choice((0.02, 0.2))}
    classifier = {"width": 4, "hidden": 4, "bigrams": 0, "training": quick}
    values = {"encoder": json.loads(Path(made).read_bytes()), "classifier": classifier}
    words += ["--settings", bench.file(json.dumps(values).encode(), "whole.json")]
    done = bench.run("bitext-train", *words)
    if ended(bench, done, reads, model):
        again(bench, done, model, threads=2)
        finite(bench, "bitext-score", "--similarity", "mlp,probability,csls", "--model", model)


def exported(bench: Bench, model: Path) -> None:
    """The encoder in the form of another library, which gives finite scores, or one clear line."""
    folder = bench.folder / "exported"
    done = bench.run("bitext-models export", model, "--to", "sentence-transformers", "-o", folder)
    assert done.code in (0, 78) and folder.exists() == (done.code == 0), done
    if done.code == 0:
        finite(bench, "bitext-score", "--similarity", "cosine", "--model", folder)


def finite(bench: Bench, name: str, *words: str | Path) -> None:
    """A new model gives every good row a number."""
    rows = table(bench, 50)
    reject = ["--on-error", "reject", "--threads", "1", *rows.words]
    done = bench.run(name, *words, *reject, "-i", bench.file(rows.data))
    assert done.code == 0, done
    lines = body(done.out)[1][bool(rows.header) :]
    for line, ok in zip(lines, rows.good(False), strict=True):
        assert bool(cut(line)[0].rsplit(b"\t", 1)[1]) == ok, line
        assert abs(float(cut(line)[0].rsplit(b"\t", 1)[1] or 0)) < 1e6, line


def translator(bench: Bench) -> None:
    """A translator that translates, or one clear line."""
    name, shape = bench.chooser.choice(list(TRANSLATORS.items()))
    template = name == "controlled"
    (pairs, bad), (development, worse) = (corpus(bench, n, template) for n in (120, 20))
    model = bench.folder / "translator"
    words = [*SENTENCES, "--pairs", pairs, "--development", development, "-o", str(model)]
    words += ["--settings", settings(bench, name, shape), "--threads", "1"]
    words += ["--quantise"] * bench.chance(0.3) + ["--template-column", "3"] * template
    done = bench.run("bitext-train-translator", *words)
    if template and done.code == 65:  # of a parse, perhaps
        return
    if ended(bench, done, {pairs: bad, development: worse}, model):
        again(bench, done, model)
        words = ["--similarity", "translation", "--translator", str(model)]
        if not template:
            finite(bench, "bitext-score", *words)


def classifier(bench: Bench) -> None:
    """A classifier that gives scores from 0 to 1, or one clear line."""
    chooser, model = bench.chooser, bench.folder / "classifier"
    (pairs, _), (noisy, _), (nearly, _) = (corpus(bench, 100) for _ in range(3))
    kind = chooser.choice(("sentences", "words"))
    negatives = chooser.choice(("worst", "worst:60%", "random", "repaired", "given"))
    words = [pairs, "--kind", kind, "--negatives", negatives, "--model", str(models() / "toy")]
    words += [] if negatives == "repaired" else ["--noisy", noisy]
    words += ["--nearly", nearly] if bench.chance(0.3) else []
    words += ["--set", "hidden=8", "--set", "training.epochs=1", "--threads", "1"]
    words += ["--set", "training.batch_size=16"] + ["--quantise"] * bench.chance(0.3)
    words += ["--set", "width=8"] if kind == "words" else []
    done = bench.run("bitext-train-classifier", *words, "--on-error", "reject", "-o", model)
    if ended(bench, done, {}, model):
        again(bench, done, model, threads=2)
        finite(bench, "bitext-score", "--similarity", "mlp", "--model", model)


def references(bench: Bench) -> None:
    """A classifier of references and translations, or one clear line."""
    rows, model = table(bench, bench.chooser.choice((3, 40, 200))), bench.folder / "references"
    architecture = bench.chooser.choice(("lstm", "averaging"))
    negatives = bench.chooser.choice(("random", "hardest"))
    words = [bench.file(rows.data), *rows.words, "--architecture", architecture, "--threads", "1"]
    words += ["--set", "shape.embedding=8", "--set", "training.epochs=2"]
    words += ["--set", f"training.negatives={negatives}", "--on-error", "reject"]
    done = bench.run("bitext-paraphrase train", *words, "-o", model)
    bench.counts["rows"] += len(rows.lines)
    if ended(bench, done, {}, model):
        again(bench, done, model)


def embeddings(bench: Bench) -> None:
    """Vectors that every reader takes, or one clear line."""
    chooser, out = bench.chooser, bench.folder / "vectors"
    texts = [lines(bench, chooser.choice((5, 200, 500))) for _ in range(2)]
    if bench.chance(0.8):
        kept = [[row for row in rows if whole(cut(row)[0], True)] for _, rows in texts]
        texts = [(b"".join(rows), rows) for rows in kept]
    bench.counts["rows"] += sum(len(rows) for _, rows in texts)
    files = [bench.file(data) for data, _ in texts]
    first = chooser.choice(("identical", "identical", "dictionary", "adversarial"))
    words = [*SENTENCES, "--source-text", files[0], "--target-text", files[1], "--map", first]
    if first == "dictionary":
        words += ["--dictionary", bench.file(b"the\tdie\nand\tund\nin\tin\n.\t.\n,\t,\n")]
    for name in ("dim=6", "epochs=1", "minimum_count=2", "buckets=1000"):
        words += ["--set", f"skip_gram.{name}"]
    for name in ("units=8", "epochs=1", "updates=20", "discriminator_updates=1"):
        words += ["--set", f"adversarial.{name}"] if first == "adversarial" else []
    words += ["--keep-case"] * bench.chance(0.5)
    done = bench.run("bitext-train-embeddings", *words, "-o", out)
    assert done.code in (0, 65) and out.exists() == (done.code == 0), done
    if done.code:
        return
    head, *vectors = out.read_bytes().split(b"\n")[:-1]
    assert head == b"%d 6" % len(vectors), done
    known = [vector.rsplit(b" ", 6)[0] for vector in vectors]
    assert len(set(known)) == len(known) and b"" not in known, done
    visible = [word for word in known if good(word, (0,), False)]
    pairs = bench.file(b"".join(word + b"\t" + word + b"\n" for word in visible))
    read = bench.run("bitext-evaluate words", pairs, "--source", out, "--target", out)
    assert read.code == 0 and b"\t100.00\t" in read.out, read
    if bench.chance(0.3):
        (pairs, bad), model = corpus(bench, 60), bench.folder / "encoder"
        words = [*SENTENCES, "--development", pairs, "--pairs", pairs, "--threads", "1"]
        made = settings(bench, "autoencoder", {"embedding": 6, "hidden": 4}, "none")
        words += ["--settings", made, "--embeddings", str(out)]
        done = bench.run("bitext-train-encoder", *words, "-o", model)
        ended(bench, done, {pairs: bad}, model)


def tune(bench: Bench) -> None:
    """A line for each point of the grid, or one clear line."""
    (pairs, bad), (development, worse) = corpus(bench, 80), corpus(bench, 20)
    grid = {
        "architecture": '"averaging"',
        "shape.embedding": "[4, 6]",
        "segmentation.kind": '"none"',
        **{f"training.{name}": value for name, value in LEARNING.items()},
    }
    text = "".join(f"{name} = {value}\n" for name, value in grid.items())
    if bench.chance(0.7):
        number = bench.chooser.choice(("maximum = [30, 90]", 'minimum = [0.1, "none"]'))
        rule = bench.chooser.choice(('"length"', '"column"\ncolumn = 3', '"ngram-overlap"'))
        number = number if rule.startswith('"length') == ("30" in number) else "minimum = 0"
        text += f"[[rule]]\nname = {rule}\n{number}\n"
    out = bench.folder / "tuning.tsv"
    words = [bench.file(text.encode(), "grid.toml"), *SENTENCES, "--pairs", pairs]
    words += ["--development", development, "--processes", "1", "-o", str(out)]
    if bench.chance(0.3):
        (sts, _), score = corpus(bench, 20), b"0.%d\t"
        data = b"".join(score % n + row for n, row in enumerate(body(Path(sts).read_bytes())[1]))
        words += ["--sts", bench.file(data), "--sts-language", "en,de"]
    done = bench.run("bitext-tune", *words)
    assert done.code in (0, 65), done
    if bad or worse:
        assert done.code == 65 or "[[rule]]" in text, (bad, worse, done)
    if done.code == 0:
        assert out.read_bytes().decode().count("\n") >= 2, done


def downstream(bench: Bench) -> None:
    """A line for each system, or one clear line that names the row."""
    (pairs, _), (development, worse), (test, worst) = (corpus(bench, n) for n in (150, 10, 10))
    if bench.chance(0.8):  # fair scores and labels
        rows = [cut(row)[0].split(b"\t")[:2] for row in body(Path(pairs).read_bytes())[1]]
        ends = (b"0.%d\tclean\n" % n for n in range(len(rows)))
        made = (b"\t".join([*row, end]) for row, end in zip(rows, ends, strict=True))
        pairs = bench.file(b"".join(made))
    quick = {"training": LEARNING, "segmentation": {"kind": "none"}}
    file = json.dumps({"shape": TRANSLATORS["transformer"], **quick}).encode()
    words = [pairs, "--scores", "3", "--random", "--words", "300", *SENTENCES, "--beam", "1"]
    words += ["--development", development, "--test", test, "--threads", "1"]
    words += ["--settings", bench.file(file), "--work", str(bench.folder / "work")]
    words += ["--oracle", "4"] if bench.chance(0.5) else []
    done = bench.run("bitext-evaluate downstream", *words)
    assert done.code in ((65,) if worse or worst else (0, 65)), done
    if done.code == 0:
        assert done.out.count(b"\n") == 3 + ("--oracle" in words), done
        resumed = bench.run("bitext-evaluate downstream", *words)
        assert (resumed.code, resumed.out) == (0, done.out), resumed


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
        judge = ["--similarity", "language-model", "--language-models", f"{arpa},{arpa}"]
        finite(bench, "bitext-score", *judge)
