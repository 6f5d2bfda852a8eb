"""Commands under low limits, odd environments, odd places and odd names.

A trial runs one command under one or two of these. It ends with a documented exit code and one
clear line, and its output is whole or as it was before.
"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from console import BIN
from lines import SKIP_GRAM, Content, content, inputs

from bitextfilter.io.records import DIGESTS, changed_files

CODES = {0, 2, 65, 66, 69, 71, 74, 78}
"""The documented exit codes that no signal and no bug leads to."""

NATIVE = {
    "OpenBLAS error", "OpenBLAS blas_thread_init", "terminate called", "MKL FATAL",
    "Fatal Python error", "libgomp", "ThreadPoolBuildError", "Could not allocate memory",
    "init_sys_streams", "core dumped",
}  # fmt: skip
"""Last words of libraries, and of Python before it runs a command, that nobody can catch."""

PATIENCE = 120
ROWS = 300
OWN = ("out", "rejects", "manifest", "work")
OLD = b"the output of an earlier run\n"

TRAIN = "-q --languages aa,ba --threads 1 --development {files}/dev.tsv"

COMMANDS = {
    "fix": "bitext-fix -i {rows} -o {out} --on-error reject --rejects {rejects}"
    " --manifest {manifest}",
    "filter": "bitext-filter --rule default --rule numbers --explain -i {rows} -o {out}",
    "processes": "bitext-filter --threads 2 --shard-rows 100 --resume {work} --rule length"
    " -i {rows} -o {out}",
    "rank": "bitext-rank --column 3 -i {rows} -o {out} --rejects {rejects}",
    "dedup": "bitext-dedup --match normalised -i {rows} -o {out} --groups {rejects}",
    "noise": "bitext-noise --seed 1 --rate shuffled=0.5 -i {rows} -o {out}",
    "jsonl": "bitext-convert --to jsonl -i {rows} -o {out}",
    "tmx": "bitext-convert --to tmx --languages aa,ba -i {rows} -o {out}",
    "parquet": "bitext-convert --to parquet -i {rows} -o {out}",
    "csv": "bitext-convert --to csv -i {rows} -o {out}",
    "moses": "bitext-convert --to moses -i {rows} {out} {rejects}",
    "report": "bitext-report --title scores -i {rows} -o {out}",
    "arpa": "bitext-train-language-model -i {rows} -o {out}",
    "score": "bitext-score --model {model} --similarity cosine,mlp -i {rows} -o {out}",
    "resume": "bitext-score --model {model} --similarity cosine -i {rows} -o {out} --resume {work}"
    " --shard-rows 100",
    "embed": "bitext-embed --model {model} --language aa --column 1 -i {rows} -o {out}",
    "align": "bitext-align --model {model} {source} {target} -o {out}",
    "align documents": "bitext-align-documents --by length {source} {target} -o {out}",
    "segment": "bitext-segment apply --segmenter {model} -i {source} -o {out}",
    "embeddings": f"bitext-train-embeddings -q --languages aa,ba {SKIP_GRAM} --map dictionary"
    " --source-text {source} --target-text {target} --dictionary {files}/words.tsv -o {out}",
    "encoder": "bitext-train-encoder --settings {files}/encoder.json --pairs {rows} -o {out}"
    f" {TRAIN}",
    "translator": "bitext-train-translator --settings {files}/translator.json --pairs {rows}"
    f" -o {{out}} {TRAIN}",
    "classifier": "bitext-train-classifier -q {rows} --negatives repaired --model {model}"
    " --threads 1 --set hidden=4 --set training.epochs=1 -o {out}",
    "tune": "bitext-tune -q {files}/grid.toml --processes 1 -o {out} --pairs {rows}"
    " --languages aa,ba --development {files}/dev.tsv",
    "translate": "bitext-translate --model {files}/translator -i {files}/few.aa --beam 2"
    " --threads 1 --max-length 9 -o {out}",
    "recommend": "bitext-models recommend {files}/model {files}/cut.json -o {out}",
    "paraphrases": "bitext-paraphrase make --translator {files}/translator -i {files}/few.tsv"
    " --beam 2 --threads 1 --max-length 9 -o {out}",
    "reference classifier": "bitext-paraphrase train -q {rows} --architecture averaging"
    " --set shape.embedding=4 --set training.epochs=1 --threads 1 -o {out}",
    "references": "bitext-paraphrase score --model {files}/references --threads 1 -i {rows}"
    " -o {out}",
    "lexicon": "bitext-paraphrase lexicon -i {rows} -o {out}",
    "recovery": "bitext-evaluate recovery --model {model} --similarity cosine {rows} -o {out}",
    "mining": "bitext-evaluate mining {rows} {rows} -o {out}",
    "corpus": "bitext-evaluate corpus {source} --column 1 -o {out}",
}
"""A command line of each kind of work, by name."""

LIGHT = ("fix", "rank", "dedup", "noise", "jsonl", "tmx", "parquet", "csv", "moses", "arpa")
"""Those that start at once."""


@functools.cache
def shared() -> Path:
    """A folder with rows and texts, made once a process."""
    folder, numbers = Path(tempfile.mkdtemp(prefix="limits-")), Random(3)
    words = [[numbers.randrange(50) for _ in range(6)] for _ in range(ROWS)]
    source, target = ([" ".join(f"{s}{n}" for n in row) for row in words] for s in "ab")
    rows = zip(source, target, range(ROWS), strict=True)
    lines = "".join(f"{one}\t{other}\t0.{n:03}\n" for one, other, n in rows)
    (folder / "rows").write_text(lines, "utf-8")
    (folder / "source").write_text("\n".join(source) + "\n", "utf-8")
    (folder / "target").write_text("\n".join(target) + "\n", "utf-8")
    return folder


@functools.cache
def model() -> Path:
    """A model for these, made once a process."""
    from toys import toy_model

    return toy_model(shared() / "model")


def words_of(name: str, names: Mapping[str, str]) -> list[str]:
    """The words of a command line."""
    line = COMMANDS[name]
    given = {key: str(shared() / key) for key in ("rows", "source", "target")}
    if "{files}" in line:
        given["files"] = str(inputs())
    if "{model}" in line:
        given["model"] = str(model())
    return [word.format(**{**given, **names}) for word in line.split()]


@dataclass
class Attack:
    """The command line and the world it runs in; attacks change them."""

    folder: Path
    names: dict[str, str]
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    before: list[Callable[[], object]] = field(default_factory=list)
    """Functions that run in the child, before the command."""
    told: list[str] = field(default_factory=list)
    silent: bool = False
    """Nothing is read from stderr."""
    prefix: list[str] = field(default_factory=list)
    """Words before the command line."""
    seen: Path | None = None
    """A copy of a folder that only the command had."""


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """Run one command under one or two attacks."""
    name = chooser.choice([*COMMANDS, *LIGHT])
    return attempt(name, chooser.sample(ATTACKS, chooser.choice((1, 1, 2))), chooser, folder)


def attempt(
    name: str, attacks: list[Callable[[Attack, Random], None]], chooser: Random, folder: Path
) -> Counter[str]:
    """Run a command under attacks, and check its promises."""
    folder.chmod(0o777)
    place = folder / "place"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    attack = Attack(place, {key: str(place / key) for key in OWN})
    if chooser.random() < 0.5 and undisturbed(name).keys() == {"."}:  # a file
        (place / "out").write_bytes(OLD)
        (place / "out").chmod(0o666)
    for one in attacks:
        one(attack, chooser)
    words = words_of(name, attack.names)
    code, message = run(words, attack)
    shown = f"{words} under {attack.told}: exit {code}, {message!r}"
    died = any(word in message for word in NATIVE) and code not in CODES
    assert code in CODES or died, shown
    if not died:
        check_message(code, message, attack, shown)
    check_outputs(code, name, attack, shown)
    return Counter({"runs": 1, f"exit {code if code in CODES else 'of a library'}": 1})


def run(words: list[str], attack: Attack) -> tuple[int, str]:
    """Return exit code and messages of a command, which must end in time."""

    def prepare() -> None:
        os.umask(0)
        for step in attack.before:
            step()

    messages = Path(attack.folder.parent, "messages")
    with messages.open("wb") as stderr:
        child = subprocess.Popen(
            [*attack.prefix, sys.executable, "-B", str(BIN / words[0]), *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=attack.environment,
            preexec_fn=prepare,  # noqa: PLW1509 (there is one thread)
            start_new_session=True,
            cwd=attack.folder,
        )
        try:
            code = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise AssertionError(f"{words} under {attack.told} hangs") from None
    return code, messages.read_text("utf-8", "replace")


def check_message(code: int, message: str, attack: Attack, shown: str) -> None:
    """One line says what is wrong, and no line can command a terminal."""
    assert all(c == "\n" or c.isprintable() for c in message), shown
    assert "Traceback" not in message, shown
    lines = message.splitlines()
    if code and not attack.silent:
        assert lines and lines[-1].startswith("bitext-"), shown
        assert len([line for line in lines if "warning" not in line]) <= 3, shown


def check_outputs(code: int, name: str, attack: Attack, shown: str) -> None:
    """The output is that of an undisturbed run, or as before; nothing else is left.

    A training that fails later may have written the model of an earlier update.
    """
    folder = attack.seen or attack.folder
    out = Path(str(folder / attack.names["out"]).replace(str(attack.folder), str(folder)))
    if os.path.isfile(out) or os.path.isfile(out / "config.json"):  # noqa: PTH113 (too long a name)
        found, whole = written(out), undisturbed(name)
        old = out.is_file() and out.read_bytes() == OLD
        earlier = (out / DIGESTS).is_file() and not any(changed_files(out))
        assert found == whole or (code and (old or earlier)), f"{shown}; it has {found}"
    if code in CODES and not (code == 71 and "open files" in str(attack.told)):  # to remove them
        stray = [path for path in folder.iterdir() if path.name.startswith(".")]
        assert not stray, f"{shown}; left behind: {stray}"


def written(out: Path) -> Content:
    """The content of an output, but for the names of the files that a model was made from."""
    told = {"training.json", "digests.json"}
    return {path: digest for path, digest in content(out).items() if path not in told}


@functools.cache
def undisturbed(name: str) -> Content:
    """The output of a command without any attack."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "place")
        place.mkdir()
        attack = Attack(place, {key: str(place / key) for key in OWN})
        code, message = run(words_of(name, attack.names), attack)
        assert code == 0, (name, message)
        return written(place / "out")


