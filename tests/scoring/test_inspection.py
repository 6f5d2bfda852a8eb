"""What is said of a model without its weights, against the model as it is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from toys import DIM, WORDS, as_older, toy_model

from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.models.folders import CONFIG, model_digest
from bitextfilter.scoring.inspection import describe_model
from bitextfilter.scoring.model import load
from bitextfilter.text.vocabulary import RESERVED


@pytest.mark.parametrize("classifier", [True, False])
@pytest.mark.parametrize("background", [True, False])
def test_it_agrees_with_the_model(tmp_path: Path, classifier: bool, background: bool) -> None:
    folder = toy_model(tmp_path / "toy", classifier, background)
    facts, model = describe_model(folder), load(folder)
    assert (facts["digest"], tuple(facts["languages"])) == (model.digest, model.languages)
    assert facts["default_measure"] == model.default_measure
    assert facts["dimension"] == (model.encoder.dim if classifier or background else None)
    assert (facts["classifier"] is not None) == classifier
    assert facts["neighbours"] == ([40, 40] if background else None)
    assert model.score(["a1"], ["b1"], facts["measures"]).keys() == set(facts["measures"])
    assert len(facts["measures"]) == 2 + 3 * background + classifier


def test_it_says_all(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "toy")
    (folder / "attribution.md").write_text("mine\n")
    facts = describe_model(folder)
    assert (facts["name"], facts["folder"]) == (str(folder), str(folder))
    assert (facts["architecture"], facts["segmentation"]) == ("averaging", "none")
    assert facts["shape"]["embedding"] == DIM
    assert facts["vocabulary"] == 2 * WORDS + len(RESERVED)
    assert facts["trigrams"] is None
    assert facts["megabytes"] == round(sum(p.stat().st_size for p in folder.iterdir()) / 1e6, 1)
    assert (facts["card"], facts["attribution"]) == (None, "attribution.md")
    assert json.loads(json.dumps(facts)) == facts


def test_no_torch_is_loaded() -> None:
    code = (
        "import sys; from bitextfilter.scoring.inspection import describe_model;"
        "from bitextfilter.scoring.thresholds import read_thresholds;"
        "describe_model('en-de'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("encoder", "text"),
        ("encoder", None),
        ("encoder", {"embedding": 8}),
        ("encoder", {"architecture": 3}),
        ("classifier", "text"),
        ("classifier", [1]),
    ],
)
def test_a_damaged_configuration_is_named(tmp_path: Path, part: str, value: object) -> None:
    folder = as_older(toy_model(tmp_path / "toy"))
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**config, part: value}))
    with pytest.raises(ModelError, match=f"the configuration's {part} is unusable"):
        describe_model(folder)


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        describe_model(tmp_path / "nothing")
    folder = as_older(toy_model(tmp_path / "toy"))
    (folder / "neighbours.npz").write_bytes(b"PK")
    with pytest.raises(ModelError, match="neighbours"):
        describe_model(folder)
    (folder / "neighbours.npz").unlink()
    (folder / "vocabulary.tsv").unlink()
    with pytest.raises(NotFoundError, match="vocabulary"):
        describe_model(folder)


def test_neither_card_nor_attribution_nor_thresholds_change_the_digest(tmp_path: Path) -> None:
    folder = toy_model(tmp_path / "toy")
    before = model_digest(folder)
    for name in ("card.md", "attribution.md", "thresholds.json"):
        (folder / name).write_text("anything")
        assert model_digest(folder) == before
    (folder / "other.md").write_text("anything")
    assert model_digest(folder) != before
