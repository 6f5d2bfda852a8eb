"""The engine on Ray: order, workers and nodes that die, errors of data and of machines."""

from __future__ import annotations

import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nodes import add_node
from tasks import Job, until_error
from toys import sentences, toy_model

pytest.importorskip("ray")

from ray.cluster_utils import Cluster

from bitextfilter.commands import align, embed, score
from bitextfilter.commands import filter as filtering
from bitextfilter.distributed import RayEngine
from bitextfilter.errors import DeviceError, InputError, ModelError, WorkerError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Ray has clusters of nodes on Linux"
)

ROOT = Path(__file__).parents[2]


def results(cluster: Cluster, job: Job, numbers: Iterator[int] | range) -> list[int]:
    with RayEngine(cluster.address) as engine:
        return list(engine.map(job, numbers))


def when(condition: Callable[[], bool], action: Callable[[], object]) -> threading.Thread:
    """Do something as soon as something is true."""

    def watch() -> None:
        while not condition():
            time.sleep(0.02)
        action()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_results_come_in_order_and_workers_are_prepared_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    assert results(cluster, Job(tmp_path), range(40)) == [2 * n for n in range(40)]
    prepared = [path.name.split("-")[-1] for path in tmp_path.glob("prepared-*")]
    done = [path.name.split("-")[-1] for path in tmp_path.glob("done-*")]
    assert len(done) == 40
    assert set(done) <= set(prepared)
    assert len(prepared) <= 2


def test_no_tasks(cluster: Cluster, tmp_path: Path) -> None:
    assert results(cluster, Job(tmp_path), range(0)) == []
    assert list(tmp_path.iterdir()) == []


def test_tasks_are_asked_for_a_few_ahead(cluster: Cluster, tmp_path: Path) -> None:
    asked = 0

    def tasks() -> Iterator[int]:
        nonlocal asked
        while True:
            asked += 1
            yield asked

    with RayEngine(cluster.address) as engine:
        stream = engine.map(Job(tmp_path), tasks())
        assert [next(stream) for _ in range(3)] == [2, 4, 6]
        stream.close()  # type: ignore[attr-defined]
    assert asked < 20


@pytest.mark.gate(0)
def test_the_task_of_a_dead_worker_goes_to_another(cluster: Cluster, tmp_path: Path) -> None:
    for number in (3, 11):
        (tmp_path / f"dies-{number}").touch()
    assert results(cluster, Job(tmp_path), range(20)) == [2 * n for n in range(20)]
    assert len(list(tmp_path.glob("done-3-*"))) == 2
    assert len(list(tmp_path.glob("done-4-*"))) == 1
    assert len(list(tmp_path.glob("prepared-*"))) >= 3


@pytest.mark.gate(0)
@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("fails", "7: 3 workers failed at it, the last: ValueError: nobody can double 7"),
        ("always-dies", "7: 3 workers failed at it, the last: The actor died"),
    ],
)
def test_a_task_that_always_fails_is_reported_after_the_ones_before(
    cluster: Cluster, tmp_path: Path, mark: str, message: str
) -> None:
    (tmp_path / f"{mark}-7").touch()
    with RayEngine(cluster.address) as engine:
        found, error = until_error(engine.map(Job(tmp_path), range(20)))
    assert found == [2 * n for n in range(7)]
    assert isinstance(error, WorkerError)
    assert str(error).startswith(message)
    assert "\n" not in str(error)
    assert len(list(tmp_path.glob("done-7-*"))) == 3


@pytest.mark.gate(0)
def test_bad_data_is_not_tried_again_and_the_first_counts(cluster: Cluster, tmp_path: Path) -> None:
    for number in (5, 6):
        (tmp_path / f"bad-{number}").touch()
    with pytest.raises(InputError) as raised:
        results(cluster, Job(tmp_path), range(20))
    assert str(raised.value) == "pairs.tsv:5: bad row; leave it out"
    assert len(list(tmp_path.glob("done-5-*"))) == 1


@pytest.mark.gate(0)
def test_an_error_of_the_tasks_comes_after_those_before(cluster: Cluster, tmp_path: Path) -> None:
    def tasks() -> Iterator[int]:
        yield from range(5)
        raise InputError("cannot be read any further", file="pairs.tsv", line=6)

    with RayEngine(cluster.address) as engine:
        found, error = until_error(engine.map(Job(tmp_path), tasks()))
    assert (found, str(error)) == ([0, 2, 4, 6, 8], "pairs.tsv:6: cannot be read any further")


