"""Folders of encoders that other libraries wrote, recognised by their files.

- static: word vectors, averaged: ``StaticEmbedding`` of sentence-transformers, and model2vec
- onnx: a network as ``model.onnx`` beside its ``tokenizer.json``
- sentence-transformers: any other folder of that library
- use, e5: a package, which has all files itself: a folder in ``pretrained/packages/`` names it, its
  version and the digests of its weights; nothing is imported here
- ctranslate2: a translator, by its network ``model.bin``

Such a folder may be a model as it is, or lie in ``encoder/`` within one of ours, beside a
classifier and a background sample that were made for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from bitextfilter.errors import DeviceError, ModelError
from bitextfilter.io.records import file_digest, parse_json

PACKAGED = ("use", "e5")
"""The architectures of such encoders, which are their names and the extras that install them."""
STATIC, ONNX, SENTENCE_TRANSFORMERS = "static", "onnx", "sentence-transformers"
CTRANSLATE2 = "ctranslate2"
"""The translators of another library."""
FOREIGN = (STATIC, ONNX, SENTENCE_TRANSFORMERS, *PACKAGED)
"""The kinds of encoders, which stand for the architecture in a configuration."""

INSIDE = "encoder"
"""The folder of the foreign files within a model of ours."""

LANGUAGES = "bitextfilter.json"
"""The file in a foreign folder that names its languages: ``{"languages": ["en", "de"]}``."""

_CONFIG, _MODULES, _TOKENIZER, _TENSORS = (
    *("config.json", "modules.json"),
    *("tokenizer.json", "model.safetensors"),
)
NETWORK = "model.bin"
"""The network of a translator of CTranslate2."""
_NETWORKS = ("model.onnx", "onnx/model.onnx")


@dataclass(frozen=True)
class ForeignFiles:
    """The files of a foreign encoder."""

    kind: str
    """One of ``FOREIGN``."""
    folder: Path
    """The folder as the library wrote it."""
    parts: Path
    """The folder of tokenizer and tensors, where these are apart from the others."""
    unit: bool = False
    """Vectors are scaled to length 1."""
    without_unknown: bool = False
    """Unknown tokens do not count, as in model2vec."""

    @property
    def network(self) -> Path:
        """The file of an ONNX network."""
        return next(path for name in _NETWORKS if (path := self.folder / name).is_file())

    @property
    def tokenizer(self) -> Path:
        """The file of the tokenizer."""
        return self.parts / _TOKENIZER

    @property
    def tensors(self) -> Path:
        """The file of the word vectors."""
        return self.parts / _TENSORS


def foreign_files(folder: Path) -> ForeignFiles | None:
    """Return the files of a foreign encoder in a folder, None if there is none.

    Raises ModelError for damaged JSON, and for modules that sentence-transformers does not have.
    """
    modules = _modules(folder)
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    config = read_json(folder / _CONFIG)
    if _is_model2vec(config) and (folder / _TOKENIZER).is_file():
        unit = bool(config.get("normalize"))
        return ForeignFiles(STATIC, folder, folder, unit, without_unknown=True)
    if kinds and kinds[0] == "StaticEmbedding" and set(kinds[1:]) <= {"Normalize"}:
        parts = _within(folder, str(modules[0].get("path", "")))
        return ForeignFiles(STATIC, folder, parts, unit=len(kinds) > 1)
    onnx = any((folder / name).is_file() for name in _NETWORKS)
    if onnx and (folder / _TOKENIZER).is_file() and not (folder / _TENSORS).is_file():
        return ForeignFiles(ONNX, folder, folder, unit="Normalize" in kinds)
    return ForeignFiles(SENTENCE_TRANSFORMERS, folder, folder) if modules else None


def _is_model2vec(config: Any) -> bool:
    """Whether a configuration is of model2vec, of any version."""
    if not isinstance(config, dict):
        return False
    named = config.get("model_type") == "model2vec" or config.get("architectures") == [
        "StaticModel"
    ]
    return named or "embedding_dtype" in config


def files_of(folder: Path, config: dict[str, Any]) -> ForeignFiles | None:
    """Return the files of the foreign encoder of a model with this configuration, if it has one.

    Raises ModelError as :func:`foreign_files`, and where there are none.
    """
    section = config.get("encoder")
    if not isinstance(section, dict) or section.get("architecture") not in FOREIGN:
        return None
    if section["architecture"] in PACKAGED:
        return ForeignFiles(section["architecture"], folder, folder)
    found = foreign_files(folder / INSIDE if (folder / INSIDE).is_dir() else folder)
    if found is None or found.kind != section["architecture"]:
        raise ModelError(f"{folder}: no files of a {section['architecture']} encoder there")
    return found


def foreign_config(folder: Path) -> dict[str, Any] | None:
    """Return the configuration of a foreign folder in our terms; None for any other folder.

    ``languages`` are those that ``bitextfilter.json`` names, perhaps none. Raises ModelError for
    damaged JSON.
    """
    found = foreign_files(folder)
    if found is not None:
        return configuration(found.kind, _languages(folder))
    if (folder / NETWORK).is_file():
        return configuration(CTRANSLATE2, _languages(folder), "translator")
    return None


def translator_languages(folder: Path) -> tuple[str, str]:
    """Return the languages that a foreign translator reads and writes; empty if not named.

    Raises ModelError for damaged JSON, and for more than two.
    """
    languages = _languages(folder)
    if len(languages) > 2:
        raise ModelError(f"{folder / LANGUAGES}: a translator has two languages")
    source, target = languages or ["", ""]
    return source, target


def _languages(folder: Path) -> list[str]:
    """Return the languages that a foreign folder names. Raises ModelError for damaged JSON."""
    named = read_json(folder / LANGUAGES)
    languages = (
        named.get("languages", []) if isinstance(named, dict) else [] if named is None else None
    )
    if not isinstance(languages, list) or not all(isinstance(each, str) for each in languages):
        raise ModelError(f'{folder / LANGUAGES}: expected {{"languages": ["en", "de"]}}')
    if len(languages) == 1 or len(set(languages)) < len(languages):
        raise ModelError(f"{folder / LANGUAGES}: expected two languages or more, each once")
    return languages


def configuration(kind: str, languages: Sequence[str], part: str = "encoder") -> dict[str, Any]:
    """Return the configuration of a model of foreign files: an encoder, or a translator."""
    parts = {part: {"architecture": kind}, "segmentation": "foreign"}
    return {"format": 1, "languages": list(languages), **parts}


def _modules(folder: Path) -> list[dict[str, Any]]:
    """Return the modules of sentence-transformers; none in another folder."""
    path = folder / _MODULES
    modules = read_json(path)
    if modules is None:
        return []
    if not isinstance(modules, list) or not all(
        isinstance(module, dict) and isinstance(module.get("type"), str) for module in modules
    ):
        raise ModelError(f"{path}: no list of modules")
    for module in modules:
        if not module["type"].startswith("sentence_transformers."):
            raise ModelError(f"{path}: {module['type']!r:.80} is code of others, which never runs")
    return modules


def _within(folder: Path, name: str) -> Path:
    """Return a folder within *folder*. Raises ModelError for one outside."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ModelError(f"{folder / _MODULES}: {name!r:.80} leads out of the model")
    return path


