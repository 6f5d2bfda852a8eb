"""One side of a search, kept so that new text of the other language can be mined against it.

An index has sentences, vectors, and of each sentence the cosines to its nearest on the side that
it was searched with: what margins need. Joined with those of a later search, they are what one
search of both texts at once would find.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.errors import InputError, NotFoundError, OutputError, SettingsError
from bitextfilter.io.drafts import draft
from bitextfilter.io.files import write_whole
from bitextfilter.io.sentence_file import SentenceFile
from bitextfilter.io.vector_file import VectorFile
from bitextfilter.similarity.vectors import Scores

__all__ = ["Description", "SavedIndex", "merged", "save_index"]

_FORMAT = 1
_DESCRIPTION, _SENTENCES, _VECTORS, _NEAREST = "index.json", "sentences", "vectors", "nearest"


@dataclass(frozen=True)
class Description:
    """What an index is of."""

    model: str
    """The digest of the model."""
    dim: int
    form: str
    """One of ``io.vector_file.FORMS``."""
    neighbours: int
    """How many cosines are kept of each sentence."""
    sources: int
    """How many sentences of the other side it has been searched with."""


class SavedIndex:
    """An index in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open it. Raises NotFoundError where there is none, InputError where it is damaged."""
        self.folder = folder
        path = folder / _DESCRIPTION
        if not path.is_file():
            raise NotFoundError(f"{folder}: no index there (bitext-align --index-save makes one)")
        try:
            known: dict[str, Any] = json.loads(path.read_text())
            form = known.pop("format")
            if form != _FORMAT:
                raise SettingsError(f"{folder}: an index of format {form}, this reads {_FORMAT}")
            self.description = Description(**known)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"damaged: {error}", file=str(path)) from error
        self.sentences_path, self.vectors_path = folder / _SENTENCES, folder / _VECTORS
        self.sentences = SentenceFile(self.sentences_path)
        self.vectors = VectorFile(self.vectors_path, self.description.dim, self.description.form)
        if len(self.vectors) != len(self.sentences):
            raise InputError("its vectors are damaged", file=str(self.vectors_path))

    def nearest(self) -> Scores:
        """Cosines of each sentence to its nearest, best first, ``(m, neighbours)``.

        -inf where there were fewer. Raises InputError where they are damaged.
        """
        path = self.folder / _NEAREST
        kept = np.fromfile(path, "<f4") if path.is_file() else np.zeros(0, np.float32)
        shape = len(self.sentences), self.description.neighbours
        if len(kept) != shape[0] * shape[1]:
            raise InputError("its neighbours are damaged", file=str(path))
        return kept.reshape(shape)

    def digest(self) -> str:
        """32 hexadecimal digits over all of it but the vectors, which the model decides."""
        whole = hashlib.blake2b(self.sentences.digest().encode(), digest_size=16)
        whole.update((self.folder / _DESCRIPTION).read_bytes())
        whole.update(self.nearest().tobytes())
        return whole.hexdigest()

    def check(self, model: str, neighbours: int) -> None:
        """Raise SettingsError where it cannot serve a search by this model and so many."""
        known = self.description
        if known.model != model:
            raise SettingsError(
                f"{self.folder}: was made by the model {known.model}, not by {model};"
                " take that model, or make the index again"
            )
        if known.neighbours < neighbours:
            raise SettingsError(
                f"{self.folder}: keeps {known.neighbours} neighbours, not {neighbours};"
                f" take -k {known.neighbours}, or make the index again"
            )


def merged(nearest: Scores, elsewhere: Scores | None, k: int) -> Scores:
    """Join cosines to the nearest ``(m, any)`` here and elsewhere: the k highest, ``(m, k)``."""
    parts = [nearest, np.full((len(nearest), k), -np.inf, np.float32)]
    if elsewhere is not None:
        parts.append(elsewhere)
    return np.asarray(-np.sort(-np.hstack(parts), axis=1)[:, :k])


def save_index(
    folder: Path, files: tuple[Path, Path], nearest: Scores, description: Description
) -> None:
    """Write an index to a folder that must not exist, or be this index, whole or not at all.

    Args:
        folder: where.
        files: its sentences and its vectors; they are copied.
        nearest: as :meth:`SavedIndex.nearest`.
        description: what it is of.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with draft(folder, folder=True) as new:
            for path in files[0].parent.glob(files[0].name + "*"):
                shutil.copyfile(path, new / (_SENTENCES + path.name.removeprefix(files[0].name)))
            shutil.copyfile(files[1], new / _VECTORS)
            write_whole(new / _NEAREST, nearest.astype("<f4").tobytes())
            known = {"format": _FORMAT, **asdict(description)}
            write_whole(new / _DESCRIPTION, (json.dumps(known, indent=1) + "\n").encode())
            if not folder.exists():
                new.rename(folder)
            elif SavedIndex(new).digest() != SavedIndex(folder).digest():
                raise OutputError(f"{folder}: holds another index; choose another folder")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from error
