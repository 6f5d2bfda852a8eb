"""Translators that CTranslate2 has converted: translations, and the cost of a given target.

``model.bin`` is read here for the names and shapes of its tensors alone. Its layout: version of the
format, name and revision of the network, number of tensors; of each its name, shape, type and
number of bytes, and then these bytes. Numbers are little-endian; a text follows its length.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from bitextfilter.arrays import Floats
from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError, optional
from bitextfilter.models.foreign import LANGUAGES, NETWORK, read_json, translator_languages
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SEGMENTERS, Segmenter
from bitextfilter.translation.network import shaped_blocks
from bitextfilter.translation.translator import (
    Hypothesis,
    SearchSettings,
    Translation,
    TranslationScorer,
)

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


def _settings(path: Path) -> dict[str, Any]:
    """Return the object in a file of JSON. Raises ModelError."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise ModelError(f"{path}: no object of JSON")
    return found


def _read_tokens(path: Path) -> list[str]:
    """Return the tokens of a vocabulary. Raises ModelError."""
    if path.suffix == ".json":
        found = read_json(path)
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


_TASKS = 32
"""Sentences, or pairs, of a thread that are given to the package at a time: it heeds no signal."""

Tokens = list[str]


class Ctranslate2Translator:
    """A network of CTranslate2 between sentencepiece models; see ``Translator``.

    Each sentence, and each pair, is computed alone and by one thread: in batches, rounding to int8
    moves scores by up to 0.01. So every result depends on its sentence and the model alone, to the
    last bit.
    """

    device = torch.device("cpu")
    packages: tuple[str, ...] = ("ctranslate2",)

    def __init__(self, folder: Path, device: str = "cpu", threads: int = 1) -> None:
        """Load a folder.

        Raises NotFoundError for a missing file, ModelError for a damaged one, and DeviceError for
        a GPU, or without the package.
        """
        if device.startswith("cuda"):
            raise DeviceError(f"{folder}: CTranslate2 runs on processors here: --device cpu")
        self.processor = TextProcessor.plain(translator_languages(folder))
        self._folder, self._threads = folder, threads
        files = Ctranslate2Files(folder)
        self._marks = files.marks
        self._segmenters = tuple(map(_segmenter, files.segmenters))
        for path, segmenter, known in zip(
            files.segmenters, self._segmenters, files.tokens(), strict=True
        ):
            check_pieces(path, segmenter.inventory() or frozenset(), known)
        around = max(
            len(self._marks.source) + self._marks.source_end + 1, len(self._marks.target) + 1
        )
        positions = files.positions()
        self._longest = None if positions is None else max(positions - around, 1)
        self._network = _network(folder, threads)

    def translate(
        self,
        sentences: Sequence[str],
        settings: SearchSettings | None = None,
        templates: Sequence[str] | None = None,
    ) -> list[Translation]:
        """See :meth:`Translator.translate`; SettingsError for templates and samples."""
        settings = settings or SearchSettings()
        if templates is not None or settings.sample:
            what = "templates" if settings.sample is False else "samples (--sample)"
            raise SettingsError(f"{self._folder}: translators of CTranslate2 have no {what}")
        whole = self._segmenters[0].segment_all(sentences)
        longest = min(settings.maximum_length, self._longest or settings.maximum_length)
        cut = [tokens[:longest] for tokens in whole]
        places = np.array([i for i, text in enumerate(sentences) if text.strip()], np.int64)
        lengths = np.array([[max(len(cut[place]), 1)] for place in places.tolist()])
        found: dict[int, list[Hypothesis]] = {}
        for block in shaped_blocks(lengths, _TASKS * self._threads):
            items, most = places[block.items].tolist(), min(2 * block.shape[0] + 10, longest)
            some = self._search([cut[place] for place in items], settings.width, most)
            found.update(zip(items, some, strict=True))
        return [
            Translation(found.get(place, []), len(tokens) - len(cut[place]))
            for place, tokens in enumerate(whole)
        ]

    def log_probabilities(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        templates: Sequence[str] | None = None,
    ) -> Floats:
        """See :meth:`Translator.log_probabilities`; SettingsError for templates.

        Sentences are truncated to the positions that the network has.
        """
        if templates is not None:
            raise SettingsError(f"{self._folder}: translators of CTranslate2 have no templates")
        places = np.arange(len(sources))
        return self.pair_scorer(sources, targets)(places, places)

    def pair_scorer(
        self, sources: Sequence[str], targets: Sequence[str], longest: int | None = None
    ) -> TranslationScorer:
        """See :meth:`Translator.pair_scorer`; sentences are truncated to what the network reads."""
        sides = zip(self._segmenters, (sources, targets), strict=True)
        source, target = (segmenter.segment_all(texts) for segmenter, texts in sides)
        limits = [limit for limit in (longest, self._longest) if limit is not None]
        return TranslationScorer(self._costs, (source, target), min(limits, default=None))

    def _costs(self, sides: Sequence[Sequence[Tokens]]) -> Floats:
        """Return the costs of targets given sources; see :meth:`log_probabilities`."""
        out = np.empty(len(sides[0]))
        lengths = [len(source) + len(target) for source, target in zip(*sides, strict=True)]
        order, prefix = np.argsort(lengths, kind="stable")[::-1], list(self._marks.target)
        size, every = _TASKS * self._threads, order.tolist()
        for items in (every[start : start + size] for start in range(0, len(every), size)):
            found = self._run(
                "score_batch",
                [self._source(sides[0][item]) for item in items],
                [prefix + sides[1][item] for item in items],
                offset=len(prefix),
            )
            out[items] = [np.mean(one.log_probs) for one in found]
        if not np.isfinite(out).all():
            raise ModelError(f"{self._folder}: its scores are not finite numbers")
        return out

    def _source(self, tokens: Tokens) -> Tokens:
        """Return a source with its marks; never without a token."""
        marks = self._marks
        end = [marks.end] if marks.source_end else []
        return [*marks.source, *(tokens or [marks.unknown]), *end]

    def _search(self, sources: list[Tokens], width: int, longest: int) -> list[list[Hypothesis]]:
        """Return the hypotheses of each source, best first; of equal texts the best."""
        prefix, end = list(self._marks.target), self._marks.end
        found = self._run(
            "translate_batch",
            list(map(self._source, sources)),
            [prefix] * len(sources) if prefix else None,
            beam_size=width,
            num_hypotheses=width,
            max_decoding_length=longest,
            disable_unk=True,
            return_end_token=True,
        )
        rows = [
            (row, tokens[len(prefix) :])
            for row, one in enumerate(found)
            for tokens in one.hypotheses
        ]
        bare = [[token for token in tokens if token != end] for _, tokens in rows]
        scores = self._costs(([sources[row] for row, _ in rows], bare))
        texts: list[dict[str, Hypothesis]] = [{} for _ in sources]
        for place in np.argsort(-scores, kind="stable").tolist():
            row, tokens = rows[place]
            text = self._segmenters[1].join(bare[place])
            one = Hypothesis(text, float(scores[place]), tokens[-1:] == [end])
            texts[row].setdefault(text, one)
        return [[one for one in row.values() if one.text] or [*row.values()] for row in texts]

    def _run(self, name: str, *given: Any, **options: Any) -> Any:
        """Call the network: each sentence by itself."""
        try:
            call = getattr(self._network, name)
            return call(*given, max_batch_size=1, max_input_length=0, **options)
        except Exception as error:  # the package has errors of many kinds
            raise ModelError(f"{self._folder}: {_line(error)}") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _segmenter(path: Path) -> Segmenter:
    try:
        return SEGMENTERS["unigram"].from_bytes("unigram", path.read_bytes())
    except (OSError, ModelError) as error:
        raise ModelError(f"{path}: {error}") from error


def _network(folder: Path, threads: int) -> Any:
    """Load the network."""
    with optional("the package ctranslate2 is missing:", "ctranslate2"):
        import ctranslate2
    ctranslate2.set_log_level(logging.ERROR)
    try:
        return ctranslate2.Translator(
            str(folder), "cpu", inter_threads=threads, intra_threads=1, max_queued_batches=-1
        )
    except Exception as error:  # the package has errors of many kinds
        raise ModelError(f"{folder}: unusable network: {_line(error)}") from error
