"""Folders that CTranslate2 has converted: their files, found and held against each other.

Here ``model.bin`` is read for the names and shapes of its tensors alone. Its layout: version of the
format, name and revision of the network, number of tensors; of each its name, shape, type and
number of bytes, and then these bytes. Numbers are little-endian; a text follows its length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.json_text import parse_json
from bitextfilter.models.foreign import LANGUAGES, NETWORK

_CONFIG = "config.json"
_SEGMENTERS: tuple[tuple[tuple[str, str], bool], ...] = (
    (("source.spm", "target.spm"), True),
    (("sentencepiece.bpe.model", "sentencepiece.bpe.model"), True),
    (("spiece.model", "spiece.model"), True),
    (("sentencepiece.model", "sentencepiece.model"), False),
    (("spm.model", "spm.model"), False),
)
"""Names of the files of sentencepiece of both sides, and whether such models read an end mark:
those of transformers do, those of OpenNMT do not."""
_VERSIONS = range(4, 7)
"""Formats of ``model.bin`` with this layout."""
_POSITIONS = tuple(f"{part}/position_encodings/encodings" for part in ("encoder", "decoder"))
_TABLES = (
    ("encoder/embeddings_0/weight", "encoder/embeddings/weight"),
    ("decoder/embeddings/weight",),
)


@dataclass(frozen=True)
class Marks:
    """Tokens around a sentence that are not of its text."""

    end: str
    """The end mark."""
    unknown: str
    """Stands for a token that the network does not know."""
    source: tuple[str, ...] = ()
    """Before each source, such as a language."""
    target: tuple[str, ...] = ()
    """Before each target."""
    source_end: bool = True
    """Whether we write the end mark behind a source."""


class Ctranslate2Files:
    """The files of a translator."""

    def __init__(self, folder: Path) -> None:
        """Find the files. Raises NotFoundError for a missing one."""
        self.folder = folder
        names, self._ends = next(
            (known for known in _SEGMENTERS if (folder / known[0][0]).is_file()), _SEGMENTERS[0]
        )
        self.segmenters = tuple(self._file(name) for name in names)
        """The sentencepiece models of source and target."""
        self._file(_CONFIG)
        self._vocabularies = tuple(self._vocabulary(side) for side in ("source", "target"))

    def _file(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise NotFoundError(f"{path}: missing from the model folder")
        return path

    def _vocabulary(self, side: str) -> Path:
        names = [f"{name}_vocabulary.{end}" for name in ("shared", side) for end in ("json", "txt")]
        found = (path for name in names if (path := self.folder / name).is_file())
        return next(found, None) or self._file(names[0])

    @cached_property
    def marks(self) -> Marks:
        """The marks around sentences. Raises ModelError for damaged files."""
        config, own = _settings(self.folder / _CONFIG), {}
        if (path := self.folder / LANGUAGES).exists():
            own = _settings(path)
        ends = config.get("add_source_eos") is not True and own.get("source_end", self._ends)
        prefixes = [own.get(f"{side}_prefix", []) for side in ("source", "target")]
        if not isinstance(ends, bool) or not all(map(_are_texts, prefixes)):
            raise ModelError(
                f'{path}: expected lists of tokens as "source_prefix" and "target_prefix", and true'
                ' or false as "source_end"'
            )
        end, unknown = config.get("eos_token", "</s>"), config.get("unk_token", "<unk>")
        if not _are_texts([end, unknown]):
            raise ModelError(f"{self.folder / _CONFIG}: its marks are no texts")
        source, target = map(tuple, prefixes)
        return Marks(end, unknown, source, target, ends)

    def tokens(self) -> list[list[str]]:
        """Return the tokens of either side by their numbers. Raises ModelError."""
        return [_read_tokens(path) for path in self._vocabularies]

    def positions(self) -> int | None:
        """Return the number of tokens that the network can read; None for any.

        Raises ModelError for a damaged network, and for one of another vocabulary.
        """
        shapes = self._shapes()
        for path, tokens, names in zip(self._vocabularies, self.tokens(), _TABLES, strict=True):
            rows = next((shapes[name][0] for name in names if shapes.get(name)), len(tokens))
            if rows != len(tokens):
                network = self.folder / NETWORK
                raise ModelError(f"{path}: {len(tokens)} tokens, and {network} has {rows}")
        known = [shapes[name][0] for name in _POSITIONS if shapes.get(name)]
        return min(known, default=None)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the tensors by name; none of a format of another layout."""
        path = self.folder / NETWORK
        size = path.stat().st_size
        try:
            with path.open("rb") as stream:
                if _number(stream, "<I") not in _VERSIONS:
                    return {}
                _text(stream)
                _, count = _number(stream, "<I"), _number(stream, "<I")
                shapes = {}
                for _ in range(count):
                    name, rank = _text(stream), _number(stream, "<B")
                    shapes[name] = tuple(_number(stream, "<I") for _ in range(rank))
                    _number(stream, "<B")
                    end = _number(stream, "<I") + stream.tell()
                    if end > size:
                        raise EOFError
                    stream.seek(end)
                return shapes
        except (EOFError, UnicodeDecodeError, struct.error):
            raise ModelError(f"{path}: damaged: it is cut off, or no network") from None


def _number(stream: BinaryIO, form: str) -> int:
    (found,) = struct.unpack(form, stream.read(struct.calcsize(form)))
    return int(found)


def _text(stream: BinaryIO) -> str:
    content = stream.read(_number(stream, "<H"))
    return content.removesuffix(b"\0").decode("utf-8")


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _json(path: Path) -> Any:
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: unreadable: {error}") from error


def _settings(path: Path) -> dict[str, Any]:
    """Return the object in a file of JSON. Raises ModelError."""
    found = _json(path)
    if not isinstance(found, dict):
        raise ModelError(f"{path}: no object of JSON")
    return found


def _read_tokens(path: Path) -> list[str]:
    """Return the tokens of a vocabulary. Raises ModelError."""
    if path.suffix == ".json":
        found = _json(path)
        if not _are_texts(found):
            raise ModelError(f"{path}: no list of tokens")
        return list(found)
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: unreadable: {error}") from error


def check_pieces(path: Path, pieces: Sequence[str] | frozenset[str], known: Sequence[str]) -> None:
    """Raise ModelError unless the network knows most of the pieces of a segmenter."""
    both = len(set(pieces) & set(known))
    if 2 * both < min(len(pieces), len(known)):
        raise ModelError(f"{path}: belongs to another network, which knows {both} of its pieces")
