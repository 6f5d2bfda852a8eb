"""bitext-align for large collections: going on after a kill, indexes, streams, forms of numbers."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke, says_one_line, table
from toys import sentences, toy_model

from bitextfilter.io.records import read_record, write_record
from bitextfilter.mining import collection_mining
from bitextfilter.scoring.model import Model
from bitextfilter.search import clusters, indexes
from bitextfilter.search import tasks as search

Files = tuple[Path, Path]

SOURCES, TARGETS = sentences(450, 5)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, indexes, clusters):
        monkeypatch.setattr(module, "BLOCK", 300)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    paths = tmp_path / "source.txt", tmp_path / "target.txt"
    write(paths[0], [*SOURCES[:350], *SOURCES[:20]])
    write(paths[1], [*reversed(TARGETS[75:]), *TARGETS[80:90]])
    return paths


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def run(model: Path, *words: object, text: bytes = b"", code: int = 0) -> Result:
    return invoke("bitext-align", *words, "--model", model, data=text, code=code)


def output(model: Path, *words: object, text: bytes = b"") -> str:
    return run(model, *words, text=text).stdout


def refused(model: Path, *words: object, code: int, said: str) -> None:
    says_one_line(run(model, "-q", *words, code=code), code, said)


class Encoded:
    """How many sentences were encoded, and when to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.most = 0, 10**9
        whole = Model.encode

        def counting(model: Model, some: list[str], language: str) -> np.ndarray:
            self.count += len(some)
            if self.count > self.most:
                raise KeyboardInterrupt
            return whole(model, some, language)

        monkeypatch.setattr(Model, "encode", counting)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Encoded:
    return Encoded(monkeypatch)


def test_what_is_kept_serves_other_similarities(
    model: Path, files: Files, tmp_path: Path, encoded: Encoded
) -> None:
    ways = [("--similarity", "csls"), ("--similarity", "euclidean"), ("--retrieval", "intersect")]
    ways += [("--keep-duplicates", "-q"), ("--similarity", "joint")]
    whole = [output(model, *files, *way) for way in ways]
    folder = tmp_path / "kept"
    assert output(model, *files, *ways[0], "--resume", folder) == whole[0]
    encoded.count = 0
    for way, expected in zip(ways, whole, strict=True):
        assert encoded.count == 0
        assert output(model, *files, *way, "--resume", folder) == expected


