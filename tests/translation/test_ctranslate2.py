"""Translators that CTranslate2 has converted: scores as transformers computes them, damage told."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import marian
import numpy as np
import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands import models, score, translate
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.scoring.cached_scores import score_digest
from bitextfilter.scoring.model_scorers import ModelScorers
from bitextfilter.translation.ctranslate2_translator import Ctranslate2Translator
from bitextfilter.translation.translator import SearchSettings, load_translator

pytest.importorskip("ctranslate2")
pytest.importorskip("transformers")

SOURCES, TARGETS = marian.sentences("a", 40, 2), marian.sentences("b", 40, 3)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("translators")
    original = marian.marian_folder(path / "marian")
    marian.converted(original, path / "there", None, "aa", "ba")
    marian.converted(original, path / "int8", "int8", "aa", "ba")
    shutil.copytree(path / "there", path / "back")
    marian.settings(path / "back", languages=["ba", "aa"])
    return path


class Original:
    """The model of transformers: what it gives is worked out sentence by sentence."""

    def __init__(self, folder: Path) -> None:
        from transformers import MarianMTModel, MarianTokenizer

        self.network = MarianMTModel.from_pretrained(folder).eval()
        self.tokenizer = MarianTokenizer.from_pretrained(folder)
        self.pad = self.network.config.pad_token_id

    def logs(self, source: list[int], target: list[int]) -> Any:
        """Log-probabilities ``(t + 1, v)``; the converted model lacks the padding token."""
        import torch

        with torch.no_grad():
            logits = self.network(
                input_ids=torch.tensor([source]),
                decoder_input_ids=torch.tensor([[self.pad, *target]]),
            ).logits[0]
        logits[:, self.pad] = float("-inf")
        return logits.log_softmax(dim=-1)

    def score(self, source: str, target: str, prefix: str = "") -> float:
        read, written = self.tokenizer(source), self.tokenizer(text_target=target)
        before = self.tokenizer.convert_tokens_to_ids([prefix] if prefix else [])
        ids = [*before, *written["input_ids"]]
        logs = self.logs([*before, *read["input_ids"]], ids[:-1])
        steps = [float(logs[place, number]) for place, number in enumerate(ids)]
        return float(np.mean(steps[len(before) :]))

    def greedy(self, source: str, most: int) -> list[int]:
        read, found = self.tokenizer(source)["input_ids"], []
        while len(found) < most:
            logs = self.logs(read, found)[-1]
            logs[1] = float("-inf")  # never unknown
            if not found:
                logs[0] = float("-inf")
            found.append(int(logs.argmax()))
            if found[-1] == 0:
                break
        return found


@pytest.fixture(scope="module")
def original(home: Path) -> Original:
    return Original(home / "marian")


def test_scores_are_those_of_transformers(home: Path, original: Original) -> None:
    found = load_translator(home / "there").log_probabilities(SOURCES, TARGETS)
    wanted = [original.score(*pair) for pair in zip(SOURCES, TARGETS, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=2e-5)
    assert found.std() > 0.3
    rounded = load_translator(home / "int8").log_probabilities(SOURCES, TARGETS)
    furthest = np.abs(found - rounded).max()
    assert furthest > 1e-5
    # Products of 8 bits are CTranslate2's own; on a processor with AVX2 alone they were 1.6 away.
    assert np.corrcoef(found, rounded)[0, 1] > 0.5
    processor = Path("/proc/cpuinfo")
    if processor.exists() and "avx512" in processor.read_text():
        assert furthest < 0.5


def test_marks_before_both_sides(home: Path, original: Original, tmp_path: Path) -> None:
    folder = shutil.copytree(home / "there", tmp_path / "many")
    marks = {"source_prefix": [">>ba<<"], "target_prefix": [">>ba<<"]}
    marian.settings(folder, languages=["aa", "ba"], **marks)
    translator = load_translator(folder)
    found = translator.log_probabilities(SOURCES[:9], TARGETS[:9])
    pairs = zip(SOURCES[:9], TARGETS[:9], strict=True)
    np.testing.assert_allclose(found, [original.score(*p, ">>ba<<") for p in pairs], atol=2e-5)
    (one,) = translator.translate(SOURCES[:1], SearchSettings(2))
    assert ">>" not in one.best
    marian.settings(folder, languages=["aa", "ba"], source_end=False)
    assert not np.allclose(
        load_translator(folder).log_probabilities(SOURCES[:9], TARGETS[:9]), found
    )


@pytest.mark.parametrize("name", ["there", "int8"])
def test_a_score_depends_on_its_pair_alone(home: Path, name: str) -> None:
    translator = load_translator(home / name)
    found = translator.log_probabilities(SOURCES, TARGETS)
    alone = [
        translator.log_probabilities([s], [t])[0] for s, t in zip(SOURCES, TARGETS, strict=True)
    ]
    assert found.tolist() == alone
    many = load_translator(home / name, threads=3)
    backward = many.log_probabilities(SOURCES[::-1] * 3, TARGETS[::-1] * 3)
    assert backward.tolist() == alone[::-1] * 3
    sentences = [*SOURCES, *SOURCES[:5]]
    together = many.translate(sentences, SearchSettings(2, 9))
    assert together == [translator.translate([s], SearchSettings(2, 9))[0] for s in sentences]


def test_greedy_translations_are_those_of_transformers(home: Path, original: Original) -> None:
    """Of at most 20 tokens, as the longest source."""
    found = load_translator(home / "there").translate(SOURCES[:9], SearchSettings(1, 20))
    for source, translation in zip(SOURCES, found, strict=False):
        ids = original.greedy(source, 20)
        tokens = original.tokenizer.convert_ids_to_tokens([number for number in ids if number])
        (one,) = translation.hypotheses
        assert one.text == "".join(tokens).replace("\u2581", " ").strip()
        assert one.whole == (ids[-1] == 0)
        logs = original.logs(original.tokenizer(source)["input_ids"], [n for n in ids if n])
        steps = [float(logs[i, number]) for i, number in enumerate([*(n for n in ids if n), 0])]
        assert one.score == pytest.approx(np.mean(steps), abs=2e-5)


def test_several_hypotheses(home: Path) -> None:
    translator = load_translator(home / "there")
    odd = ["", " ", "\u200b", "zz a1", "a1 " * 100]
    *blank, nothing, strange, long = translator.translate(odd, SearchSettings(4, 30))
    assert all(not each.hypotheses and not each.best for each in blank)
    for each in (nothing, strange, long):
        scores = [one.score for one in each.hypotheses]
        assert 1 <= len({one.text for one in each.hypotheses}) == len(scores) <= 4
        assert scores == sorted(scores, reverse=True) and each.best
    pieces = translator.log_probabilities(["a3"], [strange.best])
    assert np.isfinite(pieces).all() and long.left > 50 and strange.left == 0
    for settings, templates in ((SearchSettings(sample=True), None), (None, [""])):
        with pytest.raises(SettingsError, match="translators of CTranslate2 have no"):
            translator.translate([""], settings, templates)
    with pytest.raises(SettingsError, match="no templates"):
        translator.log_probabilities(["a"], ["b"], [""])


def test_sentences_longer_than_the_positions_are_truncated(home: Path) -> None:
    translator = load_translator(home / "there")
    long, cut = "a1 " * 200, "a1 " * ((marian.POSITIONS - 2) // 2)
    scorer = translator.pair_scorer([long, "a1"], ["b2", "b3 " * 200])
    places = np.arange(2)
    assert [side.tolist() for side in scorer.truncated] == [[True, False], [False, True]]
    assert np.isfinite(scorer(places, places)).all()
    assert scorer(places[:1], places[:1]) == translator.log_probabilities([cut], ["b2"])


def call(main: Any, *words: object, data: bytes = b"", code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(map(str, words)), input=data)
    assert result.exit_code == code, result.output
    return result


PAIRS = "".join(map("{}\t{}\n".format, SOURCES, TARGETS)).encode()


def test_commands(home: Path, tmp_path: Path) -> None:
    both = ("--translator", f"{home / 'there'},{home / 'back'}", "--score-only", "--digits", 6)
    words = ("--similarity", "translation,dual", *both)
    rows = [line.split("\t") for line in call(score.main, *words, data=PAIRS).stdout.splitlines()]
    there = load_translator(home / "there").log_probabilities(SOURCES, TARGETS)
    back = load_translator(home / "back").log_probabilities(TARGETS, SOURCES)
    np.testing.assert_allclose([float(row[0]) for row in rows], (there + back) / 2, atol=1e-5)
    assert (
        call(score.main, *words, "--cache", tmp_path, data=PAIRS).stdout
        == call(
            score.main, *words, "--cache", tmp_path, "--threads", 2, "--batch-size", 7, data=PAIRS
        ).stdout
    )
    line = ("--model", home / "there", "--beam", 1, "--max-length", 9)
    found = call(translate.main, *line, data="\n".join([*SOURCES[:3], ""]).encode() + b"\n")
    assert len(found.stdout.splitlines()) == 4 and found.stdout.endswith("\n\n")
    shown = call(models.main, "show", home / "there").stdout
    assert "kind\ttranslator\nlanguages\taa,ba\narchitecture\tctranslate2\n" in shown
    assert call(models.main, "verify", home / "there").stdout.endswith("\tok\n")


def test_the_digest_of_scores_names_the_package(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load_translator(home / "there")
    assert isinstance(translator, Ctranslate2Translator)
    scorers = ModelScorers(forward=translator, digests=("a", "", "", ""))
    before = score_digest(scorers, "translation")
    monkeypatch.setattr(Ctranslate2Translator, "packages", ("pytest",))
    assert score_digest(scorers, "translation") != before


def replace(name: str, content: bytes | str) -> Callable[[Path], object]:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(data)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def cut(share: float) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        content = (folder / "model.bin").read_bytes()
        (folder / "model.bin").write_bytes(content[: int(len(content) * share)])

    return damage


def other_tensors(folder: Path) -> None:
    content = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(content.replace(b"n/linear_1/", b"n/linear_7/"))


def fewer_tokens(folder: Path) -> None:
    path = folder / "shared_vocabulary.json"
    path.write_text(json.dumps(json.loads(path.read_text())[:-1]))


def other_segmenter(folder: Path) -> None:
    (folder / "target.spm").write_bytes(marian.sentencepiece_model(["xyz zyx ijk kji"] * 9))


DAMAGE: list[tuple[Callable[[Path], object], int, str]] = [
    (remove("model.bin"), 65, "not a model configuration"),
    (remove("config.json"), 66, "config.json: missing from the model folder"),
    (remove("shared_vocabulary.json"), 66, "shared_vocabulary.json: missing"),
    (remove("source.spm"), 66, "source.spm: missing from the model folder"),
    (remove("target.spm"), 66, "target.spm: missing from the model folder"),
    (cut(0.5), 65, "model.bin: damaged: it is cut off"),
    (cut(0), 65, "model.bin: damaged: it is cut off"),
    (cut(0.9999), 65, "model.bin"),
    (replace("model.bin", b"junk" * 99), 65, "unusable network: Unsupported model binary version"),
    (replace("model.bin", b"\6\0\0\0\xff\xff"), 65, "model.bin: damaged"),
    (other_tensors, 65, "unusable network"),
    (replace("config.json", "[1"), 65, "config.json: unreadable"),
    (replace("config.json", "[]"), 65, "config.json: no object of JSON"),
    (replace("config.json", '{"eos_token": 3}'), 65, "its marks are no texts"),
    (replace("shared_vocabulary.json", '{"a": 1}'), 65, "no list of tokens"),
    (fewer_tokens, 65, " tokens, and "),
    (other_segmenter, 65, "target.spm: belongs to another network"),
    (replace("source.spm", b"junk"), 65, "source.spm: not a sentencepiece model"),
    (replace("bitextfilter.json", '{"languages": ["aa"]}'), 65, "expected two languages"),
    (replace("bitextfilter.json", '{"languages": ["a", "b", "c"]}'), 65, "has two languages"),
    (replace("bitextfilter.json", '{"source_prefix": "a"}'), 65, "expected lists of tokens"),
    (replace("bitextfilter.json", '{"source_end": 1}'), 65, "true or false"),
    (remove("bitextfilter.json"), 78, "does not say which languages it is for"),
]


@pytest.mark.parametrize(("damage", "code", "message"), DAMAGE)
def test_damage_is_told_in_a_line(
    home: Path, tmp_path: Path, damage: Callable[[Path], object], code: int, message: str
) -> None:
    folder = shutil.copytree(home / "there", tmp_path / "model")
    damage(folder)
    words = ("--similarity", "translation", "--translator", folder)
    done = call(score.main, *words, data=b"a1\tb1\n", code=code)
    assert message in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_what_is_missing_or_asked_too_much(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = home / "there"
    done = call(translate.main, "--model", there, "--sample", data=b"a1\n", code=78)
    assert "have no samples (--sample)" in done.stderr
    done = call(translate.main, "--model", there, "--device", "cuda", data=b"a1\n", code=69)
    assert "runs on processors here" in done.stderr
    done = call(score.main, "--model", there, data=b"a1\tb1\n", code=65)
    assert "no encoder" in done.stderr
    translator: Any = load_translator(there)
    nothing = SimpleNamespace(log_probs=[float("nan")])
    translator._network = SimpleNamespace(score_batch=lambda *_, **__: [nothing])
    with pytest.raises(ModelError, match="not finite"):
        translator.log_probabilities(["a1"], ["b1"])
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    done = call(translate.main, "--model", there, data=b"a1\n", code=69)
    assert "pip install 'bitextfilter[ctranslate2]'" in done.stderr


def test_plain_vocabularies_and_shared_segmenters(home: Path, tmp_path: Path) -> None:
    """As OpenNMT has them: one segmenter, no end mark behind a source."""
    folder = shutil.copytree(home / "there", tmp_path / "model")
    tokens = json.loads((folder / "shared_vocabulary.json").read_text())
    (folder / "shared_vocabulary.json").unlink()
    (folder / "shared_vocabulary.txt").write_text("".join(f"{token}\n" for token in tokens))
    shared = marian.sentencepiece_model([*marian.sentences("a", 99), *marian.sentences("b", 99)])
    (folder / "sentencepiece.model").write_bytes(shared)
    for name in ("source.spm", "target.spm"):
        (folder / name).unlink()
    marian.settings(folder, languages=["aa", "ba"])
    plain = load_translator(folder).log_probabilities(SOURCES, TARGETS)
    marian.settings(folder, languages=["aa", "ba"], source_end=True)
    ended = load_translator(folder).log_probabilities(SOURCES, TARGETS)
    assert np.isfinite(plain).all() and not np.allclose(plain, ended)
