"""bitext-judge requests, import and combiner: from a sample to a filter by a model's labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bitextfilter.commands.combine import main as combine
from bitextfilter.commands.judge import main
from bitextfilter.judge.judgements import sample_header


@pytest.fixture(autouse=True)
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sixty rows, whose score rises, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = [f"s{n}\tt{n}\t{n / 60}\t{n % 7}\t{n + 1}\ta\t2\n" for n in range(60)]
    Path("sample.tsv").write_bytes(sample_header(["mlp", "ratio"]) + "".join(rows).encode())
    return rows


def call(line: str) -> Result:
    return CliRunner().invoke(main, line.split())


def asked() -> list[dict[str, Any]]:
    assert (
        call("requests sample.tsv --model m --languages en,zh-Hans -o asked.jsonl").exit_code == 0
    )
    return [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]


def answered(texts: list[str], name: str = "llm.jsonl") -> None:
    """Write the answers of a batch to the requests, the last first."""
    lines = []
    for request, text in zip(asked(), texts, strict=False):
        body = {"model": "m", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        record = {"custom_id": request["custom_id"], "response": {"body": body}, "error": None}
        lines.append(json.dumps(record) + "\n")
    Path(name).write_text("".join(reversed(lines)))


NUMBERS = [str(n + 9 * (n % 5)) for n in range(60)]


def test_from_requests_to_a_combiner() -> None:
    pytest.importorskip("sklearn")
    content = asked()[2]["body"]["messages"][0]["content"]
    assert (
        "English: s2\nSimplified Chinese: t2\n" in content and "a number from 0 to 100" in content
    )
    answered(NUMBERS)
    done = call("import sample.tsv llm.jsonl -o llm.tsv")
    assert done.exit_code == 0 and "m: 60 labels" in done.stderr and "no label" not in done.stderr
    people = ["pair,label"] + [
        f"{line['custom_id'][:16]},{'AV'[n > 30]}" for n, line in enumerate(asked())
    ]
    Path("people.csv").write_text("\n".join(people))
    done = call("import -q sample.tsv people.csv --scale labels=V,F,A -o people.tsv")
    assert done.exit_code == 0, done.stderr
    done = call("report sample.tsv llm.tsv people.tsv --good V,F --bootstrap 9")
    assert "good is >=50 of 0-100; V,F of labels=V,F,A" in done.stderr
    kinds = [line.split("\t")[:2] for line in done.stdout.splitlines()]
    assert kinds[-1] == ["label-auc", "m, people"] and ["agreement", "m, people"] in kinds
    line = "combiner sample.tsv llm.tsv --people people.tsv -o c.json --bootstrap 9 --good"
    done = call(f"{line} V,F --json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["results"]
    judged = [(record["judge"], record["score"], record["labels"]) for record in found]
    assert judged[:4] == [("labels", "mlp", None), ("labels", "ratio", None),
                          ("labels", "combined", 25), ("labels", "combined", 48)]  # fmt: skip
    assert judged[7] == ("people", "combined", 48) and found[4]["auc"]["value"] == 1.0
    assert (
        "warning: mlp alone is better by the people" not in done.stderr
        or found[4]["less"]["high"] < 0
    )
    done = CliRunner().invoke(
        combine, ["-q", "--header", "c.json"], input=Path("sample.tsv").read_bytes()
    )
    assert done.exit_code == 0 and len(done.stdout.splitlines()) == 61
    assert call(f"{line} fine").exit_code == 2


def test_bad_answers_stop_or_are_left_out() -> None:
    answered(["90", "about 20", *NUMBERS[2:58]])
    done = call("import sample.tsv llm.jsonl -o llm.tsv")
    assert done.exit_code == 65 and not Path("llm.tsv").exists()
    assert "llm.jsonl:57: the answer 'about 20' is no label: a number from 0 to 100" in done.stderr
    line = "import sample.tsv llm.jsonl --on-error reject --rejects bad.tsv -o llm.tsv"
    done = call(line)
    assert done.exit_code == 0 and "58 rows, 1 rejected, 57 labels" in done.stderr
    assert "warning: 3 of 60 rows have no label" in done.stderr
    assert Path("bad.tsv").read_text().startswith("57\tthe answer 'about 20'")
    assert call(f"{line} --max-bad 0").exit_code == 65
    done = call(f"{line} --scale 200-300")
    assert done.exit_code == 65 and "no labels; --on-error stop shows the first" in done.stderr
    done = call("combiner sample.tsv llm.tsv --column ratio -o c.json --good 99")
    assert done.exit_code == 65 and "every label is bad" in done.stderr
    Path("sample.tsv").write_bytes(Path("sample.tsv").read_bytes().replace(b"\t0.0\t", b"\tinf\t"))
    done = call("combiner sample.tsv llm.tsv -o c.json")
    assert done.exit_code == 65 and "sample.tsv: a score is not finite" in done.stderr


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("requests sample.tsv", 2, "--form openai needs --model NAME"),
        ("requests sample.tsv --form gemini --model m", 2, "--form gemini takes no --model"),
        (
            "requests sample.tsv --model m --scale labels=A,B",
            2,
            "--scale labels=A,B needs a --prompt",
        ),
        ("requests sample.tsv --model m --prompt p.txt", 65, "p.txt: no {target} in the prompt"),
        ("requests sample.tsv --model m -o sample.tsv", 2, "--output needs a file of its own"),
        ("import sample.tsv p.txt", 65, "p.txt:1: neither lines of JSON nor a header"),
        ("import sample.tsv p.txt p.txt", 2, "p.txt is named twice"),
        ("combiner sample.tsv p.txt -o sample.tsv", 2, "--output needs a file of its own"),
    ],
)
def test_mistakes(line: str, code: int, message: str) -> None:
    Path("p.txt").write_text("Judge {source}.\n")
    done = call(line)
    assert done.exit_code == code and message in done.stderr and done.stdout == ""
