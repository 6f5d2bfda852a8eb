"""Models that are damaged, and columns that are swapped: one clear line, and no output."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import Result
from console import invoke, says_one_line
from toys import as_older

from bitextfilter.encoders.combination import AveragingNetwork
from bitextfilter.encoders.expressions import AveragingSettings
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import NotFoundError
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.folders import writing_folder
from bitextfilter.settings import read_settings
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings

GOOD = b"a1 a2\tb1 b2\n"


def call(folder: Path, *words: object, data: bytes = GOOD, code: int = 0) -> Result:
    return invoke("bitext-score", *words, "--model", folder, data=data, code=code)


ENGLISH = ["the dog drinks milk", "a cat is in the house", "the old dog sleeps"]
GERMAN = ["der hund trinkt milch", "eine katze ist im haus", "der alte hund schläft"]


@pytest.fixture(scope="module")
def english_german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows words of English from words of German."""
    sides = ENGLISH * 200, GERMAN * 200
    languages, segmentation = ("en", "de"), SegmenterSettings("none")
    processor = TextProcessor.learn(sides, languages, Normalisation(), segmentation)
    settings = AveragingSettings(4)
    network = AveragingNetwork(settings, processor.sizes())
    folder = tmp_path_factory.mktemp("models") / "en-de"
    with writing_folder(folder) as draft:
        ENCODERS.save(draft, ("averaging", settings), network, processor)
    return folder


def test_swapped_columns_are_warned_of(english_german: Path) -> None:
    pairs = [*zip(ENGLISH, GERMAN, strict=True)] * 10
    straight = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    swapped = "".join(f"{target}\t{source}\n" for source, target in pairs).encode()
    quiet = [call(english_german, data=straight)]
    quiet.append(call(english_german, "--scol", "2", "--tcol", "1", data=swapped))
    assert not any("warning" in result.stderr for result in quiet)
    result = call(english_german, data=swapped)
    assert "bitext-score: warning: the columns look swapped: " in result.stderr


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def reshape(path: Path) -> None:
    tensors = {name: tensor.repeat(2, 1) for name, tensor in load_tensors(path).items()}
    save_tensors(path, tensors)


def poison(path: Path) -> None:
    tensors = load_tensors(path)
    next(tensor for tensor in tensors.values() if tensor.ndim == 2)[0, 0] = torch.nan
    save_tensors(path, tensors)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def configure(**changes: object) -> Callable[[Path], None]:
    """What changes a ``section_name`` of a configuration, or a whole ``section``."""

    def change(path: Path) -> None:
        config = json.loads(path.read_text())
        for place, value in changes.items():
            section, _, name = place.partition("_")
            config[section] = {**config[section], name: value} if name else value
        path.write_text(json.dumps(config))

    return change


WHOLE = ("config.json", "segmenter.json", "vocabulary.tsv", "encoder.safetensors",
         "classifier.safetensors")  # fmt: skip
DAMAGE: dict[str, tuple[str, Callable[[Path], None], int]] = {
    **{f"cut {name}": (name, cut, 65) for name in (*WHOLE, "neighbours.npz")},
    **{f"no {name}": (name, Path.unlink, 66) for name in WHOLE},
    **{f"other shapes in {name}": (name, reshape, 65) for name in WHOLE[3:]},
    **{f"no numbers in {name}": (name, poison, 65) for name in WHOLE[3:]},
    "a newer format": ("config.json", configure(format=99), 65),
    "a folder for a vocabulary": ("vocabulary.tsv", make_folder, 65),
    "a folder for a segmenter": ("segmenter.model", make_folder, 65),
    "a folder for tensors": ("encoder.safetensors", make_folder, 66),
    "a normalisation of words": ("config.json", configure(normalisation="lower"), 65),
    "one language": ("config.json", configure(languages=["aa"]), 65),
    "an encoder of words": ("config.json", configure(encoder_embedding="wide"), 65),
    "a wide classifier": ("config.json", configure(classifier_hidden=10**13), 65),
}


@pytest.mark.parametrize(("name", "damage", "code"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_model(
    folder: Path, tmp_path: Path, name: str, damage: Callable[[Path], None], code: int
) -> None:
    model = tmp_path / "model"
    as_older(shutil.copytree(folder, model))
    damage(model / name)
    result = call(model, "-o", tmp_path / "out.tsv", code=code)
    says_one_line(result, code, str(model))
    says_one_line(invoke("bitext-models", "verify", model, code=code), code, str(model))
    assert not (tmp_path / "out.tsv").exists()


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(NotFoundError, match=f"^{re.escape(str(path))}: cannot be opened: "):
            read_settings(path)
