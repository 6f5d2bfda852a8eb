"""``bitext-models``: list, show, inspect, verify, recommend, grade, join, prune and export."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command, group
from bitextfilter.commands.frame.options import (
    NumberRange,
    argument,
    flag,
    languages_option,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import language_file
from bitextfilter.commands.frame.words import Words
from bitextfilter.errors import InputError, ModelError, NotFoundError
from bitextfilter.io.files import read_small, stream_name
from bitextfilter.io.records import json_bytes, parse_json
from bitextfilter.models.folders import (
    check_replaceable,
    copy_model,
    file_sizes,
    find_model,
    model_digest,
    naming_pair,
    packaged_models,
    pair_of_more,
    read_config,
    shipped_models,
    writing_folder,
)
from bitextfilter.models.packages import PACKAGED, Package
from bitextfilter.scoring.measures import THRESHOLD_MEASURES

if TYPE_CHECKING:
    from bitextfilter.scoring.thresholds import Grade, Threshold


_REMEDY = "see bitext-models recommend --help"

main = group(
    "bitext-models",
    """List, show, inspect, verify, join, prune and export models, and keep thresholds in them.

    A model is one folder. MODEL is the name of one that comes with the package, or a folder.

    Example:

        bitext-models list
        bitext-models show en-de
        bitext-models verify en-de my-model
    """,
)


@command("list", uses="", parent=main)
def list_models(run: Run) -> None:
    """List the models that come with the package, and those of optional packages.

    One line each, tab-separated: name, source language, target language, digest, bytes, and when
    to take it: the first line of its card, or why it is not there. Of a model of more languages,
    the first one, and the others with commas between them.

    Example:

        bitext-models list | cut -f 1
    """
    from bitextfilter.scoring.inspection import purpose

    output = run.output("-")
    run.counts["models"] = 0
    for name, folder in (shipped_models() | packaged_models()).items():
        config = read_config(folder)
        first, *others = config["languages"]
        use = (Package.of(folder, config).fault() if name in PACKAGED else None) or purpose(folder)
        size = str(sum(file_sizes(folder).values()))
        output.write(lines([[name, first, ",".join(others), model_digest(folder), size, use]]))
        run.counts["models"] += 1


@dataclass(frozen=True)
class _Named:
    """The model."""

    name: str = argument("MODEL")


@dataclass(frozen=True)
class _Shown(_Named):
    """The model to show, and the form."""

    card: bool = flag("--card", "Write the model's card instead.")
    attribution: bool = flag(
        "--attribution", "Write the sources and licences of its training data instead."
    )
    as_json: bool = flag("--json", "Write one JSON object instead of lines.")


@command("show", _Shown, uses="", parent=main)
def show_model(run: Run, settings: _Shown) -> None:
    """Show the facts about MODEL: its parts, its measures, and its recommended thresholds.

    Writes a line for each fact, tab-separated: name and value. A recommended threshold is named
    threshold.USE.MEASURE.GOAL: USE is filtering or mining (with bitext-align), GOAL is f1 (the
    highest F1) or such as precision>=0.99. A third column has the figures that it was chosen by;
    bitext-models recommend adds thresholds to a model. Of a model of many languages, error.LANGUAGE
    is the recovery error by CSLS that bitext-models grade has measured, in percent; a third column
    says whether the language is weak. No weights are read.

    Example:

        bitext-models show en-de
        bitext-models show en-de | grep ^threshold.filtering.mlp
        bitext-models show --card en-de
    """
    from bitextfilter.scoring.inspection import describe_model
    from bitextfilter.scoring.thresholds import read_grades

    output = run.output("-")
    if settings.card + settings.attribution + settings.as_json > 1:
        raise click.UsageError("choose one of --card, --attribution and --json")
    if settings.card or settings.attribution:
        path = find_model(settings.name) / ("card.md" if settings.card else "attribution.md")
        try:
            output.write(path.read_bytes())
        except OSError as error:
            raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from error
        return
    facts = describe_model(settings.name)
    grades = read_grades(Path(facts["folder"]))
    thresholds = _own_thresholds(run, Path(facts["folder"]), facts["digest"])
    if settings.as_json:
        facts["grades"] = list(map(vars, grades))
        facts["thresholds"] = [vars(threshold) for threshold in thresholds]
        output.write(json_bytes(facts, indent=2))
    else:
        rows = [[name.replace("_", " "), _cell(value)] for name, value in facts.items()]
        output.write(lines([*rows, *map(grade_line, grades), *map(threshold_line, thresholds)]))


def _cell(value: Any) -> str:
    """Return a fact as one cell."""
    from bitextfilter.scoring.thresholds import printable_line

    if isinstance(value, dict):
        return " ".join(f"{name}={_cell(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_cell, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else printable_line(str(value))


def _own_thresholds(run: Run, folder: Path, digest: str) -> list[Threshold]:
    """Return the thresholds in a model folder, without those for scores of other weights."""
    from bitextfilter.scoring.thresholds import own_thresholds

    own, others = own_thresholds(folder, digest)
    if others:
        run.warn(
            f"{folder}: {others} thresholds left out: they were estimated with"
            " other weights; bitext-models recommend keeps new ones"
        )
    return own


def grade_line(grade: Grade) -> list[str]:
    """Return the name of an error, its value, and what it was measured on."""
    made = f"pairs={grade.pairs} file={grade.file}"
    return [f"error.{grade.language}", f"{grade.error:.2f}", "weak " * grade.weak + made]


def threshold_line(threshold: Threshold) -> list[str]:
    """Return the name of a threshold, its value, and the figures it was chosen by."""
    figures = [f"{name}={getattr(threshold, name):.4f}" for name in ("precision", "recall", "f1")]
    facts = {name: getattr(threshold, name) for name in ("noise_share", "rows", "file")}
    made = " ".join(
        [*figures, *(f"{n}={value}" for n, value in facts.items() if value is not None)]
    )
    return [".".join(("threshold", *threshold.key)), repr(threshold.threshold), made]


def lines(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows of cells as lines, tab-separated."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()


@command("inspect", _Named, uses="", parent=main)
def inspect_model(run: Run, settings: _Named) -> None:
    """Show the files and the configuration of MODEL as one JSON object.

    It holds name, folder, digest, files with their sizes in bytes, and configuration.

    Example:

        bitext-models inspect en-de
    """
    folder = find_model(settings.name)
    facts = {"name": settings.name, "folder": str(folder), "digest": model_digest(folder)}
    files, config = file_sizes(folder), read_config(folder)
    run.output("-").write(json_bytes({**facts, "files": files, "config": config}, indent=2))
    run.counts["files"] = len(files)


@dataclass(frozen=True)
class _Verified:
    """The models to verify."""

    names: tuple[str, ...] = argument("MODEL...", nargs=-1, required=True)
    digest: str | None = option("--digest DIGEST", "Check that each MODEL has this digest, too.")


@command("verify", _Verified, uses="", parent=main)
def verify_models(run: Run, settings: _Verified) -> None:
    """Load each MODEL in full, as for scoring, and check that it works.

    Checks every file by its digest, card and attribution too. Reads configuration, segmenter,
    vocabulary, every tensor, classifier, neighbours and thresholds, and scores a pair by every
    measure of the model; a translator translates, a reference classifier classifies. A threshold
    must be for a measure of the model and for scores of these very weights. Each sound model gets
    a line: name, digest, ok. The first damaged one ends the run.

    Example:

        bitext-models verify en-de my-model
    """
    from bitextfilter.scoring.inspection import verify_model

    output = run.output("-")
    for name in settings.names:
        folder = find_model(name)
        verify_model(folder)
        found = model_digest(folder)
        if settings.digest not in (None, found):
            raise ModelError(f"{folder}: its digest is {found}, not {settings.digest}")
        output.write(f"{name}\t{found}\tok\n".encode())
        run.counts["models"] += 1


_FOLDER: Any = option("-o --output FOLDER", "The new model's folder.", required=True)
_OWN_FOLDER: Any = option(
    "-o --output FOLDER", "Folder of the new model; it may be MODEL's own.", required=True
)


@dataclass(frozen=True)
class _Recommended(_Named):
    """The model, and the results to keep in it."""

    results: tuple[str, ...] = argument("RESULT...", nargs=-1, required=True)
    folder: str = _OWN_FOLDER
    similarity: str | None = option(
        "--similarity NAME",
        "The measure, for a RESULT that does not name it: with --labels, and of mined pairs.",
        THRESHOLD_MEASURES,
    )


@command("recommend", _Recommended, uses="", parent=main)
def recommend(run: Run, settings: _Recommended) -> None:
    """Keep thresholds suggested by bitext-evaluate in a model, for bitext-models show.

    Each RESULT (- is stdin) is JSON of bitext-evaluate filtering --suggest-threshold or of
    bitext-evaluate mining, for scores of this MODEL. A threshold replaces one of the same use,
    measure and goal. The folder is written whole or not at all; scores and the digest stay the
    same. Writes all thresholds of the model, as bitext-models show does. A model of more than two
    languages has a threshold for each two that MODEL ends with, as my-model:de,cs, and one for
    any others, where MODEL ends with none.

    Example:

        bitext-evaluate filtering --suggest-threshold --json --model my-model clean.tsv > cut.json
        bitext-models recommend my-model cut.json -o my-model
    """
    from bitextfilter.scoring.thresholds import merge_thresholds, write_thresholds

    folder, similarity = Path(settings.folder), settings.similarity
    check_replaceable(folder)
    source = find_model(settings.name)
    read_config(source)
    own, output = model_digest(source), run.output("-")
    pair = ",".join(pair_of_more(settings.name) or ())
    found = (_suggested(run, path, own, similarity) for path in settings.results)
    new = [replace(threshold, languages=pair) for some in found for threshold in some]
    thresholds = merge_thresholds(_own_thresholds(run, source, own), new)
    with writing_folder(folder) as draft:
        copy_model(source, draft)
        write_thresholds(draft, thresholds)
    output.write(lines(map(threshold_line, thresholds)))
    run.counts.update(new=len(new), thresholds=len(thresholds))


@dataclass(frozen=True)
class _Graded(_Named):
    """The model, the files to measure on, and the new folder."""

    files: tuple[str, ...] = argument("LANGUAGES=FILE...", nargs=-1, required=True)
    folder: str = _OWN_FOLDER
    weak_above: float = option(
        "--weak-above PERCENT", "A language with a higher error is weak.", NumberRange(0, 100), 8.0
    )


@command("grade", _Graded, uses="threads device", parent=main)
def grade(run: Run, settings: _Graded) -> None:
    """Measure how well MODEL knows its languages, and keep the figures in it.

    Each FILE is a TSV of pairs with names of its columns, as en,cs=FILE: the model's first language
    and another; a column called - is passed over. The figure is the sentence alignment recovery
    error by CSLS, as of bitext-evaluate recovery, in percent: lower is better. A figure replaces
    an older one of its language. bitext-models show writes them, and who scores a weak language
    is warned. Scores and the digest stay the same.

    Example:

        bitext-models grade my-multi --weak-above 25 en,cs=talks.tsv en,pl,-=more.tsv -o my-multi
    """
    from bitextfilter.scoring.thresholds import merge_grades, read_grades, write_grades
    from bitextfilter.training.multilingual_training import grade_languages

    folder, source = Path(settings.folder), find_model(settings.name)
    check_replaceable(folder)
    files, output = list(map(language_file, settings.files)), run.output("-")
    model = run.load(naming_pair(source), run.common.device, run.common.threads)
    new = []
    for each in grade_languages(model, files, settings.weak_above):
        output.write(lines([grade_line(each)]))
        new.append(each)
    with writing_folder(folder) as draft:
        copy_model(source, draft)
        write_grades(draft, merge_grades(read_grades(source), new))
    run.counts.update(graded=len(new), weak=sum(each.weak for each in new))


_BETWEEN = NumberRange(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True)
class _Joined:
    """The models to join."""

    first: str = argument("FIRST")
    second: str = argument("SECOND")
    folder: str = _FOLDER
    weight: float = option(
        "--weight SHARE", "Share of SECOND's cosine, between 0 and 1.", _BETWEEN, 0.25
    )
    pairs: tuple[str, ...] = option(
        "--pairs FILE",
        "Pairs, a TSV, source first: some of their sentences become the neighbours of csls, ratio"
        " and distance; repeatable.",
        multiple=True,
    )


@command("join", _Joined, uses="", parent=main)
def join(run: Run, settings: _Joined) -> None:
    """Join the encoders of two models of the same languages side by side.

    A sentence vector of the new model is the vectors of both; the cosine of a pair is the weighted
    mean of both cosines. What one encoder mistakes, the other often does not. A classifier and
    thresholds are of the vectors that they were made for, and are left out:
    bitext-train-classifier and bitext-models recommend make new ones.

    Example:

        bitext-models join en-de my-autoencoder --weight 0.25 --pairs clean.tsv.gz -o my-model
    """
    from bitextfilter.training.model_folders import join_models

    models = find_model(settings.first), find_model(settings.second)
    join_models(models, settings.weight, settings.pairs, Path(settings.folder))
    run.counts["encoders"] = len(models)


@dataclass(frozen=True)
class _Pruned(_Named):
    """The model, the two languages that stay, and the new folder."""

    languages: tuple[str, str] = languages_option("The two that stay, as de,cs.", required=True)
    folder: str = _FOLDER


@command("prune", _Pruned, uses="", parent=main)
def prune(run: Run, settings: _Pruned) -> None:
    """Cut the model of two languages out of a model of more.

    It keeps the pieces and the trigrams that either language had in training, and is some times
    smaller. Scores stay the same, but for sentences with other pieces: these become unknown.

    Example:

        bitext-models prune my-multi --languages de,cs -o my-de-cs
    """
    from bitextfilter.training.model_folders import prune_model

    output = Path(settings.folder)
    run.counts.update(prune_model(find_model(settings.name), settings.languages, output))


@dataclass(frozen=True)
class _Exported(_Named):
    """The model, the form and the new folder."""

    form: str = option(
        "--to FORM",
        "sentence-transformers, or onnx.",
        Words(("sentence-transformers", "onnx")),
        required=True,
    )
    folder: str = option("-o --output FOLDER", "The new folder.", required=True)
    language: str | None = option(
        "--language CODE", "Of the text to read, where MODEL has vectors for each language."
    )


@command("export", _Exported, uses="", parent=main)
def export(run: Run, settings: _Exported) -> None:
    """Write the encoder of MODEL for another library, as a folder that it reads.

    For averages of vectors of pieces: the architectures averaging, word and weighted, cut by
    unigram or none. sentence-transformers reads a StaticEmbedding; onnx is a network, model.onnx,
    with its tokenizer.json. The new folder is read again, and its vectors of 2,000 lines of the
    model's pieces are held against MODEL's.

    Example:

        bitext-models export my-model --to sentence-transformers -o exported
    """
    from bitextfilter.encoders.export import export_encoder

    output, source = Path(settings.folder), find_model(settings.name)
    run.counts.update(export_encoder(source, settings.form, settings.language, output))


def _suggested(run: Run, path: str, digest: str, similarity: str | None) -> list[Threshold]:
    """Read the thresholds suggested in a result. Raises InputError for any other file."""
    file = stream_name(path)
    try:
        records = parse_json(read_small(run.input(path), file))["recommended"]
        found = [_filled({**record}, digest, similarity) for record in records]
    except (KeyError, TypeError):
        raise InputError("no result with thresholds", file=file, remedy=_REMEDY) from None
    except ValueError as error:
        raise InputError(f"unusable: {error}", file=file, remedy=_REMEDY) from error
    if not found:
        raise InputError("no threshold was suggested", file=file, remedy=_REMEDY)
    return found


def _filled(record: dict[str, Any], digest: str, similarity: str | None) -> Threshold:
    """Return the threshold of a record, in which measure and model may be None."""
    from bitextfilter.scoring.thresholds import Threshold

    for name, value in (("measure", similarity), ("model", digest)):
        if record[name] is None and value is None:
            raise ValueError("it does not name the measure: give --similarity NAME")
        if value is not None and record[name] not in (None, value):
            raise ValueError(f"of scores of the {name} {record[name]!r}, not of {value!r}")
        record[name] = record[name] or value
    return Threshold.of(record)
