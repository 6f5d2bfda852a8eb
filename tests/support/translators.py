"""Small translators: untrained, but of wide logits, so that hypotheses differ in score."""

from __future__ import annotations

from pathlib import Path

import torch

from bitextfilter.models.folders import writing_folder
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.parses import TemplateSymbols
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.vocabulary import END
from bitextfilter.translation.network import TokenRows, TranslationNetwork
from bitextfilter.translation.translator import TEMPLATED, TRANSLATORS

SHAPES: dict[str, list[dict[str, object]]] = {
    "transformer": [
        {"width": 8, "heads": 2, "layers": 2, "feed_forward": 12},
        {"width": 4, "heads": 1, "layers": 1, "feed_forward": 4},
    ],
    "recurrent": [
        {"width": 6, "hidden": 4, "encoder_layers": 2, "decoder_layers": 2},
        {"width": 6, "hidden": 3, "cell": "gru", "decoder_layers": 1},
        {"width": 5, "hidden": 2, "attention": "additive", "decoder_layers": 1},
    ],
    "controlled": [
        {"width": 8, "hidden": 4, "decoder_layers": 1, "symbols": 6, "template_width": 2},
    ],
}
COPYING: list[tuple[str, dict[str, object]]] = [
    ("recurrent", {"width": 6, "hidden": 3, "decoder_layers": 2, "copy": True}),
    ("controlled", {**SHAPES["controlled"][0], "copy": True}),
]
CASES = [*((name, shape) for name, shapes in SHAPES.items() for shape in shapes), *COPYING]

LARGER: list[tuple[str, dict[str, object]]] = [
    ("transformer", {"width": 128, "heads": 4, "layers": 2, "feed_forward": 256}),
    ("recurrent", {"width": 64, "hidden": 64}),
    ("recurrent", {"width": 64, "hidden": 64, "copy": True}),
]
"""Of sizes for which other kernels of matrix products may be chosen."""


def network(
    name: str, shape: dict[str, object], vocabulary: int = 9, seed: int = 1
) -> TranslationNetwork:
    """An untrained network whose every parameter is random."""
    torch.manual_seed(seed)
    made = TRANSLATORS.build(name, TRANSLATORS.settings(name, shape), {"pieces": vocabulary})
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.6 * torch.randn_like(parameter))
        made.table.weight.mul_(2.0)
        made.bias[END] += 2.0
    return made.eval()


def rows(*sentences: list[int]) -> TokenRows:
    """Sentences of ids as padded rows."""
    longest = max(map(len, sentences))
    padded = [sentence + [0] * (longest - len(sentence)) for sentence in sentences]
    return TokenRows(torch.tensor(padded), torch.tensor([len(sentence) for sentence in sentences]))


def with_templates(sources: TokenRows) -> TokenRows:
    """Sources with the template that :func:`template` makes of each."""
    sentences = [
        ids[:length].tolist() for ids, length in zip(sources.ids, sources.lengths, strict=True)
    ]
    return sources._replace(templates=rows(*map(template, sentences)))


def template(source: list[int]) -> list[int]:
    """Symbols 1 to 5, as many as the source has ids and one more."""
    return [1, *(1 + number % 5 for number in source)]


CODES = {"a": "aa", "b": "ba", "c": "ce"}
"""Languages by the letters of their words."""


def processor(words: int = 20, letters: str = "ab", symbols: bool = False) -> TextProcessor:
    """One that knows the words a0, a1, … of language aa, and b0, b1, … of language bb.

    With ``symbols`` it knows those of templates, too.
    """
    sides = [[f"{letter}{number}" for number in range(words)] for letter in letters]
    source, target = letters
    languages = (CODES[source], CODES[target])
    segmentation = SegmenterSettings("none")
    made = TextProcessor.learn((sides[0], sides[1]), languages, Normalisation(), segmentation)
    if symbols:
        made.templates = TemplateSymbols(["(", ")", "S", "NP"])
    return made


def text_template(sentence: str) -> str:
    """A template whose length and symbols follow from a sentence's words."""
    parts = [" ( NP )" if word.endswith("1") else " ( X )" for word in sentence.split()]
    return f"( S{''.join(parts)} )"


def saved(folder: Path, case: int = 0, letters: str = "ab") -> Path:
    """The folder of a translator from the first language to the second."""
    name, shape = CASES[case]
    text = processor(letters=letters, symbols=name in TEMPLATED)
    with writing_folder(folder) as draft:
        made = network(name, shape, len(text.vocabulary), seed=1 + case)
        TRANSLATORS.save(draft, (name, TRANSLATORS.settings(name, shape)), made, text)
    return folder
