"""``bitext-models``: the models there are, what one is, and whether it is sound."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame import Run, command, group
from bitextfilter.errors import ModelError

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

__all__ = ["main"]

main = group(
    "bitext-models",
    """List, inspect and verify models.

    A model is one folder. MODEL is the name of one that comes with the package, or a folder.

    Example:

        bitext-models list
        bitext-models inspect en-de
        bitext-models verify en-de my-model
    """,
)


@command("list", batch_size=None, parent=main)
def list_models(run: Run) -> None:
    """List the models that come with the package.

    One line each, tab-separated: name, source language, target language, digest, bytes.

    Example:

        bitext-models list | cut -f 1
    """
    from bitextfilter.models.checkpoint import digest, read_config
    from bitextfilter.models.folders import shipped

    output = run.output("-")
    run.counts["models"] = 0
    for name, folder in shipped().items():
        cells = [name, *read_config(folder)["languages"], digest(folder)]
        output.write("\t".join([*cells, f"{sum(sizes(folder).values())}\n"]).encode())
        run.counts["models"] += 1


@command("inspect", batch_size=None, parent=main)
@click.argument("name", metavar="MODEL")
def inspect_model(run: Run, name: str) -> None:
    """Say what MODEL is, as one JSON object.

    It holds its name, folder, digest, files with their sizes in bytes, and configuration.

    Example:

        bitext-models inspect en-de
    """
    from bitextfilter.models.checkpoint import digest, read_config
    from bitextfilter.models.folders import find

    folder = find(name)
    facts = {
        "name": name,
        "folder": str(folder),
        "digest": digest(folder),
        "files": sizes(folder),
        "config": read_config(folder),
    }
    run.output("-").write((json.dumps(facts, ensure_ascii=False, indent=2) + "\n").encode())
    run.counts["files"] = len(facts["files"])


@command("verify", batch_size=None, parent=main)
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@click.option("--digest", metavar="DIGEST", help="Check that this is the digest of each, too.")
def verify_models(run: Run, names: tuple[str, ...], digest: str | None) -> None:
    """Load each MODEL whole, as scoring would, and check that it works.

    Configuration, segmenter, vocabulary, every tensor, classifier and neighbours are read, and a
    pair is scored by every measure the model has. Each sound model gets a line: name, digest, ok.
    The first that is not ends the run.

    Example:

        bitext-models verify en-de my-model
    """
    from bitextfilter.scoring.model import load

    output = run.output("-")
    for name in names:
        model = load(name)
        check_numbers(model)
        if digest not in (None, model.digest):
            raise ModelError(f"{model.folder}: its digest is {model.digest}, not {digest}")
        output.write(f"{name}\t{model.digest}\tok\n".encode())
        run.counts["models"] += 1


def sizes(folder: Path) -> dict[str, int]:
    """The files of a model folder by name, with their sizes in bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def check_numbers(model: Model) -> None:
    """Raise ModelError where a tensor or a score of a loaded model is not a finite number."""
    from bitextfilter.models.checkpoint import load_tensors
    from bitextfilter.scoring.scorers import MEASURES

    for path in sorted(model.folder.glob("*.safetensors")):
        for name, tensor in load_tensors(path).items():
            if not tensor.isfinite().all():
                raise ModelError(f"{path}: tensor {name} holds numbers that are not finite")
    missing = {
        need
        for need, part in (("classifier", model.classifier), ("neighbours", model.reference))
        if part is None
    }
    measures = [name for name, measure in MEASURES.items() if measure.needs not in missing]
    for name, scores in model.score(["1 2 3"], ["3 2 1"], measures).items():
        if not math.isfinite(scores[0]):
            raise ModelError(f"{model.folder}: its {name} of a pair is {scores[0]}")