def _limit(kind: int, most: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(kind, (most, most))


def little_memory(attack: Attack, chooser: Random) -> None:
    """Allow from 40 MB, with which Python itself begins, to 4 GB of addresses."""
    most = int(40e6 * 100 ** chooser.random())
    attack.prefix += ["sh", "-c", f'ulimit -v {most >> 10}; exec "$@"', "sh"]
    attack.told.append(f"{most >> 20} MB of memory")


def few_files(attack: Attack, chooser: Random) -> None:
    """Allow from 8 to 40 open files; Python itself needs some to start."""
    most = chooser.randint(8, 40)
    attack.before.append(_limit(resource.RLIMIT_NOFILE, most))
    attack.told.append(f"{most} open files")


def small_files(attack: Attack, chooser: Random) -> None:
    """Allow files of up to 64 kB, often of no byte."""
    most = chooser.choice((0, 1, 100, 1000, 4096, 10_000, 65_536))
    attack.before.append(_limit(resource.RLIMIT_FSIZE, most))
    attack.told.append(f"files of {most} bytes")
    attack.silent = True  # as its file is limited, too


def no_threads(attack: Attack, _: Random) -> None:
    """Have memory, but none for the stack of a thread; root has no other limit of threads."""
    attack.before.append(_limit(resource.RLIMIT_AS, 1 << 35))
    attack.before.append(_limit(resource.RLIMIT_STACK, 1 << 36))
    attack.told.append("no threads")


_DROP_OF_BOUNDS, _OVERRIDES = 24, 1
"""PR_CAPBSET_DROP of linux/prctl.h, CAP_DAC_OVERRIDE of linux/capability.h."""


def no_rights(attack: Attack, _: Random) -> None:
    """Have no right to write in the folder, not even as root."""
    libc = ctypes.CDLL(None)
    attack.folder.chmod(0o555)
    if os.getuid() == 0:
        attack.before.append(lambda: libc.prctl(_DROP_OF_BOUNDS, _OVERRIDES, 0, 0, 0))
    attack.told.append("a folder that cannot be written")


def odd_output(attack: Attack, chooser: Random) -> None:
    """Write into a missing folder, a file, /proc, or under a name that is too long."""
    (attack.folder / "file").write_bytes(b"")
    places = ("missing/out", "file/out", "/proc/out", "/dev/full", "x" * 256, ".", "")
    place = chooser.choice(places)
    attack.names["out"] = str(attack.folder / place) if place and place[0] != "/" else place
    attack.told.append("an output in an odd place")


def odd_name(attack: Attack, chooser: Random) -> None:
    """Read and write files with odd names."""
    odd = chooser.choice(
        ("-x", "-", "a\nb", "\x1b[31m", "\udcff", "\u202e", "é" * 120, "y" * 255, " ", "*", "{0}")
    )
    for key in ("rows", "out"):
        path = attack.folder / f"{odd}{'' if len(odd) > 100 else key}"
        if key == "rows":
            path = attack.folder / "of" / path.name
            path.parent.mkdir()
            path.write_bytes((shared() / "rows").read_bytes())
        attack.names[key] = str(path)
    if odd[0] == "-":
        attack.names["out"] = f"{odd}out"
    attack.told.append(f"files called {odd!r}")


def odd_environment(attack: Attack, chooser: Random) -> None:
    """Unset HOME, or all; set the locale C; name a TMPDIR that is missing, or a file."""
    (attack.folder / "no-folder").write_bytes(b"")
    settings: dict[str, str] = chooser.choice(
        (
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"LC_ALL": "POSIX", "LANG": ""}, {"TMPDIR": "/no/such/folder"},
            {"TMPDIR": str(attack.folder / "no-folder")}, {"HOME": "/no/such/folder"},
            {"COLUMNS": "0", "TERM": "dumb"}, {},
        )
    )  # fmt: skip
    if not settings:
        attack.environment.clear()
    attack.environment.pop("HOME", None)
    attack.environment.update(settings)
    attack.told.append(f"the environment {settings}")


