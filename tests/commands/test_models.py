"""``bitext-models``: list, inspect, verify, and recommend: from clean pairs to thresholds."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import Result
from console import ROOT, invoke, says_one_line, table
from toys import as_older, sentences, toy_model
from translators import CASES, processor, saved

from bitextfilter.encoders.reference_classifier import (
    ReferenceNetwork,
    ReferenceSettings,
    save_reference_classifier,
)
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import ModelError
from bitextfilter.models import folders
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.folders import model_digest, writing_folder
from bitextfilter.models.foreign import PACKAGED
from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import Threshold, read_thresholds, write_thresholds
from bitextfilter.translation.translator import load_translator

SHIPPED = ["de-fr", "en-de", "en-de-autoencoder", "en-fr", "multi"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = as_older(toy_model(tmp_path / "pretrained" / "aa-ba"))
    (folder / "card.md").write_text("# A toy\n", encoding="utf-8")
    return folder


def threshold(model: str, measure: str = "mlp") -> Threshold:
    texts = {"goal": "f1", "file": "clean.tsv", "command": "evaluate", "version": "0.1.0"}
    quality = {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "noise_share": 0.3}
    return Threshold("filtering", measure, 0.25, rows=200, model=model, **texts, **quality)


def models(*words: object, code: int = 0) -> Result:
    return invoke("bitext-models", *words, code=code)


def suggested(*words: object, data: str = "") -> str:
    """What a measurement suggests, as JSON."""
    return invoke("bitext-evaluate", *words, "--json", "-q", "--bootstrap", 9, data=data).stdout


def recommend(*words: object, text: str = "", code: int = 0) -> Result:
    return invoke("bitext-models", "recommend", *words, data=text, code=code)


def test_list_has_a_line_for_each_shipped_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "not-a-model").mkdir()
    monkeypatch.setattr(folders, "PRETRAINED", folder.parent)
    size = sum(path.stat().st_size for path in folder.iterdir())
    result = models("list")
    assert result.stdout == f"aa-ba\taa\tba\t{model_digest(folder)}\t{size}\t\n"
    assert "1 models" in result.stderr
    (folder / "card.md").write_text("# A toy\n\nFor tests.\n\nMore.\n", encoding="utf-8")
    assert models("list").stdout.endswith("\tFor tests.\n")
    (folder / "card.md").unlink()
    assert models("list").stdout.endswith("\t\n")


def test_the_shipped_models_are_listed_and_sound() -> None:
    listed = {row[0]: row[3] for row in table(models("list"))}
    assert [*listed] == [*SHIPPED, *PACKAGED]
    for name in PACKAGED:
        assert facts_of(models("show", name))["digest"] == [listed.pop(name)]
    assert models("verify", *listed).stdout.count("\tok\n") == len(SHIPPED)
    measures = [measure for measure in MEASURES if measure != "probability"]
    for name, digest in listed.items():
        facts = facts_of(models("show", name))
        assert facts["digest"] == [digest]
        assert facts["default measure"] == ["probability"]
        found = [key for key in facts if key.startswith("threshold.")]
        if name == "multi":
            pairs = Counter(key.partition(".f1")[0] for key in found)
            assert pairs == {  # any two languages, and English with some
                **dict.fromkeys(["threshold.filtering.csls", "threshold.filtering.mlp"], 24),
                **dict.fromkeys(["threshold.mining.csls", "threshold.mining.joint"], 21),
            }
            continue
        assert found == [
            *(f"threshold.filtering.{measure}.f1" for measure in measures),
            *(f"threshold.mining.{measure}.f1" for measure in ("cosine", "csls", "joint")),
        ]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_has_the_texts_of_its_recipe(name: str) -> None:
    for text in ("card.md", "attribution.md"):
        shipped = (folders.PRETRAINED / name / text).read_text(encoding="utf-8")
        recipe = ROOT / "examples" / f"train-{name}" / text
        assert shipped == recipe.read_text(encoding="utf-8") and shipped.startswith("# ")
        assert models("show", name, f"--{text.removesuffix('.md')}").stdout == shipped


def test_models_are_small_and_multi_knows_its_weak_languages() -> None:
    folder = folders.PRETRAINED / "multi"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 45 * 10**6
    small = (folders.PRETRAINED / "de-fr").iterdir()
    assert sum(path.stat().st_size for path in small) <= 10 * 10**6
    grades = json.loads(models("show", "multi", "--json").stdout)["grades"]
    languages = json.loads((folder / "config.json").read_text())["languages"]
    assert {grade["language"] for grade in grades} == {*languages[1:]}
    assert len(languages) == 33
    for grade in grades:
        talks = grade["file"].startswith("ted")
        assert grade["weak"] == (grade["error"] > (25 if talks else 8)), grade


def facts_of(result: Result) -> dict[str, list[str]]:
    rows = table(result)
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: row[1:] for row in rows}


def test_show_says_a_fact_a_line(folder: Path) -> None:
    facts = facts_of(models("show", folder))
    assert facts["name"] == facts["folder"] == [str(folder)]
    assert facts["digest"] == [model_digest(folder)]
    assert facts["languages"] == ["aa,ba"]
    assert facts["architecture"] == ["averaging"]
    assert "embedding=32" in facts["shape"][0].split()
    assert facts["default measure"] == ["mlp"]
    assert facts["neighbours"] == ["40,40"]
    assert (facts["card"], facts["attribution"]) == (["card.md"], ["none"])
    assert not any(name.startswith("threshold") for name in facts)


def test_show_has_thresholds_with_their_figures(folder: Path) -> None:
    one = threshold(model=model_digest(folder))
    mined = replace(one, use="mining", measure="csls", threshold=-0.5, noise_share=None)
    write_thresholds(folder, [one, mined])
    result = models("show", folder)
    facts = facts_of(result)
    figures = "precision=0.5000 recall=1.0000 f1=0.6667"
    assert facts["threshold.filtering.mlp.f1"] == [
        "0.25",
        f"{figures} noise_share=0.3 rows=200 file=clean.tsv",
    ]
    assert facts["threshold.mining.csls.f1"] == ["-0.5", f"{figures} rows=200 file=clean.tsv"]
    assert result.stderr == ""
    whole = json.loads(models("show", folder, "--json").stdout)
    assert whole["thresholds"] == [asdict(one), asdict(mined)]
    assert whole["shape"]["embedding"] == 32


def test_show_leaves_out_thresholds_of_other_weights(folder: Path) -> None:
    write_thresholds(folder, [threshold(model=model_digest(folder)), threshold("0" * 12, "cosine")])
    result = models("show", folder)
    assert "1 thresholds left out" in result.stderr
    assert "cosine.f1" not in result.stdout
    assert "left out" not in models("show", folder, "-q").stderr


def test_verify_finds_thresholds_of_no_score(folder: Path, tmp_path: Path) -> None:
    write_thresholds(folder, [threshold(model=model_digest(folder)), threshold("0" * 12, "cosine")])
    where = f"{folder / 'thresholds.json'}: "
    said = f"{where}1 thresholds were estimated with other weights"
    says_one_line(models("verify", folder, code=65), 65, said)
    plain = as_older(toy_model(tmp_path / "plain", classifier=False))
    write_thresholds(plain, [threshold(model=model_digest(plain))])
    said = "a threshold of mlp, and the model has no classifier"
    says_one_line(models("verify", plain, code=65), 65, said)
    (folder / "thresholds.json").write_text("{")
    for command in ("show", "verify"):
        says_one_line(models(command, folder, code=65), 65, f"{where}unreadable")


def test_show_writes_texts_as_they_are(folder: Path) -> None:
    (folder / "attribution.md").write_bytes(b"caf\xe9\r\n")
    assert models("show", folder, "--card").stdout_bytes == b"# A toy\n"
    assert models("show", "--attribution", folder).stdout_bytes == b"caf\xe9\r\n"
    (folder / "card.md").unlink()
    said = f"{folder / 'card.md'}: cannot be read"
    says_one_line(models("show", folder, "--card", code=66), 66, said)
    for other in ("--json", "--card"):
        says_one_line(models("show", folder, "--attribution", other, code=2), 2)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("en-dee", "en-de"),
        ("EN-DE", "en-de or en-de-autoencoder"),
        ("de-en", "en-de:de,en"),
        ("fr-en", "en-fr:fr,en"),
        ("mult", "multi"),
        ("de-en:de,en", "en-de:de,en"),
    ],
)
def test_a_name_like_that_of_a_model_gets_a_suggestion(name: str, near: str) -> None:
    says_one_line(models("show", name, code=66), 66, f"multi, use, e5); did you mean {near}?\n")


def test_inspect_says_all(folder: Path) -> None:
    facts = json.loads(models("inspect", folder).stdout)
    assert set(facts) == {"name", "folder", "digest", "files", "config"}
    assert facts["digest"] == model_digest(folder)
    assert facts["files"]["card.md"] == len("# A toy\n")
    assert facts["config"]["languages"] == ["aa", "ba"]


def test_verify_compares_the_digest(folder: Path) -> None:
    own = model_digest(folder)
    line = f"{folder}\t{own}\tok\n"
    assert models("verify", folder, folder, "--digest", own).stdout == line + line
    says_one_line(models("verify", folder, "--digest", "0123456789ab", code=65), 65, own)
    for command in ("show", "inspect", "verify"):
        says_one_line(models(command, folder / "nothing", code=66), 66)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_translators_are_shown_and_verified(case: int, tmp_path: Path) -> None:
    folder = as_older(saved(tmp_path / "translator", case))
    facts = facts_of(models("show", folder))
    assert facts["kind"] == ["translator"] and facts["architecture"] == [CASES[case][0]]
    assert facts["measures"] == [""] and facts["default measure"] == ["none"]
    sound = f"{folder}\t{model_digest(folder)}\tok\n"
    assert models("verify", folder).stdout == sound
    path = folder / "translator.safetensors"
    tensors = load_tensors(path)
    tensors["bias"][0] = torch.inf
    save_tensors(path, tensors)
    says_one_line(models("verify", folder, code=65), 65, "not finite")


def test_a_classifier_of_references_is_shown_and_verified(tmp_path: Path) -> None:
    folder, text = tmp_path / "references", processor()
    torch.manual_seed(1)
    settings = ReferenceSettings("averaging", 4)
    with writing_folder(folder) as draft:
        network = ReferenceNetwork(settings, text.sizes())
        save_reference_classifier(draft, network, text)
    assert facts_of(models("show", folder))["kind"] == ["reference_classifier"]
    assert models("verify", folder).stdout == f"{folder}\t{model_digest(folder)}\tok\n"


def test_a_model_of_another_kind_is_said_to_be_one(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no encoder; .* \(this is of bitext-train-translator\)"):
        load_encoder(saved(tmp_path / "translator"))
    with pytest.raises(ModelError, match=r"no translator; .* \(this is of bitext-train-encoder\)"):
        load_translator(folder)


def test_join_writes_a_model_of_both_encoders(tmp_path: Path) -> None:
    first, second = toy_model(tmp_path / "first"), toy_model(tmp_path / "second", recurrent=True)
    output, pairs = tmp_path / "both", tmp_path / "pairs.tsv"
    pairs.write_text("a1 a2\tb1 b2\na3 a4\tb3 b4\n", encoding="utf-8")
    models("join", first, second, "--weight", "0.3", "--pairs", pairs, "-o", output)
    facts = facts_of(models("show", output))
    assert facts["second"][0].startswith("weight=0.3 architecture=")
    assert (facts["neighbours"], facts["classifier"]) == (["2,2"], ["none"])
    models("verify", output)
    assert facts_of(models("show", first))["second"] == ["none"]


def test_the_weight_of_a_join_is_between_0_and_1(folder: Path, tmp_path: Path) -> None:
    for weight in ("0", "1", "1.5"):
        models("join", folder, folder, "--weight", weight, "-o", tmp_path / "x", code=2)


PAIRS = "".join(f"{a}\t{b}\n" for a, b in zip(*sentences(150, seed=8), strict=True))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a toy model, clean pairs, and what two measures suggest of them."""
    home = tmp_path_factory.mktemp("recommend")
    toy_model(home / "toy")
    (home / "clean.tsv").write_text(PAIRS)
    for measure in ("csls", "cosine"):
        (home / f"{measure}.json").write_text(of_pairs(home, "--similarity", measure))
    return home


