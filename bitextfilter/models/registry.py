"""Registries of network architectures: settings by name, and model folders written and read.

Only what builds, writes or reads a network imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.folders import MAKERS, kind_of, read_config, write_config
from bitextfilter.models.foreign import files_of
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from torch import nn


class TextProcessing(Protocol):
    """The text processing of a model."""

    def save(self, folder: Path) -> None:
        """Write its files into a model folder."""

    def config(self) -> dict[str, Any]:
        """Return its part of ``config.json``."""

    def sizes(self) -> dict[str, int]:
        """Return the number of ids by view of the text."""


NetworkType = TypeVar("NetworkType", bound="nn.Module")
Processor = TypeVar("Processor", bound=TextProcessing)


class Architecture(NamedTuple):
    """A settings dataclass, and a network made of such settings and the sizes of the views."""

    settings: type[Any]
    network: str | Callable[[Any, Mapping[str, int]], Any]
    """The function or class that makes one, or its name, as ``package.module:NAME``."""
    name: str | None = None
    """Given to it before the settings, if it makes networks of several names."""


@dataclass(frozen=True)
class Described(Generic[Processor]):
    """The configuration of a model folder, and its text processing."""

    architecture: str
    settings: Any
    processor: Processor


@dataclass(frozen=True)
class Loaded(Described[Processor], Generic[NetworkType, Processor]):
    """A model folder in memory."""

    network: NetworkType


class Registry(Generic[NetworkType, Processor]):
    """The architectures of one kind of model by name; only those asked for are imported."""

    def __init__(
        self,
        part: str,
        architectures: Mapping[str, str],
        load_text: Callable[[Path, dict[str, Any]], Processor],
    ) -> None:
        """Register architectures.

        Args:
            part: the section of ``config.json`` and the name of the tensors' file: a key of
                ``folders.MAKERS``.
            architectures: by name, each as ``package.module:ARCHITECTURE``.
            load_text: reads the text processing of a model folder, given its configuration.
        """
        self._part, self._architectures, self._load_text = part, architectures, load_text

    def __iter__(self) -> Iterator[str]:
        return iter(self._architectures)

    def find(self, name: str) -> Architecture:
        """Return the architecture of a name. Raises SettingsError for unknown names."""
        if name not in self._architectures:
            raise SettingsError(f"architecture {none_of(name, self)}")
        architecture: Architecture = resolve_name(self._architectures[name])
        return architecture

    def settings(self, name: str, values: Mapping[str, Any]) -> Any:
        """Return the settings of an architecture. Raises SettingsError for unknown names."""
        kind = self.find(name).settings
        if unknown := sorted(set(values) - set(kind.__dataclass_fields__)):
            raise SettingsError(f"{unknown[0]!r} is no setting of the architecture {name}")
        return kind(**values)

    def build(self, name: str, settings: Any, sizes: Mapping[str, int]) -> NetworkType:
        """Return a freshly initialised network; ``sizes``: the number of ids by view."""
        found = self.find(name)
        make = resolve_name(found.network) if isinstance(found.network, str) else found.network
        if found.name is not None:
            make = partial(make, found.name)
        network: NetworkType = make(settings, sizes)
        return network

    def save(
        self,
        folder: Path,
        kind: tuple[str, Any],
        network: NetworkType,
        processor: Processor,
        bits: int = 32,
    ) -> None:
        """Write a model into an existing folder.

        Args:
            folder: of the model.
            kind: architecture and settings.
            network: its parameters are written.
            processor: the text processing.
            bits: of a number of a matrix, 32, 8, 4 or 3.

        Raises:
            OutputError: the tensors cannot be written.
        """
        from bitextfilter.models.checkpoint import save_tensors

        name, settings = kind
        processor.save(folder)
        save_tensors(folder / f"{self._part}.safetensors", network.state_dict(), bits)
        section = {"architecture": name, **asdict(settings)}
        write_config(folder, {**processor.config(), self._part: section})

    def describe(self, folder: Path) -> Described[Processor]:
        """Read a model folder but for its network.

        Raises:
            NotFoundError: the folder holds no model, or one of its files is missing.
            ModelError: the model is of another kind, damaged, or of a newer version.
        """
        config = read_config(folder)
        if self._part not in config:
            wanted = f"{folder}: no {self._part.replace('_', ' ')}; {MAKERS[self._part]} makes one"
            other = kind_of(config)
            raise ModelError(wanted + (f" (this is of {MAKERS[other]})" if other else ""))
        if files_of(folder, config) is not None:
            raise ModelError(f"{folder}: its encoder is of another library, which this cannot take")
        try:
            values = dict(config[self._part])
            name = values.pop("architecture")
            settings = self.settings(name, values)
        except (KeyError, TypeError, ValueError, SettingsError) as error:
            raise ModelError(
                f"{folder}: the configuration's {self._part} is unusable: {error}"
            ) from error
        return Described(name, settings, self._load_text(folder, config))

    def load(self, folder: Path) -> Loaded[NetworkType, Processor]:
        """Read a model folder. Raises the errors of :meth:`describe`."""
        return self.load_network(folder, self.describe(folder))

    def load_network(
        self, folder: Path, model: Described[Processor]
    ) -> Loaded[NetworkType, Processor]:
        """Read the network of a model folder that was described. Raises the same errors."""
        from bitextfilter.models.checkpoint import load_parameters

        name, settings, sizes = model.architecture, model.settings, model.processor.sizes()
        with needing(folder, name):
            network = load_parameters(folder, self._part, lambda: self.build(name, settings, sizes))
        return Loaded(name, settings, model.processor, network)


@contextmanager
def needing(folder: Path, architecture: str) -> Iterator[None]:
    """Raise ModelError where the KeyError of a view of the text is raised: the text lacks it."""
    try:
        yield
    except KeyError as error:
        raise ModelError(
            f"{folder}: {architecture} needs {error}, which its text processing lacks"
        ) from error
