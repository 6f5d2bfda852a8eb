"""``bitext-bicleaner`` as pipelines call bicleaner-ai-classify, held against bitext-score."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch
from click.testing import Result
from console import ROOT, invoke, says_one_line

from bitextfilter.commands.bicleaner import choose_model
from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.models.folders import shipped_models

ROWS = (ROOT / "examples/pairs.en-de.tsv").read_text("utf-8").splitlines()[::6]
PAIRS = [tuple(row.split("\t")[:2]) for row in ROWS]
COLUMNS = ("--scol", "1", "--tcol", "2")


def call(*words: object, data: str | bytes = "", code: int = 0, **env: str) -> Result:
    return invoke("bitext-bicleaner", *words, data=data, code=code, env=env)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """What bitext-score says, to three decimals."""
    line = ("-q", "--score-only", "--digits", "3", "--threads", "1")
    data = "".join(f"{row}\n" for row in ROWS)
    return invoke("bitext-score", *line, data=data).stdout.splitlines()


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The metadata of a pack."""
    (tmp_path / "metadata.yaml").write_text("source_lang: en\ntarget_lang: de\nbatch: 1\n")
    return tmp_path / "metadata.yaml"


def test_the_line_of_mozilla(pack: Path, expected: list[str]) -> None:
    data = "".join(f"{one}\t{other}\n" for one, other in PAIRS)
    words = ("-q", "--disable_hardrules", *COLUMNS, "--processes", "1", "--fp16")
    result = call(*words, "--batch_size", "8", "--block_size", "7", "-", "-", pack, data=data)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split("\t") for line in result.stdout.split("\n")[:-1]]
    assert [tuple(line[:2]) for line in lines] == PAIRS
    assert [line[2] for line in lines] == expected
    assert min(map(float, expected)) < 0.1 < 0.9 < max(map(float, expected))


def test_files_swapped_columns_and_scores_alone(
    tmp_path: Path, pack: Path, expected: list[str]
) -> None:
    pack.write_text("source_lang: de\ntarget_lang: en\n")  # as mozilla's script, which swaps
    rows = tmp_path / "rows.tsv"
    rows.write_text("".join(f"{row}\n" for row in ROWS))
    words = ("-q", "--disable_hardrules", "--scol", 2, "--tcol", 1, "--score_only")
    result = call(*words, rows, tmp_path / "out.gz", pack, BICLEANER_AI_THREADS="1")
    assert (result.exit_code, result.stdout) == (0, "")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines() == expected
    assert call(*words, rows, pack).stdout.splitlines() == expected


def test_default_columns_and_headers() -> None:
    line = ("-q", "--score-only", "--digits", "3", "--similarity", "probability")
    score = invoke("bitext-score", *line, data="Good morning!\tGuten Morgen!\n").stdout.strip()
    assert 0.5 < float(score) < 1
    result = call(
        "-q", "--disable_hardrules", "-", "en-de", data="u\tv\tGood morning!\tGuten Morgen!\r\n"
    )
    assert result.stdout_bytes == f"u\tv\tGood morning!\tGuten Morgen!\t{score}\r\n".encode()
    data = "trg_text\tid\tsrc_text\nGuten Morgen!\t7\tGood morning!\n"
    result = call("-q", "--header", "--disable_hardrules", "-", "en-de", data=data)
    assert result.stdout == (
        f"trg_text\tid\tsrc_text\tbicleaner_ai_score\nGuten Morgen!\t7\tGood morning!\t{score}\n"
    )
    result = call("-q", "--header", "--score_only", "--disable_hardrules", "-", "en-de", data=data)
    assert result.stdout == f"bicleaner_ai_score\n{score}\n"


def test_pairs_that_fail_the_rules_get_0(expected: list[str]) -> None:
    data = "".join(f"{row}\n" for row in ROWS)
    line = ["-q", "--explain", "--languages", "en,de", "--threads", "1"]
    explained = invoke("bitext-filter", *line, data=data).stdout
    verdicts = [row.split("\t")[-1] for row in explained.splitlines()]
    result = call("-q", *COLUMNS, "-", "-", "en-de", data=data)
    scores = [row.split("\t")[-1] for row in result.stdout.splitlines()]
    assert scores == [
        cell if verdict == "keep" else "0" for cell, verdict in zip(expected, verdicts, strict=True)
    ]
    assert "0" in scores


