"""Every way of cutting sentences into pieces, by name: learnt, saved and loaded alike."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from bitextfilter.errors import InputError, ModelError, NotFoundError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.settings import check, setting
from bitextfilter.text.merges import MergeSegmenter, learn_merges
from bitextfilter.text.morphs import MorphSegmenter, learn_morphs
from bitextfilter.text.pieces import Segmenter, sample
from bitextfilter.text.sentencepieces import SentencePieceSegmenter, learn_sentencepiece
from bitextfilter.text.words import WordSegmenter

__all__ = ["KINDS", "Segmenter", "SegmenterSettings", "learn", "load_segmenter", "save_segmenter"]

_DESCRIPTION = "segmenter.json"
_CONTENT = "segmenter.model"
KINDS: dict[str, type[Segmenter]] = {
    "unigram": SentencePieceSegmenter,
    "sentencepiece-bpe": SentencePieceSegmenter,
    "bpe": MergeSegmenter,
    "morfessor": MorphSegmenter,
    "none": WordSegmenter,
}
"""The name of every segmentation and the class that does it."""


_LEARNT = "kind=" + "|".join(kind for kind in KINDS if kind != "none")


@dataclasses.dataclass(frozen=True)
class SegmenterSettings:
    """How to learn a segmentation.

    ``vocabulary_size`` is for ``unigram`` and ``sentencepiece-bpe``, ``merges`` for ``bpe``;
    ``morfessor`` finds its own number. At most ``sample_size`` sentences, chosen by ``seed``,
    are learnt from and held in memory.
    """

    kind: str = setting("unigram", "how words are cut; `none`: not at all", choices=KINDS)
    vocabulary_size: int = setting(
        32_000,
        "pieces, or words if `kind` is none; 0 in the training of an encoder: by the number of"
        " pairs, 2,000 to 24,000",
        within=">= 0",
    )
    merges: int = setting(20_000, "joins of byte-pair encoding", within=">= 0", needs="kind=bpe")
    sample_size: int = setting(
        1_000_000,
        "sentences to learn from, at most; they are held in memory",
        within=">= 1",
        needs=_LEARNT,
    )
    seed: int = setting(
        1,
        "chooses these sentences",
        within=">= 0",
        needs=_LEARNT,
    )

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check(self)


def learn(sentences: Iterable[str], settings: SegmenterSettings) -> Segmenter:
    """Learn from normalised *sentences*; the same ones in the same order give the same result.

    InputError if there is no text, SettingsError if *settings* are unknown or cannot be met.
    """
    if not settings.vocabulary_size:
        raise SettingsError("segmentation.vocabulary_size must be at least 1")
    chosen = sample(sentences, settings.sample_size, settings.seed)
    if not chosen:
        raise InputError("no text to learn a segmentation from")
    match settings.kind:
        case "unigram":
            return learn_sentencepiece(chosen, settings.vocabulary_size, "unigram")
        case "sentencepiece-bpe":
            return learn_sentencepiece(chosen, settings.vocabulary_size, "bpe")
        case "bpe":
            return learn_merges(chosen, settings.merges)
        case "morfessor":
            return learn_morphs(chosen, settings.seed)
    return WordSegmenter()


def save_segmenter(segmenter: Segmenter, folder: Path) -> None:
    """Write ``segmenter.json`` (kind, checksum) and ``segmenter.model`` into *folder*."""
    content = segmenter.to_bytes()
    described = {"kind": segmenter.kind, "sha256": hashlib.sha256(content).hexdigest()}
    write_whole(folder / _CONTENT, content)
    write_whole(folder / _DESCRIPTION, (json.dumps(described) + "\n").encode())


def load_segmenter(folder: Path) -> Segmenter:
    """Read what :func:`save_segmenter` wrote into *folder*.

    NotFoundError if there is no segmenter, ModelError if it is damaged.
    """
    try:
        described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        segmenter, checksum = KINDS[described["kind"]], described["sha256"]
        content = (folder / _CONTENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"{error.filename}: missing") from error
    except OSError as error:
        raise ModelError(f"{error.filename}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        known = ", ".join(KINDS)
        raise ModelError(f"{folder / _DESCRIPTION}: damaged, or not one of {known}") from error
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ModelError(f"{folder / _CONTENT}: damaged: it is not what was saved")
    return segmenter.from_bytes(described["kind"], content)
