"""Translators: sentences in, translations with scores out; the cost of a given target.

Architectures are found by name, and translators are loaded from model folders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bitextfilter.arrays import Floats, Ids, Indices
from bitextfilter.errors import ModelError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread, product_type, resolve_device
from bitextfilter.models.folders import read_config
from bitextfilter.models.foreign import CTRANSLATE2
from bitextfilter.models.layers import padding_mask
from bitextfilter.models.registry import Registry
from bitextfilter.settings import Settings, from_1, setting
from bitextfilter.text.parses import template_sides
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import WORD_START
from bitextfilter.text.vocabulary import BEGIN, END, PAD, RESERVED
from bitextfilter.translation.network import (
    ROWS,
    Beam,
    Limits,
    Sampler,
    SearchResult,
    ShapedBlock,
    TokenRows,
    TranslationNetwork,
    search_translations,
    shaped_blocks,
    token_rows,
)

if TYPE_CHECKING:
    from bitextfilter.translation.ctranslate2_translator import Ctranslate2Translator

POSITIONS = 8
"""Positions whose logits are in memory at a time."""


def shifted(targets: TokenRows) -> tuple[Tensor, Tensor]:
    """Return the decoder's inputs and its expected outputs, ``(n, T + 1)`` each; END comes last."""
    ids = targets.ids
    inputs = functional.pad(ids, (1, 0), value=BEGIN)
    outputs = functional.pad(ids, (0, 1)).scatter(1, targets.lengths[:, None], END)
    return inputs, outputs


def log_probabilities(
    network: TranslationNetwork, sources: TokenRows, targets: TokenRows
) -> Tensor:
    """Mean natural-log probability of a target's tokens, the end mark included: float64 ``(n,)``.

    1/(T+1) Σ log p(y_i | y_<i, x), from -inf to 0, higher is better: the length-normalised
    posterior that Kim et al. 2019 compare with (table 1).
    """
    inputs, outputs = shifted(targets)
    decoded = network.states(sources, inputs)
    inside = padding_mask(targets.lengths + 1, inputs.shape[1])
    total = torch.zeros(len(inputs), dtype=torch.float64, device=inputs.device)
    for start in range(0, inputs.shape[1], POSITIONS):
        part = slice(start, start + POSITIONS)
        logs = network.predict(decoded.at((slice(None), part)))
        steps = logs.gather(2, outputs[:, part, None])[:, :, 0].double()
        total += steps.masked_fill(~inside[:, part], 0.0).sum(dim=1)
    return total / (targets.lengths + 1)


class TranslationScorer:
    """Scores pairs of segmented sentences, given by their places."""

    def __init__(
        self,
        costs: Callable[[tuple[Sequence[Any], Sequence[Any]]], Floats],
        sides: tuple[Sequence[Any], Sequence[Any]],
        longest: int | None,
    ) -> None:
        """Take a function of sources and targets, and the tokens of the sentences of each side.

        *longest*: of a sentence, this many tokens count; None for all.
        """
        self._costs = costs
        self._sides = tuple([tokens[:longest] for tokens in side] for side in sides)
        self.truncated = tuple(
            np.array([len(tokens) for tokens in side]) > (longest or np.inf) for side in sides
        )
        """The truncated sentences of each side: ``(n,)``."""

    def __call__(self, rows: Indices, columns: Indices) -> Floats:
        """Score sources and targets at places ``(n,)``; see :func:`log_probabilities`."""
        left, right = self._sides
        return self._costs(([left[row] for row in rows], [right[column] for column in columns]))


SCORED_ROWS = 16
"""Rows of a block of pairs: there are many shapes, and few pairs of each."""
GPU_ROWS = 256
"""Rows of a block of short sentences on a GPU."""


@dataclass(frozen=True)
class SearchSettings(Settings):
    """Settings of a search for translations."""

    width: int = from_1(5, "of the beam (1 is greedy search), or the number of samples")
    maximum_length: int = from_1(256, "subwords read of a source, and written in a translation")
    """A translation also has at most 2 n + 10 subwords, n being the source's length (rounded up as
    blocks round it)."""
    sample: bool = False
    temperature: float = setting(
        1.0, "of sampling; below 1, likely tokens become likelier", within="> 0"
    )
    seed: int = 1


class Hypothesis(NamedTuple):
    """A translation, and the mean natural-log probability of its tokens (end mark included)."""

    text: str
    score: float
    whole: bool
    """False where it reached the greatest length."""


