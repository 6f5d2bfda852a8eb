"""What every measurement of rows keeps: one table in two forms, bad rows, windows, refusals."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from console import invoke, says_one_line, table
from toys import sentences, toy_model

from bitextfilter.io.vectors import write_word_vectors
from bitextfilter.papers import paraphrases

SOURCES, TARGETS = sentences(40, 4)
DRAWS = ("--bootstrap", "20")


def written(*columns: object) -> str:
    """Rows of these columns; a word stands in each row."""
    cells = ([one] * len(SOURCES) if isinstance(one, str) else one for one in columns)
    return "".join("\t".join(map(str, row)) + "\n" for row in zip(*cells, strict=False))


NUMBERS = [f"{number % 7 / 10 + number % 3}" for number in range(40)]
LABELS = ["clean", "shuffled", "copied", "clean"] * 10
LIKE = [str(int(number % 5 > 1)) for number in range(40)]
LINES = written(NUMBERS, SOURCES, TARGETS).encode()
FILES = {
    "links": b"[0]:[0]:0.9\n[]:[2]:\n[3]:[3,4]:0.8\n",
    "nothing": b"",
    "pair": b"a\tb\n",
    "one column": b"a\n",
    "blank target": b"a\tb\nc\t \n",
    "tab": b"a1\na2\tb\n",
    "blank": b"a1\n \n",
    "few.tsv": b"1\ta1\tb1\n0\ta2\tb3\n",
    "uneven.vec": b"haus 1 2\nbaum 3\n",
    "narrow.vec": b"haus 1 2\n",
    "lexicon": b"big\tlarge\t9\t1.0\t0.6\t0.5\n",
    "short lexicon": b"big\tlarge\t9\t1.0\t0.6\t0.5\na\tb\n",
    "worded lexicon": b"a\tb\t1\tx\t1\t1\n",
    "bytes lexicon": b"\xff\tb\t1\t1\t1\t1\n",
    "rated": LINES,
    "same": b"".join(b"3\t" + line.split(b"\t", 1)[1] for line in LINES.splitlines(True)),
    "wide": LINES.replace(b".", b"0000."),
    "bad": b"high\tx\ty\n",
}

COMMANDS: dict[str, tuple[str, str, str, str]] = {
    "corpus": ("--score-column -1 -", written(SOURCES, TARGETS, NUMBERS), "a\n", "--tcol 2"),
    "filtering": (
        "--labels 3", written(SOURCES, TARGETS, LABELS, NUMBERS), "a\n", "--labels 3"),
    "mining": ("gold.tsv", written(SOURCES, TARGETS, NUMBERS), "a\n", "--tcol 2"),
    "neighbours": (
        "--model toy --of queries --neighbours 3", written(TARGETS), "\n", "the line is empty"),
    "paraphrase": (
        "--model toy --development dev.tsv -",
        written(LIKE, SOURCES, TARGETS), "1\ta1\n", "--tcol 3"),
    "recovery": ("--model toy --similarity csls,random -", written(SOURCES, TARGETS), "a\n",
                 "--tcol 2"),
    "sts": ("--model toy", written(NUMBERS, SOURCES, TARGETS), "3\ta1\n", "--tcol 3"),
    "words": ("--source s.vec --target t.vec -", "b\tg\nc\th\nx\ty\n", "only\n", "--tcol 2"),
    "contrasts": (
        "--model toy --kinds 1 --scol 2 --tcol 3 --worse-tcol 4",
        written(LABELS, SOURCES, TARGETS, TARGETS[1:] + TARGETS[:1]), "a\n", "expected at least")
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder with all files that the lines name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("every"))
        toy_model(Path("toy"), classifier=False)
        toy_model(Path("whole"))
        Path("gold.tsv").write_text(written(SOURCES, TARGETS[:30] + TARGETS[:10]))
        Path("queries").write_text(written(SOURCES[:3]))
        Path("dev.tsv").write_text(COMMANDS["paraphrase"][1])
        for name, text in FILES.items():
            Path(name).write_bytes(text)
        for name, words in (("s.vec", "bcd"), ("t.vec", "gh")):
            with open(name, "wb") as file:
                write_word_vectors(file, [*words], np.eye(3, dtype=np.float32)[: len(words)])
        patch.setattr(paraphrases, "TRAINING", replace(paraphrases.TRAINING, epochs=2))
        yield


def measured(name: str, *more: object, data: str | None = None, code: int = 0) -> Result:
    words, usual, *_ = COMMANDS[name]
    draws = () if name in ("corpus", "neighbours", "recovery") else DRAWS
    data = usual if data is None else data
    return invoke("bitext-evaluate", name, *draws, *more, *words.split(), data=data, code=code)


def leaves(value: Any) -> Iterator[str]:
    """Everything in a record, in each form that a table may give it."""
    if isinstance(value, list):
        yield str(len(value))
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves(each)
    elif isinstance(value, float):
        yield from (f"{value:.4f}", f"{value:.2f}", repr(value))
    else:
        yield "-" if value is None else str(value)


@pytest.mark.parametrize("name", COMMANDS)
def test_json_says_what_the_table_says_and_windows_do_not_count(name: str) -> None:
    head, *rows = table(measured(name, "-q"))
    whole = json.loads(measured(name, "-q", "--json").stdout)
    assert whole["task"] == name
    records = whole["results"]
    assert len(records) == len(rows) > 0
    for row, record in zip(rows, records, strict=True):
        known = {*leaves(record), *leaves({**whole, "results": None}), ""}
        assert [cell for cell in row if cell not in known] == [], (head, record)
    assert table(measured(name, "-q", "--batch-size", "3")) == [head, *rows]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_row_stops_or_is_set_aside(name: str) -> None:
    _, data, row, message = COMMANDS[name]
    place = f"stdin:{data.count(chr(10)) + 1}: "
    failed = measured(name, data=data + row, code=65)
    assert message in failed.stderr
    says_one_line(failed, 65, f"bitext-evaluate {name}: {place}")
    aside = ("--on-error", "reject", "--rejects", "aside.tsv")
    kept = measured(name, *aside, data=data + row)
    assert kept.stdout == measured(name).stdout
    assert ", 1 rejected" in kept.stderr
    assert Path("aside.tsv").read_text().endswith("\t" + row)


MANY = "".join(f"a\tb\tlabel{number}\t1\n" for number in range(1001))
PARAPHRASE = "paraphrase --model toy --development dev.tsv"
REFUSED = {
    "alignment": [
        ("alignment pair links", "", 65, "pair:1: no link: 'a\\tb'"),
        ("alignment links -", "[0]:[0]\nx\n", 65, "stdin:2: no link: 'x'"),
        ("alignment nothing links", "", 65, "nothing: no gold to compare"),
        ("alignment - links", "[]:[0]\n", 65, "stdin: no gold to compare"),
        ("alignment links -", "\n", 65, "stdin: no links to compare"),
        ("alignment links missing", "", 66, "missing"),
        ("alignment links links links", "", 2, ""),
        ("alignment - -", "", 2, ""),
        ("alignment", "", 2, "")
    ],
    "words": [
        ("words --source uneven.vec --target t.vec -", "b\tg\n", 65, "uneven.vec:2: expected a w"),
        ("words --source narrow.vec --target t.vec -", "b\tg\n", 65, "source vectors of 2 numb"),
        ("words --source s.vec --target t.vec -", "x\ty\n", 65, "no entry of the dictionary has"),
        ("words --source no.vec --target t.vec -", "b\tg\n", 66, "no.vec: cannot be opened")
    ],
    "lexicon": [
        ("lexicon --lexicon 'short lexicon' pair", "", 65, "short lexicon:2: expected 6 columns"),
        ("lexicon --lexicon 'worded lexicon' pair", "", 65, "worded lexicon:1: expected 6 colum"),
        ("lexicon --lexicon 'bytes lexicon' pair", "", 65, "bytes lexicon:1: expected 6 columns"),
        ("lexicon --lexicon lexicon pair", "", 65, "fewer than two pairs"),
        ("lexicon --lexicon lexicon none.tsv", "", 66, "none.tsv")
    ],
    "contrasts": [
        ("contrasts --model toy", "", 2, "--worse-scol or --worse-tcol"),
        ("contrasts --model toy --worse-tcol 2", "", 65, ""),
        ("contrasts --model toy --worse-tcol 2", "a\tb\n", 65, "no pair is damaged"),
        ("contrasts --model toy --worse-tcol 2 --similarity luck", "", 2, "")
    ],
    "corpus": [
        ("corpus -", "", 65, "stdin: no rows"),
        ("corpus --on-error reject -", "\n", 65, "stdin: no rows"),
        ("corpus nowhere.tsv", "", 66, "nowhere.tsv"),
        ("corpus", "", 2, ""),
        ("corpus - --idf-from -", "", 2, "only one file can be stdin"),
        ("corpus -", "a\0\tb\n", 65, "stdin:1: NUL byte in the source")
    ],
    "filtering": [
        ("filtering --labels 3", "a\tb\t \t1\n", 65, "stdin:1: the label is empty; --on-error"),
        ("filtering --labels 3", "", 65, "stdin: no rows"),
        ("filtering --labels 3", "a\tb\tx\t1\n", 65, "stdin: no 'clean' among the labels: x"),
        ("filtering --labels 3", "a\tb\tclean\t1\n", 65, "stdin: no noise: every label is 'clean'"),
        ("filtering --labels 3", "a\tb\tclean\t1\na\tb\tall\t1\n", 65,
         "stdin: the label 'all' would stand for all noise"),
        ("filtering --labels 3", "a\tb\tclean\tx\na\tb\tx\t\n", 65,
         "stdin: no row has a score; --column"),
        ("filtering --labels 3", "a\tb\tclean\t1\n" + MANY, 65,
         "stdin: 1001 different labels, such as label0, label1, label10, label100, label1000, ..."),
        ("filtering", "", 2, "--labels COLUMN must name the labels"),
        ("filtering --labels 3 --recall 0.5", "", 2, "--recall needs --suggest-threshold"),
        ("filtering --labels 3 --count-side both", "", 2, "--count-side needs --suggest-threshold"),
        ("filtering --labels what", "", 2, "a column can only be named with --header"),
        ("filtering --labels 3 --threshold nan", "", 2, "'nan' is not a number"),
        ("filtering --labels 3 --similarity csls", "", 2, "--similarity needs --suggest-threshold"),
        ("filtering --suggest-threshold --threshold 1", "", 2, "exclude each other"),
        ("filtering --suggest-threshold --recall 1 --precision 1", "", 2, "exclude each other"),
        ("filtering --suggest-threshold --verdict 4", "", 2, "--verdict needs --labels COLUMN"),
        ("filtering --suggest-threshold --similarity bleu", "", 2, "'bleu' is none of cosine"),
        ("filtering --suggest-threshold --labels 3 --similarity csls", "", 2, "exclude each other"),
        ("filtering --suggest-threshold --noise-share 1", "", 2, "must be less than 1"),
        ("filtering --suggest-threshold --precision 0", "", 2, "must be more than 0"),
        ("filtering --suggest-threshold --labels 3", "a\tb\tclean\t\na\tb\tx\t1\n", 65,
         "stdin: no clean row has a score"),
        ("filtering --suggest-threshold --model toy", "", 65, "stdin: no rows"),
        ("filtering --suggest-threshold --model toy", "a1\tb1\n", 65,
         "stdin: no pair of 6 to 60 words on both sides to make noise of"),
        ("filtering --suggest-threshold --model toy --similarity mlp", written(SOURCES, TARGETS),
         78, "mlp needs a classifier")
    ],
    "mining": [
        ("mining nothing", "a\tb\t1\n", 65, "nothing: no gold pairs"),
        ("mining pair", "", 65, "stdin: no mined pairs"),
        ("mining pair", "a\tb\tx\n", 65, "stdin: no row has a score; --column says where"),
        ("mining pair", "a\tb\n", 65, "stdin: no row has a score; --column says where"),
        ("mining 'one column'", "a\tb\t1\n", 65, "one column:1: 1 column, expected at least 2 ("),
        ("mining 'blank target'", "a\tb\t1\n", 65, "blank target:2: the target is empty"),
        ("mining pair", "a\tb\t1\n\tb\t1\n", 65, "stdin:2: the source is empty"),
        ("mining -", "a\tb\n", 2, "only one of GOLD and MINED can be stdin")
    ],
    "neighbours": [
        ("neighbours --model toy --of tab", "b1\n", 65, "tab:2: a tab in the sentence; give one"),
        ("neighbours --model toy --of blank", "b1\n", 65, "blank:2: the line is empty; leave it"),
        ("neighbours --model toy --of nothing", "b1\n", 65, "nothing: no sentences"),
        ("neighbours --model toy --of queries --on-error reject", "\n", 65, "stdin: no sentences"),
        ("neighbours --of queries --hubs 2 --histogram", "", 2,
         "--histogram and --hubs exclude each other"),
        ("neighbours --of -", "", 2, "only one of QUERIES and FILE can be stdin"),
        ("neighbours --model toy --of queries nowhere.txt", "", 66, "nowhere.txt")
    ],
    "paraphrase": [
        (f"{PARAPHRASE} -", "3\ta1\tb1\n", 65, "stdin:1: the label '3' is neither 0 nor 1; --"),
        (f"{PARAPHRASE} -", "1.0\ta1\tb1\n", 65, "stdin:1: the label '1.0' is neither 0 nor 1"),
        (f"{PARAPHRASE} -", "\ta1\tb1\n", 65, "stdin:1: the label is empty; --on-error reject"),
        (f"{PARAPHRASE} -", "1\ta1\t\n", 65, "stdin:1: the target is empty"),
        (f"{PARAPHRASE} -", "1\ta1\tb1\n1\ta2\tb2\n", 65, "stdin: every label is 1; pairs"),
        (f"{PARAPHRASE} -", "0\ta1\tb1\n", 65, "stdin: every label is 0"),
        (f"{PARAPHRASE} -", "", 65, "stdin: no pairs"),
        ("paraphrase --model toy --development few.tsv dev.tsv", "", 65, "few.tsv: too few pairs"),
        (f"{PARAPHRASE} --language xx dev.tsv", "", 78, "languages are aa and ba, not 'xx'"),
        (f"{PARAPHRASE} --language aa,ba,aa dev.tsv", "", 2, "expected a language of the model"),
        ("paraphrase -", "", 2, ""),
        ("paraphrase --model toy --development nowhere.tsv -", "", 66, "nowhere.tsv")
    ],
    "recovery": [
        ("recovery --similarity cosine,hamming pair", "", 2, "'hamming' is none of cosine, euclid"),
        ("recovery --similarity cosine,all pair", "", 2, "'all' is none of cosine, "),
        ("recovery --similarity csls,cosine,csls pair", "", 2, "'csls' is asked for twice"),
        ("recovery --seed -1 pair", "", 2, "-1 is not in the range x>=0"),
        ("recovery --model toy nothing", "", 65, "no pairs"),
        ("recovery --model toy missing.tsv", "", 66, "missing.tsv"),
        ("recovery --model toy --similarity mlp pair", "", 78, "classifier"),
        ("recovery --model nowhere --similarity cosine pair", "", 66, "nowhere"),
        ("recovery --similarity dual pair", "", 78, "dual needs --translator DIR,DIR"),
        ("recovery --similarity random --translator x pair", "", 2, "--translator is for")
    ],
    "sts": [
        ("sts --column 2", "1\t2\n2\thigh\n", 65, "stdin:2: the score 'high' is no number"),
        ("sts --column 2", "", 65, "stdin: too few pairs to correlate"),
        ("sts --column 2", "1\t0.5\n", 65, "stdin: too few pairs to correlate"),
        ("sts --column 2", "1\t0.5\n\t0.5\n", 65, "stdin: too few pairs to correlate"),
        ("sts --column 2 --similarity cosine", "", 2, "--column and --similarity exclude"),
        ("sts --column 2 --language aa", "", 2, "--column and --language exclude each other"),
        ("sts --similarity hamming", "", 2, "similarity 'hamming' is none of cosine, euclidean"),
        ("sts --grade-step 2", "", 2, "--grade-step needs --grades"),
        ("sts --grade-step 0", "", 2, "--grade-step"),
        ("sts --column 2 - -", "", 2, "stdin is asked for twice"),
        ("sts --model toy --language ce rated", "", 78, "ce"),
        ("sts --model whole --language aa --similarity mlp rated", "", 78, "with cosine and eucl"),
        ("sts --model toy --similarity mlp rated", "", 78, ""),
        ("sts missing.tsv", "", 66, "missing.tsv"),
        ("sts --regression rated rated", "", 2, "need each other"),
        ("sts --development rated rated", "", 2, "need each other"),
        ("sts --regression rated --development rated --column 2 rated", "", 2, "exclude each"),
        ("sts --regression rated --development rated --similarity csls rated", "", 2, "exclude"),
        ("sts --model toy --regression missing --development rated rated", "", 66, "missing: can"),
        ("sts --model toy --regression same --development rated rated", "", 65, "all ratings are"),
        ("sts --model toy --regression wide --development rated rated", "", 65, "ratings from 0 "),
        ("sts --model toy --regression bad --development rated rated", "", 65, "bad:1:")
    ]
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_one_line(name: str) -> None:
    for line, data, code, message in REFUSED[name]:
        done = invoke("bitext-evaluate", *shlex.split(line), "-q", data=data, code=None)
        assert done.exit_code == code, (line, done.output)
        says_one_line(done, code, message)
