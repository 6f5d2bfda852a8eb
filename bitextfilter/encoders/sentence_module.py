"""A module of sentence-transformers that encodes by a model of ours, whatever its architecture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.languages import own_language
from bitextfilter.models.folders import all_languages_of, check_folder, copy_model, find_model

CLASS = f"{__name__}.SentenceModule"
"""The name of the class in ``modules.json``."""

_LANGUAGE = "language.json"
_MODEL = "model"


class SentenceModule(torch.nn.Module):
    """The only module of a ``SentenceTransformer``: ``modules=[SentenceModule("multi", "de")]``.

    Vectors are those of ``Model.encode``, to the last bit.
    """

    def __init__(self, name_or_folder: str | Path, language: str | None = None) -> None:
        """Load the encoder of a shipped model, or of a folder.

        Args:
            name_or_folder: of the model.
            language: of the text; a model of two languages needs it.

        Raises the errors of ``bitextfilter.load``; SettingsError for a language that is missing,
        or that the model lacks.
        """
        super().__init__()
        self.folder = find_model(name_or_folder)
        known = all_languages_of(name_or_folder)
        if language is None and len(known) <= 2:
            wanted = " or ".join(known)
            raise SettingsError(f"{name_or_folder}: name the language of the text, {wanted}")
        self.language = own_language(language or known[0], known)
        other = next((one for one in known if one != self.language), self.language)
        pair = (self.language, other) if len(known) > 2 else None
        self.encoder = load_encoder(self.folder, languages=pair)

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **_: Any
    ) -> dict[str, torch.Tensor]:
        """Encode *inputs*, ``n`` sentences, each behind the *prompt* → float32 ``(n, dim)``."""
        texts = [f"{prompt or ''}{text}" for text in inputs]
        return {"sentence_embedding": torch.from_numpy(self.encoder.encode(texts, self.language))}

    tokenize = preprocess
    """The name before sentence-transformers 6."""

    def forward(self, features: dict[str, torch.Tensor], **_: Any) -> dict[str, torch.Tensor]:
        """Return the vectors as they are."""
        return features

    def get_embedding_dimension(self) -> int:
        """Return the number of numbers of a vector."""
        return self.encoder.dim

    get_sentence_embedding_dimension = get_embedding_dimension
    """The name before sentence-transformers 6."""

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the model and the language into a folder."""
        folder = Path(output_path)
        copy_model(self.folder, folder / _MODEL)
        text = json.dumps({"language": self.language}) + "\n"
        (folder / _LANGUAGE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **_: Any) -> SentenceModule:
        """Read a folder of :meth:`save`: safetensors and JSON alone, checked by their digests.

        Raises NotFoundError or ModelError for files that are missing or damaged.
        """
        home = Path(model_name_or_path)
        check_folder(home)
        path = home / subfolder / _LANGUAGE
        try:
            language = str(json.loads(path.read_text(encoding="utf-8"))["language"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: unreadable: {error}") from error
        return cls(path.parent / _MODEL, language)