class Translation(NamedTuple):
    """The translations of a sentence."""

    hypotheses: list[Hypothesis]
    """Distinct, best first; none for a blank sentence."""
    left: int
    """Subwords truncated at the end of a source that is too long."""

    @property
    def best(self) -> str:
        """The text of the best; empty for a blank sentence."""
        return self.hypotheses[0].text if self.hypotheses else ""


class Translator:
    """A translation network and its text processing.

    Every result depends on its sentence and the model alone, to the last bit: not on the other
    sentences, their number or order, nor on the number of threads.
    """

    packages: tuple[str, ...] = ()
    """Optional packages that results depend on."""

    def __init__(
        self,
        processor: TextProcessor,
        network: TranslationNetwork,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """Move the network to the device. Raises DeviceError where that is missing."""
        self.processor = processor
        self.device = resolve_device(device)
        self.network = network.to(self.device).eval()
        self._threads = threads if self.device.type == "cpu" else 1
        self._rows = ROWS if self.device.type == "cpu" else GPU_ROWS
        self._scored_rows = SCORED_ROWS if self.device.type == "cpu" else GPU_ROWS
        self._word_start = _word_start(processor, self.device)

    def translate(
        self,
        sentences: Sequence[str],
        settings: SearchSettings | None = None,
        templates: Sequence[str] | None = None,
    ) -> list[Translation]:
        """Translate ``n`` sentences of the source language, in their order.

        ``templates``: one for each sentence, as ``text/parses.py`` makes them, for a model that
        follows templates. Raises SettingsError where they are missing, or the model has no use
        for them.
        """
        settings = settings or SearchSettings()
        language = self.processor.languages[0]
        whole = self.processor.ids(sentences, language)
        ids = [row[: settings.maximum_length] for row in whole]
        blank = [not text for text in self.processor.normalise(sentences, language)]
        sides = [ids, *template_sides(self.processor.templates, templates)]
        places = np.flatnonzero(~np.array(blank, dtype=bool))
        rows = max(1, self._rows // settings.width)
        lengths = np.array([[len(side[place]) for side in sides] for place in places])
        found: dict[int, list[Hypothesis]] = {}

        def run(block: ShapedBlock) -> None:
            block = block._replace(items=places[block.items])
            result = self._search(sides, block, settings)
            for row, place in enumerate(block.items.tolist()):
                found[place] = self._hypotheses(result, row)

        self._map(run, shaped_blocks(lengths, rows))
        return [
            Translation(found.get(place, []), len(row) - len(ids[place]))
            for place, row in enumerate(whole)
        ]

    def log_probabilities(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        templates: Sequence[str] | None = None,
    ) -> Floats:
        """Mean natural-log probability of the tokens of each target given its source: ``(n,)``.

        See :func:`~bitextfilter.translation.translator.log_probabilities`, and for ``templates``
        :meth:`translate`.
        """
        sides = [
            *self._read(sources, targets),
            *template_sides(self.processor.templates, templates),
        ]
        return self._costs(sides)

    def pair_scorer(
        self, sources: Sequence[str], targets: Sequence[str], longest: int | None = None
    ) -> TranslationScorer:
        """Segment the sentences of both sides, once, and return a scorer of their pairs.

        ``longest``: sentences are truncated to this many subwords; None for no limit. Raises
        SettingsError for a model that follows templates.
        """
        template_sides(self.processor.templates, None)
        source, target = self._read(sources, targets)
        return TranslationScorer(self._costs, (source, target), longest)

    def _read(self, *texts: Sequence[str]) -> list[list[Ids]]:
        sides = zip(texts, self.processor.languages, strict=True)
        return [self.processor.ids(some, language) for some, language in sides]

    def _costs(self, sides: Sequence[Sequence[Ids]]) -> Floats:
        out = np.empty(len(sides[0]))

        def run(block: ShapedBlock) -> None:
            source, target, *template = self._sides(sides, block)
            source = source._replace(templates=template[0] if template else None)
            scores = log_probabilities(self.network, source, target).cpu().numpy()
            out[block.items] = scores[: len(block.items)]

        lengths = np.array([[len(ids) for ids in row] for row in zip(*sides, strict=True)])
        self._map(run, shaped_blocks(lengths, self._scored_rows))
        return out

    def _sides(self, sides: Sequence[Sequence[Ids]], block: ShapedBlock) -> list[TokenRows]:
        return [token_rows(side, block, number, self.device) for number, side in enumerate(sides)]

    def _map(self, run: Callable[[ShapedBlock], None], blocks: list[ShapedBlock]) -> None:
        with one_torch_thread():
            map_blocks(torch.inference_mode()(run), blocks, self._threads)

    def _search(
        self, sides: Sequence[Sequence[Ids]], block: ShapedBlock, settings: SearchSettings
    ) -> SearchResult:
        source, *template = self._sides(sides, block)
        source = source._replace(templates=template[0] if template else None)
        real = torch.arange(block.rows, device=self.device) < len(block.items)
        longest = min(2 * block.shape[0] + 10, settings.maximum_length)
        chooser: Beam | Sampler = Beam(settings.width)
        if settings.sample:
            chances = _chances(
                [sides[0][item] for item in block.items], block.rows, longest, settings
            )
            chooser = Sampler(chances.to(self.device), settings.temperature)
        limits = Limits(longest, *self._word_start)
        return search_translations(self.network, source, real, chooser, limits)

    def _hypotheses(self, found: SearchResult, row: int) -> list[Hypothesis]:
        """Return the hypotheses of a row; of equal texts the best."""
        pieces, join = self.processor.vocabulary.piece, self.processor.segmenter.join
        texts: dict[str, Hypothesis] = {}
        parts = zip(*(part[row].tolist() for part in found), strict=True)
        for ids, score, whole in parts:
            text = join([pieces(number) for number in ids if number != PAD])
            if score > float("-inf"):
                texts.setdefault(text, Hypothesis(text, score, whole))
        return list(texts.values())


def _word_start(processor: TextProcessor, device: torch.device) -> tuple[int, Tensor] | tuple[()]:
    """Return the piece that only marks the start of a word, and the pieces not allowed after it.

    The latter as a mask ``(v,)``. Empty where there is no such piece, or none could follow it.
    """
    vocabulary = processor.vocabulary
    number = vocabulary.index.get(WORD_START)
    if number is None or processor.segmenter.join([WORD_START]):
        return ()
    starting = [number == END for number in range(len(RESERVED))]
    starting += [piece.startswith(WORD_START) for piece in vocabulary.pieces]
    return () if all(starting[len(RESERVED) :]) else (number, torch.tensor(starting, device=device))


def _chances(sentences: Sequence[Ids], rows: int, longest: int, settings: SearchSettings) -> Tensor:
    """Random numbers that follow from the seed and the sentence: ``(rows, k, longest + 1)``."""
    out = np.zeros((rows, settings.width, longest + 1))
    for row, ids in enumerate(sentences):
        content = hashlib.sha256(f"{settings.seed}\0".encode() + ids.tobytes()).digest()
        random = np.random.default_rng(int.from_bytes(content[:16], "big"))
        out[row] = random.random(out.shape[1:])
    return torch.from_numpy(out)


TRANSLATORS: Registry[TranslationNetwork, TextProcessor] = Registry(
    "translator",
    {
        "transformer": "bitextfilter.translation.architectures:TRANSFORMER",
        "recurrent": "bitextfilter.translation.architectures:RECURRENT",
        "controlled": "bitextfilter.translation.architectures:CONTROLLED",
    },
    TextProcessor.load,
)

TEMPLATED = ("controlled",)
"""Architectures that follow templates; their settings have ``symbols``, the size of the table."""


AnyTranslator: TypeAlias = "Translator | Ctranslate2Translator"


def load_translator(folder: Path, device: str = "cpu", threads: int = 1) -> AnyTranslator:
    """Load the translator of a model folder, ours or CTranslate2's.

    Errors as :meth:`Registry.load`, and DeviceError where a device or a package is missing.

    On devices that multiply bfloat16 fast, matrices are multiplied in bfloat16: scores then change
    by some thousandths, reproducibly.
    """
    section = read_config(folder).get("translator")
    if isinstance(section, dict) and section.get("architecture") == CTRANSLATE2:
        from bitextfilter.translation.ctranslate2_translator import Ctranslate2Translator

        return Ctranslate2Translator(folder, device, threads)
    model = TRANSLATORS.load(folder)
    known = model.processor.templates
    if (known is not None) != (model.architecture in TEMPLATED):
        raise ModelError(f"{folder}: symbols of templates are missing, or belong to another model")
    if known is not None and len(known) > model.settings.symbols:
        raise ModelError(f"{folder}: more symbols of templates than the table of them has rows")
    if product_type(resolve_device(device)) == torch.bfloat16:
        model.network.eval().narrow()
    return Translator(model.processor, model.network, device, threads)