def read_json(path: Path) -> Any:
    """Return the content of a file of JSON, None if there is none."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: unreadable: {error}") from error


@dataclass(frozen=True)
class Package:
    """A package with an encoder."""

    extra: str
    """One of ``PACKAGED``."""
    name: str
    version: str
    dim: int
    """The width of a vector."""
    files: Mapping[str, str]
    """The files of its weights, with their SHA-256."""

    @classmethod
    def of(cls, folder: Path, config: Mapping[str, Any]) -> Package:
        """Read the configuration of a model folder. Raises ModelError for a damaged one."""
        try:
            own = config["encoder"]
            extra, name, version = own["architecture"], own["package"], own["version"]
            return cls(str(extra), str(name), str(version), int(own["dim"]), dict(own["files"]))
        except (KeyError, TypeError, ValueError) as error:
            message = f"{folder}: the configuration's encoder is unusable: {error}"
            raise ModelError(message) from error

    def fault(self) -> str | None:
        """Return why the package is of no use, with the remedy; None if it is there."""
        try:
            found = distribution(self.name).version
        except PackageNotFoundError:
            return self.remedy("not installed")
        if found != self.version:
            return self.remedy(f"version {found} is installed, not {self.version}")
        return None

    def remedy(self, fault: str) -> str:
        """Return a message of a fault, with the remedy."""
        return f"{self.name}: {fault}; pip install 'bitextfilter[{self.extra}]'"

    def check(self) -> None:
        """Raise DeviceError for :meth:`fault`, and ModelError for other weights than the known."""
        if (fault := self.fault()) is not None:
            raise DeviceError(fault)
        found: Distribution = distribution(self.name)
        for name, known in self.files.items():
            path = Path(str(found.locate_file(name)))
            if file_digest(path) != known:
                raise ModelError(f"{path}: not the weights of {self.name} {self.version}")