@pytest.mark.gate(0)
def test_what_cannot_be_prepared_is_said(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the model is damaged"):
        results(cluster, Job(tmp_path, broken="data"), range(5))
    with pytest.raises(WorkerError, match="no worker can be started: OSError: the machine is"):
        results(cluster, Job(tmp_path, broken="machine"), range(5))


@pytest.mark.gate(0)
def test_a_node_dies(cluster: Cluster, tmp_path: Path) -> None:
    node = add_node(cluster)

    def workers() -> set[int]:
        return {int(path.name.split("-")[-1]) for path in tmp_path.glob("prepared-*")}

    def all_wait() -> bool:
        return len(list(tmp_path.glob("done-*"))) == 8 + 3

    def kill() -> None:
        cluster.remove_node(node, allow_graceful=False)
        while all(Path(f"/proc/{worker}").exists() for worker in workers()):
            time.sleep(0.02)
        (tmp_path / "go").touch()

    watch = when(all_wait, kill)
    found = results(cluster, Job(tmp_path, waits=8), range(24))
    watch.join()
    assert found == [2 * n for n in range(24)]
    again = [path.name for path in tmp_path.glob("done-*-1-*")]
    assert len(again) == 1
    assert int(again[0].split("-")[1]) in (8, 9, 10)


def test_no_room_for_a_worker(cluster: Cluster) -> None:
    with pytest.raises(DeviceError, match="no node of the cluster has 64 CPUs for a worker"):
        RayEngine(cluster.address, cpus=64).__enter__()
    with pytest.raises(DeviceError, match="no node of the cluster has 1 CPUs and 1 GPUs"):
        RayEngine(cluster.address, gpus=1).__enter__()


def call(command: Any, *words: str | Path) -> Result:
    result = CliRunner().invoke(command.main, [str(word) for word in words], input=b"")
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of which some are bad."""
    path = tmp_path_factory.mktemp("rows") / "pairs.tsv"
    pairs = zip(*sentences(3000, 3), strict=True)
    lines = [f"{s}\t{t}\n" if n % 70 else f"{s}\n" for n, (s, t) in enumerate(pairs)]
    path.write_text("".join(lines))
    return path


@pytest.mark.gate("score")
@pytest.mark.parametrize("command", [score, embed, filtering], ids=["score", "embed", "filter"])
def test_commands_give_the_bytes_of_the_local_engine(
    cluster: Cluster, folder: Path, rows: Path, tmp_path: Path, command: Any
) -> None:
    options: list[str | Path] = ["-i", rows, "--on-error", "reject", "--model", folder]
    options += ["--language", "aa", "--column", "2"] if command is embed else []
    options += ["--rule", "length:minimum=5"] if command is filtering else []
    said = []
    for engine in ("local", "ray"):
        words = ["--engine", engine]
        if engine == "ray":
            words += ["--ray-address", cluster.address, "--shard-rows", "250"]
        files = ["-o", tmp_path / f"{engine}.out", "--rejects", tmp_path / f"{engine}.bad"]
        result = call(command, *options, *words, *files, "--batch-size", "100")
        passing = re.compile(r" at work for |: \d+ rows, \S+ rows/s$")  # the latter: progress
        lines = [line for line in result.stderr.splitlines() if not passing.search(line)]
        said.append("\n".join(lines).split(" s,")[0].rsplit(",", 1)[0])
    for kind in ("out", "bad"):
        there = (tmp_path / f"ray.{kind}").read_bytes()
        assert there == (tmp_path / f"local.{kind}").read_bytes() != b""
    assert said[0] == said[1]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".bad", ".bad", ".out", ".out"]


@pytest.mark.gate(0)
def test_a_bad_row_is_named_as_here(cluster: Cluster, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_bytes(b"a1\tb1\n" * 130 + b"bad\n" + b"a1\tb1\n" * 40 + b"\xff\tb1\n")
    line = ["-i", str(path), "-o", str(tmp_path / "out"), "--model", str(folder)]
    words = ["--engine", "ray", "--ray-address", cluster.address, "--shard-rows", "50"]
    here = CliRunner().invoke(score.main, line)
    there = CliRunner().invoke(score.main, [*line, *words])
    assert (here.exit_code, there.exit_code) == (65, 65)
    assert here.stderr == there.stderr
    assert f"{path}:131: 1 column" in there.stderr
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("mining")
    paths = folder / "source.txt", folder / "target.txt"
    for path, lines in zip(paths, sentences(1000, 4), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines[::-1]))
    return [*map(str, paths), "--model", str(toy_model(folder / "model")), "--batch-size", "20"]


def align_all(*words: str | Path) -> str:
    return call(align, *words).stdout


@pytest.mark.gate(0)
def test_a_node_that_dies_while_encoding(
    cluster: Cluster, words: list[str], tmp_path: Path
) -> None:
    whole = align_all(*words)
    node, work = add_node(cluster), tmp_path / "work"
    vectors = work / "source.vectors"

    def remove() -> None:
        while not (vectors.exists() and vectors.stat().st_size):
            time.sleep(0.01)
        cluster.remove_node(node, allow_graceful=False)

    watch = threading.Thread(target=remove)
    watch.start()
    on_ray = ["--engine", "ray", "--ray-address", cluster.address]
    assert align_all(*words, *on_ray, "--resume", work) == whole
    watch.join()
    shutil.rmtree(work / "nearest.4.exact")
    assert align_all(*words, *on_ray, "--resume", work) == whole


@pytest.mark.gate(0)
@pytest.mark.parametrize("kind", ["ivf-sq8", "clusters"])
def test_by_an_index(
    cluster: Cluster, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr("bitextfilter.mining.collection_mining._FEWEST_ROWS", 10)
    index = [*words, "--index", kind, "--recall", "0.9"]
    whole = align_all(*index)
    on_ray = ["--engine", "ray", "--ray-address", cluster.address, "-o", str(tmp_path / "out")]
    align_all(*index, *on_ray)
    assert (tmp_path / "out").read_text() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
