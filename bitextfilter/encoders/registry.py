"""The encoder architectures by name, and encoders loaded from model folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bitextfilter.encoders.averages import AVERAGING, AverageEncoder
from bitextfilter.encoders.expressions import PARTS, combination, parse, views_of
from bitextfilter.encoders.protocol import JoinedEncoder, SentenceEncoder
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.languages import find_language
from bitextfilter.models.folders import SECOND, read_config
from bitextfilter.models.foreign import files_of
from bitextfilter.models.registry import Architecture, NetworkType, Processor, Registry, needing
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES

if TYPE_CHECKING:
    from bitextfilter.encoders.base import Network

PIVOT = "pivot"
"""The encoders of ``autoencoder`` with a decoder of a third language (``papers/pivot.py``)."""


class _Encoders(Registry[NetworkType, Processor]):
    """Named architectures; any other name is an expression of parts (``expressions.py``)."""

    def find(self, name: str) -> Architecture:
        """See :meth:`Registry.find`."""
        if name in self._architectures:
            return super().find(name)
        return combination(name)


ENCODERS: _Encoders[Network, TextProcessor] = _Encoders(
    "encoder",
    {
        "autoencoder": "bitextfilter.encoders.recurrent_encoders:AUTOENCODER",
        PIVOT: "bitextfilter.encoders.recurrent_encoders:AUTOENCODER",
        AVERAGING: "bitextfilter.encoders.expressions:AVERAGING",
    },
    TextProcessor.load,
)


def views(name: str) -> tuple[str, ...]:
    """Return the views of the text that an architecture reads. SettingsError for unknown names."""
    return (PIECES,) if name in ENCODERS else views_of(name)


def sees_order(name: str) -> bool:
    """Return True for an architecture whose vectors depend on the order of the pieces.

    Raises SettingsError for unknown names.
    """
    if name in ENCODERS:
        return name != AVERAGING
    return any(PARTS[part].recurrent for added in parse(name) for part in added)


def _of_pair(
    folder: Path, processor: TextProcessor, languages: tuple[str, str] | None
) -> TextProcessor:
    """Return the text processing of a model for two languages; SettingsError as load_encoder."""
    known = processor.known
    exchanged = languages is not None and _own(languages, known) == processor.languages[::-1]
    if languages is not None and (len(known) > 2 or exchanged):
        return processor.of_pair(languages)
    if len(known) > 2:
        raise SettingsError(
            f"{folder.name} is a model of {len(known)} languages ({', '.join(known)}): name the"
            " two of the columns, as --languages de,cs or in the name of the model,"
            f" {folder.name}:de,cs"
        )
    if languages is not None and _own(languages, known) != processor.languages:
        own, wanted = ("-".join(each) for each in (processor.languages, languages))
        raise SettingsError(f"{folder.name} is a model of {own}, not of {wanted}")
    return processor


def _own(languages: tuple[str, str], known: Sequence[str]) -> tuple[str, ...]:
    """Return two languages as a model spells them, where it knows them."""
    return tuple(find_language(language, known) or language for language in languages)


def load_encoder(
    folder: Path,
    device: str = "cpu",
    threads: int = 1,
    languages: tuple[str, str] | None = None,
) -> SentenceEncoder:
    """Load the encoder of a model folder, or both of them, joined, or one of another library.

    Averages of token vectors need no torch; with *device* ``auto``, too, they are computed by the
    processor. *languages*: of the source and the target; a model of more than two needs them, one
    of two takes its own in either order. Errors as :meth:`Registry.load`; SettingsError for
    languages that are not the model's, ModelError, too, where two encoders do not fit together.
    """

    def load(path: Path) -> SentenceEncoder:
        model = ENCODERS.describe(path)
        processor = _of_pair(folder, model.processor, languages)
        name = model.architecture
        if not sees_order(name) and not device.startswith("cuda"):
            with needing(path, name):
                return AverageEncoder(path, name, model.settings, processor, threads)
        from bitextfilter.encoders.base import Encoder

        return Encoder(processor, ENCODERS.load_network(path, model).network, device, threads)

    config = read_config(folder)
    if files := files_of(folder, config):
        from bitextfilter.encoders.foreign import load_foreign

        return load_foreign(folder, files, languages, device, threads)
    first, joined = load(folder), config.get(SECOND)
    if joined is None:
        return first
    try:
        return JoinedEncoder(first, load(folder / SECOND), float(joined["weight"]))
    except (KeyError, TypeError, ValueError, SettingsError) as error:
        raise ModelError(f"{folder}: the configuration's {SECOND} is unusable: {error}") from error