@pytest.mark.gate(2)
@pytest.mark.parametrize("most", [0, 100, 349, 350, 500, 700])
def test_stopped_while_encoding(
    model: Path,
    files: Files,
    tmp_path: Path,
    encoded: Encoded,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bitextfilter.mining.collection_mining._SAFE_ROWS", 100)
    options = ("--batch-size", "60", "--resume", tmp_path / "kept")
    whole = output(model, *files)
    encoded.count, encoded.most = 0, most
    run(model, *files, *options, code=130)
    assert encoded.count <= most + 60
    again = encoded.count = 0
    encoded.most = 10**9
    assert output(model, *files, *options) == whole
    again = encoded.count
    distinct = 350 + 375
    safe = most // 120 * 120 if most < 350 else 350 + (most - 350) // 120 * 120
    assert again == distinct - safe


def test_another_search_is_refused(model: Path, files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    whole = output(model, *files, "--resume", folder)
    kept = (*files, "--resume", folder)
    said = "kept is of another run: "
    refused(model, *kept, "--dtype", "int8", code=78, said=f"{said}dtype was")
    other = toy_model(tmp_path / "other", background=False)
    refused(other, *kept, code=78, said=f"{said}model was")
    text = files[1].read_text()
    files[1].write_text(text + "b1 b2\n")
    refused(model, *kept, code=78, said=f"{said}target text was")
    files[1].write_text(text)
    assert output(model, *kept) == whole
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    full = (*files, "--resume", tmp_path / "full")
    refused(model, *full, code=78, said="is not empty, and holds no earlier run")
    (folder / "plan.json").write_text("{")
    refused(model, *kept, code=65, said="plan.json: damaged; remove the folder\n")
    refused(model, *files, "--resume", files[0], code=74, said=f"{files[0]}: cannot be made")


def test_other_numbers_of_neighbours_in_one_folder(
    model: Path, files: Files, tmp_path: Path, encoded: Encoded
) -> None:
    """Vectors serve whatever search there is."""
    whole = [output(model, *files, "-k", k) for k in "474"]
    resumed = [output(model, *files, "-k", k, "--resume", tmp_path / "kept") for k in "47"]
    assert resumed == whole[:2]
    encoded.count = 0
    assert output(model, *files, "--resume", tmp_path / "kept") == whole[2]
    assert encoded.count == 0


@pytest.mark.parametrize(
    ("name", "left"), [("source.vectors", 1000), ("nearest.4.exact/target.nearest.00000", None)]
)
def test_what_is_missing_from_a_folder_is_said(
    model: Path, files: Files, tmp_path: Path, name: str, left: int | None
) -> None:
    folder = tmp_path / "kept"
    output(model, *files, "--resume", folder)
    path = folder / name
    kept = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(kept[:left])
    words = (*files, "--resume", folder, "--retrieval", "forward")
    refused(model, *words, code=65, said="remove")


def test_vectors_that_are_gone_are_made_again(model: Path, files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "kept"
    whole = output(model, *files, "--resume", folder)
    (folder / "source.vectors").unlink()
    (folder / ".plan.json.123.partial").touch()
    (folder / ".index.123.partial").mkdir()
    (folder / ".index.123.partial" / "vectors").touch()
    assert output(model, *files, "--resume", folder) == whole
    assert not list(folder.glob(".*"))


def test_stopped_while_reading(model: Path, files: Files, tmp_path: Path) -> None:
    whole = output(model, *files)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(files[1].read_bytes() + b"\xff\n")
    folder = tmp_path / "kept"
    run(model, files[0], bad, "--resume", folder, code=65)
    assert output(model, *files, "--resume", folder) == whole


def test_other_forms_of_numbers(model: Path, files: Files) -> None:
    """The pairs are the same, and their scores nearly."""
    found = (table(run(model, *files, "--dtype", kind)) for kind in ("float16", "int8"))
    whole, other = ({(s, t): float(score) for s, t, score in rows} for rows in found)
    true = {(s, t) for s, t in zip(SOURCES[75:350], TARGETS[75:350], strict=True)}
    assert true <= whole.keys()
    assert true <= other.keys()
    for pair in true:
        assert other[pair] == pytest.approx(whole[pair], abs=0.02)


@pytest.mark.gate(2)
@pytest.mark.parametrize("similarity", ["csls", "ratio", "cosine", "euclidean", "mlp", "joint"])
def test_mining_more_against_an_index(
    model: Path, files: Files, tmp_path: Path, similarity: str
) -> None:
    """What is mined in two goes has the scores of one."""
    how = ("--similarity", similarity, "--retrieval", "forward", "--digits", "6")
    whole = output(model, *files, *how).splitlines()
    parts = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    for number, path in enumerate(parts):
        write(path, SOURCES[:350][number::3])
    output(model, parts[0], files[1], *how, "--index-save", tmp_path / "one")
    both = ("--index-load", tmp_path / "one", "--index-save", tmp_path / "two")
    output(model, parts[1], *how, *both)
    last = output(model, parts[2], *how, "--index-load", tmp_path / "two")
    sources = set(SOURCES[:350][2::3])
    assert last.splitlines() == [row for row in whole if row.split("\t")[0] in sources]


@pytest.mark.gate(2)
@pytest.mark.parametrize("similarity", ["csls", "ratio", "distance"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_an_index_that_knows_few_neighbours(
    model: Path, files: Files, tmp_path: Path, similarity: str, before: int
) -> None:
    """Fewer than are wanted, and even with the new ones."""
    how = ("--similarity", similarity, "--retrieval", "forward", "--digits", "6")
    old, new, both = tmp_path / "old", tmp_path / "new", tmp_path / "both"
    write(old, SOURCES[200 : 200 + before])
    write(new, SOURCES[300:301])
    write(both, [*SOURCES[200 : 200 + before], SOURCES[300]])
    whole = output(model, both, files[1], *how)
    output(model, old, files[1], *how, "--index-save", tmp_path / "index")
    last = output(model, new, *how, "--index-load", tmp_path / "index")
    assert last == "".join(row for row in whole.splitlines(True) if row.startswith(SOURCES[300]))
    streamed = output(model, new, "--stream", "--index-load", tmp_path / "index")
    assert "inf" not in streamed


def test_what_decides_about_an_index(model: Path, files: Files, tmp_path: Path) -> None:
    """Its form of numbers is its own; fewer neighbours than it keeps will do; it has a digest."""
    one, two = tmp_path / "one", tmp_path / "two"
    parts = tmp_path / "1", tmp_path / "2"
    for number, path in enumerate(parts):
        write(path, SOURCES[number:350:2])
    how = ("--retrieval", "forward", "--digits", "6", "-k", "3")
    whole = output(model, *files, *how, "--dtype", "int8").splitlines()
    output(model, parts[0], files[1], "-k", "5", "--dtype", "int8", "--index-save", one)
    load = (*how, "--index-load", one, "--dtype", "int8")
    last = output(model, parts[1], *load, "--index-save", two).splitlines()
    sources = set(SOURCES[1:350:2])
    assert last == [row for row in whole if row.split("\t")[0] in sources]
    assert output(model, parts[1], *how, "--index-load", one, "--dtype", "float32") != ""
    kept = ("--resume", tmp_path / "kept")
    output(model, parts[1], "-k", "3", "--index-load", one, *kept)
    words = (parts[1], "-k", "3", "--index-load", two, *kept)
    refused(model, *words, code=78, said="is of another run: index loaded was")


def test_an_index_is_saved_again_by_a_run_that_goes_on(
    model: Path, files: Files, tmp_path: Path
) -> None:
    words = (*files, "--resume", tmp_path / "kept", "--index-save", tmp_path / "index")
    assert output(model, *words) == output(model, *words)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["index", "kept"]
    assert "holds another index" in run(model, *words, "-k", "2", code=74).stderr


@pytest.mark.gate(2)
@pytest.mark.parametrize("similarity", ["csls", "cosine", "joint"])
def test_a_stream_against_an_index(
    model: Path, files: Files, tmp_path: Path, similarity: str
) -> None:
    """In the order of the input, by the neighbours that the index knows."""
    how = ("--similarity", similarity, "--retrieval", "forward", "--digits", "6")
    whole = output(model, *files, *how, "--index-save", tmp_path / "index").splitlines()
    best = {row.split("\t")[0]: row for row in whole}
    lines = files[0].read_text().splitlines()
    options = ("--index-load", tmp_path / "index", "--stream", "--batch-size", "64")
    some = [word for word in how if word not in ("--retrieval", "forward")]
    streamed = output(model, "-", *some, *options, text=files[0].read_bytes())
    assert streamed.splitlines() == [best[line] for line in lines]
    scores = sorted({float(row.split("\t")[2]) for row in best.values()})
    least = sum(scores[150:152]) / 2
    cut = output(model, files[0], *some, *options, "--min-score", str(least)).splitlines()
    assert cut == [best[line] for line in lines if float(best[line].split("\t")[2]) >= least]
    assert 0 < len(cut) < len(lines)


def test_indexes_that_cannot_serve(model: Path, files: Files, tmp_path: Path) -> None:
    index = tmp_path / "index"
    output(model, *files, "--index-save", index)
    load = ("--index-load", index)
    for words, code, text in (
        ((*files, "--index-save", index), 2, "exists already"),
        ((*files, *load), 2, "takes the place of TARGET"),
        ((files[0], *load, "-k", "9"), 78, "keeps 4 neighbours, not 9; take -k 4"),
        ((files[0], "--index-load", tmp_path), 66, "no index there"),
        ((files[0], *load, "--stream", "--retrieval", "max"), 2, "--retrieval does not go with"),
        ((*files, "--stream"), 2, "--stream needs --index-load"),
        ((*files, "--index-save", tmp_path / "no" / "x"), 2, "there is no folder"),
        ((*files, "--index-save", "x", "--resume", "x"), 2, "is the folder of --resume"),
        ((*files, "--index", "exact", "--recall", "0.9"), 2, "--recall is for other searches"),
        ((*files, "--monotonic", "--resume", "x"), 2, "--resume does not go with --monotonic"),
    ):
        refused(model, *words, code=code, said=text)
    other = toy_model(tmp_path / "other", background=False)
    refused(other, files[0], *load, code=78, said="index: was made by the model")
    for name in ("index.json", "nearest", "vectors", "sentences"):
        kept = (index / name).read_bytes()
        (index / name).write_bytes(kept[: len(kept) // 2])
        run(model, files[0], *load, code=65)
        (index / name).write_bytes(kept)
    (index / "digests.json").unlink()  # as older versions wrote it
    run(model, files[0], *load)
    known = json.loads((index / "index.json").read_text())
    (index / "index.json").write_text(json.dumps({**known, "format": 99}))
    run(model, files[0], *load, code=78)


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(collection_mining, "_FEWEST_ROWS", 10)


@pytest.mark.gate(1)
@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("kind", ["flat", "ivf", "ivf-sq8", "ivf-pq"])
def test_an_index_finds_what_exact_search_finds(
    model: Path, files: Files, tmp_path: Path, kind: str
) -> None:
    """A recall of all of a sample that is everything; scores of what is found are exact."""
    exact = ("--similarity", "cosine", "--retrieval", "forward", "--digits", "6")
    whole, how = output(model, *files, *exact), (*exact, "--index", kind)
    manifest = tmp_path / "run.json"
    found = run(model, *files, *how, "--recall", "1", "--manifest", manifest)
    assert found.stdout == whole
    assert f"making indexes of 350 and 375 distinct sentences: {kind}" in found.stderr
    facts = json.loads(manifest.read_text())
    assert facts["facts"]["index"] == kind
    assert facts["facts"]["recall of sources"] == 1
    least = output(model, *files, *how, "--recall", "0.5")
    rows, known = least.splitlines(), set(whole.splitlines())
    assert sum(row in known for row in rows) >= 0.5 * len(known)


@pytest.mark.usefixtures("few_rows")
def test_clusters_find_what_they_say(
    model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of what is found are exact; faiss is not needed."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    how = ("--similarity", "cosine", "--retrieval", "forward", "--digits", "6")
    known, manifest = set(output(model, *files, *how).splitlines()), tmp_path / "run.json"
    done = run(model, *files, *how, "--index", "clusters", "--recall", ".8", "--manifest", manifest)
    assert "dividing 350 and 375 distinct sentences into clusters" in done.stderr
    assert re.search(r"within \d+ of \d+ clusters \(\d+\.\d\d% of all pairs\)", done.stderr)
    facts = json.loads(manifest.read_text())["facts"]
    assert facts["index"] == "clusters"
    rows = done.stdout.splitlines()
    share = sum(row in known for row in rows) / len(known)
    assert share == pytest.approx(facts["recall of sources"], abs=0.003)
    assert 0.8 <= share < 1
    said = "to find 1 of the nearest: take --index exact, or a lower --recall"
    all_ = (*files, *how, "--index", "clusters", "--recall", "1")
    assert said in run(model, *all_, code=78).stderr


@pytest.mark.usefixtures("few_rows")
def test_lists_that_hold_too_few(model: Path, files: Files) -> None:
    """Where a search gives fewer than are wanted, it looks further: no pair is of nothing."""
    how = ("--index", "ivf", "-k", "60", "--recall", "0.1")
    done = run(model, *files, *how)
    assert "Warning" not in done.stderr
    assert "inf" not in done.stdout
    assert len(done.stdout.splitlines()) > 300


@pytest.mark.usefixtures("few_rows")
def test_how_an_index_is_searched_is_what_was_measured(
    model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    asked: list[tuple[int, int]] = []
    candidates = indexes.Index.candidates

    def spy(
        index: indexes.Index, queries: np.ndarray, k: int, lists: int, more: int = 1
    ) -> np.ndarray:
        asked.append((lists, more))
        return candidates(index, queries, k, lists, more)

    monkeypatch.setattr(indexes.Index, "candidates", spy)
    kept = (*files, "--index", "ivf-pq", "--recall", "0.9", "--resume", tmp_path / "kept")
    output(model, *kept)
    folder = tmp_path / "kept" / "nearest.4.ivf-pq.0.9"
    tuned = read_record(folder / "tuned.json")["searches"]
    tuned[0][0], tuned[0][2], tuned[1][0], tuned[1][2] = 3, 2, 5, 4
    write_record(folder / "tuned.json", {"searches": tuned})
    for path in [folder / "done", *folder.glob("*.nearest.*")]:
        path.unlink()
    asked.clear()
    built = {path: path.stat().st_mtime_ns for path in folder.glob("*.index")}
    output(model, *kept)
    lists = tuned[0][1], tuned[1][1]
    assert {(3, 2), (5, 4)} <= set(asked) <= {(3, 2), (5, 4), (lists[0], 2), (lists[1], 4)}
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.index")} == built


@pytest.mark.usefixtures("few_rows")
def test_a_recall_that_cannot_be_reached_is_said(
    model: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(
        indexes.Index, "candidates", lambda _, queries, *__: np.zeros((len(queries), 1), int)
    )
    said = "of the nearest at most, not 0.95: take --index exact"
    assert said in run(model, *files, "--index", "ivf", code=78).stderr


def test_faiss_that_is_not_there(
    model: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_mining, "_FEWEST_ROWS", 10)
    monkeypatch.setitem(sys.modules, "faiss", None)
    refused(model, *files, "--index", "ivf", code=69, said="pip install 'bitextfilter[cpu]'")
    run(model, *files)


@pytest.mark.parametrize(
    ("asked", "sizes", "on_gpu", "kind"),
    [
        ("auto", (1_000_000, 1_000_000), False, "exact"),
        ("auto", (10_000_000, 2_000_000), False, "exact"),
        ("auto", (10_000_000, 2_000_001), False, "clusters"),
        ("auto", (10**9, 9_999), False, "exact"),
        ("ivf", (10_000, 10_000), False, "ivf"),
        ("ivf", (10_000, 9_999), False, "exact"),
        ("exact", (10**9, 10**9), False, "exact"),
        ("auto", (10**8, 10**7), True, "exact"),
        ("auto", (10**8, 10**7 + 1), True, "clusters"),
        ("clusters", (10**5, 10**5), True, "clusters"),
    ],
)
def test_which_kind_of_search(asked: str, sizes: tuple[int, int], on_gpu: bool, kind: str) -> None:
    assert collection_mining.search_kind(asked, sizes, on_gpu=on_gpu) == kind


def test_on_a_gpu_it_is_the_same(
    model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the search of a GPU computes on the processor."""
    whole = output(model, *files)
    monkeypatch.setattr(collection_mining, "searching_device", lambda *_: "cpu")
    manifest = tmp_path / "run.json"
    done = run(model, *files, "--manifest", manifest)
    assert done.stdout == whole
    assert "comparing 350 with 375 distinct sentences, each with each, on cpu" in done.stderr
    assert json.loads(manifest.read_text())["facts"]["search device"] == "cpu"


def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    """Noticed before anything is read."""
    vectors = tmp_path / "vectors.npy"
    np.save(vectors, np.eye(3, dtype=np.float32))
    words = ("--source-vectors", vectors, "--target-vectors", vectors, "--index", "exact")
    write(tmp_path / "some.txt", ["a", "b", "c"])
    files = (tmp_path / "some.txt",) * 2
    done = invoke("bitext-align", "--device", "cuda:9", *words, *files, code=69)
    says_one_line(done, 69, "there is no such CUDA device here; use --device cpu")