def test_rows_that_cannot_be_scored_get_0_and_stay() -> None:
    rows = [b"alone", b"a\t", b"\tb", b" \t\xc2\xa0", b"x\xff\ty", b"n\0\tz", b"", b"Hello\tHallo"]
    words = ("--disable_hardrules", *COLUMNS, "-", "-", "en-de")
    result = call(*words, data=b"\n".join(rows))
    lines = result.stdout_bytes.split(b"\n")
    assert lines[:-1] == [row + b"\t0" for row in rows[:-1]]
    assert lines[-1].startswith(b"Hello\tHallo\t0.")
    assert "8 rows, 4 rejected, 7 zero" in result.stderr
    assert call(*words, data=b"a\t\n").stdout == "a\t\t0\n"


def test_no_gpu_and_no_model() -> None:
    if not torch.cuda.is_available():
        call("--require_gpu", "-", "-", "en-de", code=69)
    call("-", "-", "bitextor/bicleaner-ai-full-en-de", code=66)
    call("-", "-", "multi", code=78)


def test_as_the_pipeline_of_mozilla_calls_it(tmp_path: Path) -> None:
    """It puts the number of threads before the files, too."""
    pack = pack_of_models(tmp_path, "source_lang: en", "target_lang: de")
    words = ("--disable_hardrules", "--scol", "1", "--tcol", "2")
    row = b"Good morning, everyone!\tGuten Morgen allerseits!\n"
    called = call(*words, "2", "-", "-", pack, data=row).stdout_bytes
    assert called == call(*words, "-", "-", pack, data=row).stdout_bytes
    assert called.startswith(row.rstrip() + b"\t0.")
    says_one_line(call(*words, "x", "-", "-", pack, code=2), 2, "not 4 words")


def pack_of_models(folder: Path, *lines: str) -> str:
    path = folder / "metadata.yaml"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        (("source_lang: en", "target_lang: de"), ("en-de", ("en", "de"), False)),
        (("target_lang:  'de'  # German", 'source_lang: "en"'), ("en-de", ("en", "de"), False)),
        (("source_lang: de", "target_lang: en"), ("en-de", ("de", "en"), True)),
        (("source_lang: cs", "target_lang: pl"), ("multi:cs,pl", ("cs", "pl"), False)),
        (
            ("source_lang: de", "target_lang: en", "model: en-de-autoencoder"),
            ("en-de-autoencoder", ("de", "en"), True),
        ),
        (
            ("source_lang: fr", "target_lang: en", "model: multi"),
            ("multi:fr,en", ("fr", "en"), False),
        ),
        (
            ("type: x", "source_lang: en", "calibration:", " target_lang: x", "target_lang: fr"),
            ("en-fr", ("en", "fr"), False),
        ),
    ],
)
def test_a_pack_chooses_a_model(tmp_path: Path, lines: tuple[str, ...], chosen: object) -> None:
    assert choose_model(pack_of_models(tmp_path, *lines)) == chosen


def test_a_folder_beside_the_pack_is_its_model(tmp_path: Path) -> None:
    (tmp_path / "own").symlink_to(shipped_models()["en-de"])
    chosen = choose_model(
        pack_of_models(tmp_path, "source_lang: en", "target_lang: de", "model: own")
    )
    assert chosen == (str(tmp_path / "own"), ("en", "de"), False)


def test_languages_given_override_the_pack(tmp_path: Path) -> None:
    many = pack_of_models(tmp_path, "source_lang: en", "target_lang: xx")
    assert choose_model(many, target="fr") == ("en-fr", ("en", "fr"), False)
    assert choose_model(many, source="de", target="fr") == ("de-fr", ("de", "fr"), False)
    with pytest.raises(SettingsError, match="does not name target_lang; give --target_lang"):
        choose_model(many)


def test_models_by_name() -> None:
    assert choose_model("en-de") == ("en-de", ("en", "de"), False)
    assert choose_model("en-de", "de", "en") == ("en-de", ("de", "en"), True)
    assert choose_model("multi:cs,pl") == ("multi:cs,pl", ("cs", "pl"), False)
    assert choose_model("multi", "cs", "pl") == ("multi:cs,pl", ("cs", "pl"), False)
    with pytest.raises(SettingsError, match="model of many languages"):
        choose_model("multi")
    with pytest.raises(SettingsError, match="en-de is for en and de, not for en and fr"):
        choose_model("en-de", "en", "fr")
    with pytest.raises(NotFoundError, match="bitextor/x: neither a folder"):
        choose_model("bitextor/x")
    with pytest.raises(NotFoundError, match=r"no/metadata\.yaml: no such file"):
        choose_model("no/metadata.yaml")
