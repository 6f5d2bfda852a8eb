"""Encoders of the package sentence-transformers, from local folders, without code of others."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.protocol import MOST_OF_NETWORKS
from bitextfilter.errors import DeviceError, ModelError
from bitextfilter.io.records import folder_files
from bitextfilter.models.device import arithmetic, resolve_device, torch_threads
from bitextfilter.models.foreign import ForeignFiles
from bitextfilter.text.processor import TextProcessor

_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_PACKED = ".safetensors"
_BLOCK = 32


class SentenceTransformersEncoder:
    """Any model of that package; see :class:`SentenceEncoder`.

    Sentences of more tokens than the model reads are cut off, as the package does.
    """

    most = MOST_OF_NETWORKS

    def __init__(
        self, files: ForeignFiles, processor: TextProcessor, device: str = "cpu", threads: int = 1
    ) -> None:
        """Load the model.

        Raises DeviceError without the package, ModelError for a folder that it cannot load, or
        whose tensors are pickled.
        """
        self.processor, self.languages = processor, processor.languages
        self.device, self._threads, self._lock = resolve_device(device), threads, Lock()
        _check_tensors(files.folder)
        self._model = _load(files.folder, str(self.device))
        self.dim = _dim(self._model)
        if not self.dim:
            raise ModelError(f"{files.folder}: does not say how wide its vectors are")

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on the other sentences by rounding alone: less than 1e-5. Raises SettingsError
        for a language the model lacks.
        """
        self.processor.normalise([], language)
        if not len(sentences):
            return np.zeros((0, self.dim), dtype=np.float32)
        with self._lock, torch_threads(self._threads):
            found = self._model.encode(
                list(sentences), batch_size=_BLOCK, show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(found, dtype=np.float32)

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`."""
        return arithmetic(self.device)


def _dim(model: Any) -> int:
    """Return the width of a model's vectors, whatever the version calls it; 0: unknown."""
    name = "get_embedding_dimension"
    known = hasattr(model, name)
    return int(getattr(model, name if known else "get_sentence_embedding_dimension")() or 0)


def _check_tensors(folder: Path) -> None:
    """Raise ModelError for pickled tensors: they could run code."""
    files = folder_files(folder).values()
    packed = {path.parent for path in files if path.suffix == _PACKED}
    for path in files:
        if path.suffix in _PICKLED and path.parent not in packed:
            raise ModelError(f"{path}: pickled, which is never read; take {_PACKED}")


def _load(folder: Path, device: str) -> Any:
    """Load a folder, and nothing from anywhere else."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import sentence_transformers
        from transformers.utils import logging as transformers_logging
    except ImportError as error:
        message = "a package is missing: pip install 'bitextfilter[sentence-transformers]'"
        raise DeviceError(message) from error
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    try:
        return sentence_transformers.SentenceTransformer(
            str(folder.resolve()),
            device=device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # the package and its libraries have errors of many kinds
        raise ModelError(
            f"{folder}: cannot be loaded: {' '.join(str(error).split())[:300]}"
        ) from error
