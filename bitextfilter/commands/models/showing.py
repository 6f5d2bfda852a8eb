"""Subcommands of ``bitext-models`` that show and verify models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import argument, flag, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.models.lines import (
    Named,
    cut_line,
    grade_line,
    kept_thresholds,
    lines,
    threshold_line,
)
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.records import json_bytes
from bitextfilter.models.folders import (
    CUTS,
    file_sizes,
    find_model,
    model_digest,
    packaged_models,
    read_config,
    shipped_models,
)
from bitextfilter.models.foreign import PACKAGED, Package


@command("list", uses="")
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
class _Shown(Named):
    """The model to show, and the form."""

    card: bool = flag("--card", "Write the model's card instead.")
    attribution: bool = flag(
        "--attribution", "Write the sources and licences of its training data instead."
    )
    as_json: bool = flag("--json", "Write one JSON object instead of lines.")


@command("show", _Shown, uses="")
def show_model(run: Run, settings: _Shown) -> None:
    """Show the facts about MODEL: its parts, its measures, and its cuts.

    Writes a line for each fact, tab-separated: name and value. cut.NAME is a cut of probabilities,
    and the parts of right and wrong rows that it is expected to keep. A threshold is named
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
    from bitextfilter.scoring.thresholds import named_cut, read_grades

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
    calibrated = "probability" in facts["measures"]
    cuts = [named_cut(settings.name, "probability", name) for name in CUTS if calibrated]
    thresholds = kept_thresholds(run, Path(facts["folder"]), facts["digest"])
    if settings.as_json:
        facts["grades"] = list(map(vars, grades))
        facts["cuts"] = list(map(vars, cuts))
        facts["thresholds"] = [vars(threshold) for threshold in thresholds]
        output.write(json_bytes(facts, indent=2))
    else:
        rows = [[name.replace("_", " "), _cell(value)] for name, value in facts.items()]
        kept = (*map(grade_line, grades), *map(cut_line, cuts), *map(threshold_line, thresholds))
        output.write(lines([*rows, *kept]))


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


@command("inspect", Named, uses="")
def inspect_model(run: Run, settings: Named) -> None:
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


@command("verify", _Verified, uses="")
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