def of_pairs(home: Path, *words: str) -> str:
    line = ("filtering", "--suggest-threshold", "--device", "cpu", "--model", home / "toy")
    return suggested(*line, *words, home / "clean.tsv")


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A toy model of one's own, with the same weights."""
    return toy_model(tmp_path / "toy")


def test_what_is_suggested_is_kept(shared: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    result = recommend(shared / "toy", shared / "csls.json", shared / "cosine.json", "-o", new)
    cosine, csls = read_thresholds(new)
    assert "2 new, 2 thresholds" in result.stderr
    for threshold in (cosine, csls):
        whole = json.loads((shared / f"{threshold.measure}.json").read_text())
        (cut,) = (cut for cut in whole["cuts"] if cut["suggested"])
        assert threshold.threshold == cut["threshold"]
        for name in ("precision", "recall", "f1"):
            assert getattr(threshold, name) == cut[name]["value"]
        facts = (threshold.use, threshold.goal, threshold.noise_share, threshold.rows)
        assert facts == ("filtering", "f1", 0.3, 150)
        assert (threshold.file, threshold.model) == ("clean.tsv", model_digest(new))
        assert threshold.command.startswith("bitext-evaluate filtering --suggest-threshold --devi")
        assert " --model toy " in threshold.command and " clean.tsv " in threshold.command
    assert load(new).digest == model_digest(shared / "toy")
    assert models("show", new).stdout.endswith(result.stdout)
    assert result.stdout.startswith(f"threshold.filtering.cosine.f1\t{cosine.threshold!r}\t")


def test_the_threshold_keeps_the_clean_pairs_it_promises(shared: Path, tmp_path: Path) -> None:
    """The suggested cut on scores that are made anew: most of the unharmed pairs pass it."""
    recommend(shared / "toy", shared / "cosine.json", "-o", tmp_path / "new")
    (threshold,) = read_thresholds(tmp_path / "new")
    model = load(tmp_path / "new")
    scores = model.score(*sentences(150, seed=8), [threshold.measure])[threshold.measure]
    assert abs((scores.round(4) >= threshold.threshold).mean() - threshold.recall) < 0.1


def test_a_model_keeps_others_and_its_texts(toy: Path, shared: Path) -> None:
    (toy / "card.md").write_text("# A toy\n")
    recommend(toy, shared / "csls.json", "-o", toy)
    (old,) = read_thresholds(toy)
    again = recommend(toy, "-", "-o", toy, text=of_pairs(shared, "--recall", "0.9"))
    kept, new = read_thresholds(toy)
    assert (kept, new.measure, new.goal) == (old, "mlp", "recall>=0.9")
    assert "1 new, 2 thresholds" in again.stderr
    replacing = of_pairs(shared, "--similarity", "csls", "--noise-share", "0.5")
    recommend(toy, "-", "-o", toy, text=replacing)
    first, second = read_thresholds(toy)
    assert (first.measure, first.noise_share, second) == ("csls", 0.5, new)
    assert (toy / "card.md").read_text() == "# A toy\n"
    assert model_digest(toy) == model_digest(shared / "toy")


def test_thresholds_of_other_weights_go(toy: Path, shared: Path) -> None:
    recommend(toy, shared / "csls.json", "-o", toy)
    as_older(toy)
    other = {**json.loads((toy / "thresholds.json").read_text())}
    other["thresholds"][0]["model"] = "0" * 12
    (toy / "thresholds.json").write_text(json.dumps(other))
    result = recommend(toy, shared / "cosine.json", "-o", toy)
    assert "1 thresholds left out" in result.stderr
    assert [threshold.measure for threshold in read_thresholds(toy)] == ["cosine"]


LABELLED = "".join(
    f"a\tb\t{label}\t{score}\n"
    for label, score in [("clean", 0.9), ("clean", 0.6), ("copied", 0.5), ("copied", 0.7)]
)


OF_LABELS = ("filtering", "--suggest-threshold", "--labels", "3")


def test_labelled_rows_do_not_name_their_measure(toy: Path) -> None:
    text = suggested(*OF_LABELS, data=LABELLED)
    said = "stdin: unusable: it does not name the measure: give --similarity NAME"
    says_one_line(recommend(toy, "-", "-o", toy, text=text, code=65), 65, said)
    recommend(toy, "-", "-o", toy, "--similarity", "ratio", text=text)
    (threshold,) = read_thresholds(toy)
    facts = (threshold.measure, threshold.threshold, threshold.noise_share, threshold.rows)
    assert facts == ("ratio", 0.6, 0.5, 4)
    assert (threshold.file, threshold.model) == ("stdin", model_digest(toy))


def test_mined_pairs(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("a\tb\nc\td\n")
    mined = "a\tb\t0.9\nc\tx\t0.5\nc\td\t0.7\n"
    text = suggested("mining", tmp_path / "gold.tsv", data=mined)
    result = recommend(toy, "-", "-o", toy, "--similarity", "csls", text=text)
    figures = "precision=1.0000 recall=1.0000 f1=1.0000 rows=2 file=gold.tsv"
    assert result.stdout == f"threshold.mining.csls.f1\t0.7\t{figures}\n"


def changed(shared: Path, **fields: Any) -> str:
    whole = json.loads((shared / "csls.json").read_text())
    whole["recommended"][0].update(fields)
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "stdin: unusable: Expecting value"),
        ("[" * 100_000, "stdin: unusable: "),
        ("[]", "stdin: no result with thresholds"),
        ('{"task": "filtering"}', "stdin: no result with thresholds"),
        ('{"recommended": ["text"]}', "stdin: no result with thresholds"),
        ('{"recommended": [{}]}', "stdin: no result with thresholds"),
        ('{"recommended": null}', "stdin: no result with thresholds"),
        ('{"recommended": []}', "stdin: no threshold was suggested"),
        ({"model": "0" * 12}, "stdin: unusable: of scores of the model '000000000000', not of"),
        ({"precision": 2}, "stdin: unusable: precision 2 is no number from 0 to 1"),
        ({"measure": ["\n"]}, "stdin: unusable: measure ['\\n'] is none of cosine"),
    ],
)
def test_bad_results_change_nothing(shared: Path, toy: Path, text: Any, message: str) -> None:
    before = sorted(toy.rglob("*"))
    content = text if isinstance(text, str) else changed(shared, **text)
    says_one_line(recommend(toy, "-", "-o", toy, text=content, code=65), 65, message)
    assert sorted(toy.rglob("*")) == before


