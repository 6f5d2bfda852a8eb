"""Target sides saved for later searches.

A saved index has sentences, their vectors, and, for margins, the cosines of each sentence to its
nearest on the side it was searched with. Joined with the cosines of a later search, they equal the
cosines of one search of both texts at once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.arrays import Scores
from bitextfilter.errors import InputError, NotFoundError, OutputError, SettingsError
from bitextfilter.io.drafts import draft, put
from bitextfilter.io.files import check_is_here, naming_output, write_whole
from bitextfilter.io.records import changed_files, parse_json, write_digests
from bitextfilter.io.spill import SentenceFile
from bitextfilter.io.vectors import VectorFile

_FORMAT = 1
_DESCRIPTION, _SENTENCES, _VECTORS, _NEAREST = "index.json", "sentences", "vectors", "nearest"


@dataclass(frozen=True)
class IndexDescription:
    """Model, vectors and neighbours of a saved index."""

    model: str
    """Digest of the model that made the vectors, or :func:`given_maker`."""
    dim: int
    form: str
    """Number format of the vectors, one of ``io.vectors.FORMS``."""
    neighbours: int
    """Cosines kept of each sentence."""
    sources: int
    """Sentences of the other side that it has been searched with."""


class SavedIndex:
    """A target side in a folder: sentences, vectors, and cosines to the nearest sources."""

    def __init__(self, folder: Path) -> None:
        """Open it. Raises NotFoundError where there is none, InputError where it is damaged."""
        self.folder = folder
        for name, fault in changed_files(folder):
            raise InputError(fault, file=str(folder / name), remedy="make the index again")
        path = folder / _DESCRIPTION
        if not path.is_file():
            raise NotFoundError(f"{folder}: no index there (bitext-align --index-save makes one)")
        try:
            known: dict[str, Any] = parse_json(path.read_text())
            form = known.pop("format")
            if form != _FORMAT:
                raise SettingsError(f"{folder}: an index of format {form}, this reads {_FORMAT}")
            self.description = IndexDescription(**known)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"damaged: {error}", file=str(path)) from error
        self.sentences_path, self.vectors_path = folder / _SENTENCES, folder / _VECTORS
        self.sentences = SentenceFile(self.sentences_path)
        self.vectors = VectorFile(self.vectors_path, self.description.dim, self.description.form)
        if len(self.vectors) != len(self.sentences):
            raise InputError("its vectors are damaged", file=str(self.vectors_path))

    def nearest(self) -> Scores:
        """Return the cosines of each sentence to its nearest, best first, ``(m, neighbours)``.

        -inf fills up where there were fewer. Raises InputError where they are damaged.
        """
        path = self.folder / _NEAREST
        kept = np.fromfile(path, "<f4") if path.is_file() else np.zeros(0, np.float32)
        shape = len(self.sentences), self.description.neighbours
        if len(kept) != shape[0] * shape[1]:
            raise InputError("its neighbours are damaged", file=str(path))
        return kept.reshape(shape)

    def digest(self) -> str:
        """Return 32 hexadecimal digits over everything but the vectors, which follow from it."""
        whole = hashlib.blake2b(self.sentences.digest().encode(), digest_size=16)
        whole.update((self.folder / _DESCRIPTION).read_bytes())
        whole.update(self.nearest().tobytes())
        return whole.hexdigest()

    def check(self, model: str, neighbours: int) -> None:
        """Raise SettingsError unless it is of this model, and has this number of neighbours.

        *model*: as in :class:`IndexDescription`.
        """
        known = self.description
        if known.model != model:
            raise SettingsError(
                f"{self.folder}: was made by {_named(known.model)}, not by {_named(model)};"
                " take these, or make the index again"
            )
        if known.neighbours < neighbours:
            raise SettingsError(
                f"{self.folder}: keeps {known.neighbours} neighbours, not {neighbours};"
                f" take -k {known.neighbours}, or make the index again"
            )


_GIVEN = "given vectors of "


def given_maker(dim: int) -> str:
    """Return the maker of vectors of *dim* numbers that the user gives."""
    return f"{_GIVEN}{dim} numbers"


def _named(maker: str) -> str:
    return maker if maker.startswith(_GIVEN) else f"the model {maker}"


def highest_cosines(nearest: Scores, older: Scores | None, k: int) -> Scores:
    """Return the k highest of the cosines of both searches, ``(m, any)`` each, as ``(m, k)``."""
    parts = [nearest, np.full((len(nearest), k), -np.inf, np.float32)]
    if older is not None:
        parts.append(older)
    return np.asarray(-np.sort(-np.hstack(parts), axis=1)[:, :k])


@contextmanager
def new_index(folder: Path) -> Iterator[Path]:
    """Make a draft for ``write_index``, put in its place when the block ends without an error.

    *folder* must not exist, or be this index. Raises OutputError.
    """
    check_is_here(folder)
    with ExitStack() as stack:
        with naming_output(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            new = stack.enter_context(draft(folder, folder=True))
        yield new
        with naming_output(folder):
            if not folder.exists():
                put(new, folder)
            elif SavedIndex(new).digest() != SavedIndex(folder).digest():
                raise OutputError(f"{folder}: holds another index; choose another folder")


def write_index(
    folder: Path, files: tuple[Path, Path], nearest: Scores, description: IndexDescription
) -> None:
    """Write an index into an empty folder.

    *files*, of sentences and of vectors, are copied; *nearest* is as of :meth:`SavedIndex.nearest`.
    Raises OutputError.
    """
    with naming_output(folder):
        own = files[0].name
        for path in files[0].parent.iterdir():  # glob takes a folder that it cannot list for empty
            if path.name.startswith(own):
                shutil.copyfile(path, folder / (_SENTENCES + path.name.removeprefix(own)))
        shutil.copyfile(files[1], folder / _VECTORS)
        write_whole(folder / _NEAREST, nearest.astype("<f4").tobytes())
        known = {"format": _FORMAT, **asdict(description)}
        write_whole(folder / _DESCRIPTION, (json.dumps(known, indent=1) + "\n").encode())
        write_digests(folder)