def closed_streams(attack: Attack, chooser: Random) -> None:
    """Close some of the standard streams."""
    streams = chooser.sample((0, 1, 2), chooser.randint(1, 3))
    attack.before.append(lambda: [os.close(stream) for stream in streams])
    attack.silent |= 2 in streams
    attack.told.append(f"closed streams {streams}")


def to_stdout(attack: Attack, chooser: Random) -> None:
    """Write to a full stdout, or to one that is closed."""
    closed = chooser.random() < 0.5

    def point() -> None:
        os.close(1)
        if not closed:
            assert os.open("/dev/full", os.O_WRONLY) == 1

    attack.names["out"] = "-"
    attack.before.append(point)
    attack.told.append("stdout closed" if closed else "stdout full")


def no_folder(attack: Attack, chooser: Random) -> None:
    """Work in a folder that was removed."""
    gone = attack.folder / "gone"
    gone.mkdir()
    attack.before += [lambda: os.chdir(gone), gone.rmdir]
    attack.told.append("a removed folder")


def no_network(attack: Attack, _: Random) -> None:
    """Have no network, not even to this machine."""
    if may_mount():
        attack.prefix += ["unshare", "-n"]
        attack.told.append("no network")


def small_disk(attack: Attack, chooser: Random) -> None:
    """Write and keep temporary files on a disk that is nearly full, and have no shared memory."""
    most = chooser.choice((4, 16, 64))
    mounts = f"mount -t tmpfs -o mode=777,size={most}k none {attack.folder}"
    if chooser.random() < 0.5:
        mounts += "; mount -t tmpfs -o ro none /dev/shm"
    attack.environment["TMPDIR"] = str(attack.folder)
    if may_mount():
        attack.seen = attack.folder.with_name("seen")
        script = f'{mounts}; "$@"; code=$?; cp -r {attack.folder} {attack.seen}; exit $code'
        attack.prefix += ["unshare", "-m", "sh", "-c", script, "sh"]
        attack.told.append(f"a disk of {most} kB: {mounts}")


@functools.cache
def may_mount() -> bool:
    """Whether a command may have mounts of its own."""
    words = ["unshare", "-m", "mount", "-t", "tmpfs", "none", tempfile.gettempdir()]
    return bool(shutil.which("unshare")) and not subprocess.run(words, check=False).returncode


ATTACKS: list[Callable[[Attack, Random], None]] = [
    little_memory, few_files, small_files, no_threads, no_rights, odd_output, odd_name,
    odd_environment, closed_streams, to_stdout, no_folder, no_network, small_disk,
]  # fmt: skip