def test_what_cannot_be(shared: Path, toy: Path, tmp_path: Path) -> None:
    result = shared / "csls.json"
    recommend(toy, result, "-o", toy, "--similarity", "bleu", code=2)
    said = "of scores of the measure 'csls', not of 'cosine'"
    failed = recommend(toy, result, "-o", toy, "--similarity", "cosine", code=65)
    says_one_line(failed, 65, said)
    recommend(toy, result, code=2)
    recommend(tmp_path / "none", result, "-o", tmp_path / "new", code=66)
    recommend(toy, tmp_path / "none.json", "-o", tmp_path / "new", code=66)
    (tmp_path / "taken").write_text("mine")
    recommend(toy, result, "-o", tmp_path / "taken", code=74)
    assert (tmp_path / "taken").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_no_cut_no_recommendation(toy: Path) -> None:
    line = (*OF_LABELS, "--precision", "1")
    text = suggested(*line, data=LABELLED)
    assert json.loads(text)["recommended"][0]["threshold"] == 0.9
    text = suggested(*line, data=LABELLED + "a\tb\tcopied\t1\n")
    assert json.loads(text)["recommended"] == []
    failed = recommend(toy, "-", "-o", toy, "--similarity", "mlp", text=text, code=65)
    says_one_line(failed, 65, "no threshold was suggested")
