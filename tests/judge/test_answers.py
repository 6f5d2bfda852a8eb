"""Answers of language models: the forms of batch results, and the label in an answer's text."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from bitextfilter.judge.answers import (
    AnswerReader,
    default_prompt,
    label_in,
    request_for,
    request_id,
)
from bitextfilter.judge.judgements import LabelFaultError, parse_scale, read_sample, sample_header

SAMPLE = read_sample(
    [sample_header([]), b"one\teins\t7\tx\t1\n", b"two\tzwei\t9\tx\t1\n", b"a\tb\t9\tx\t1\n"],
    "s.tsv",
)
IDS = [request_id(row) for row in SAMPLE.rows]


def openai(text: str | None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop", **more}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o", "choices": [choice]}
    response = {"status_code": 200, "request_id": "r", "body": {**body, "usage": {}}}
    return {"id": "batch_req_1", "custom_id": IDS[0], "response": response, "error": None}


def anthropic(text: str, end: str = "end_turn") -> dict[str, Any]:
    content = [
        {"type": "thinking", "thinking": "0", "signature": "x"},
        {"type": "text", "text": text},
    ]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude"}
    message |= {"content": content, "stop_reason": end, "stop_sequence": None}  # type: ignore[dict-item]
    return {"custom_id": IDS[0], "result": {"type": "succeeded", "message": message}}


def gemini(**candidate: Any) -> dict[str, Any]:
    parts = [{"text": "Zero?", "thought": True}, {"text": "85\n"}]
    one = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", **candidate}
    return {"key": IDS[0], "response": {"candidates": [one], "modelVersion": "gemini-2.5"}}


def read(data: bytes, scale: str = "0-100", **more: Any) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return row, label and annotator of each label, and line and reason of each bad answer."""
    settings = {"field": None, "annotator": "", **more}
    reader = AnswerReader(SAMPLE, parse_scale(scale), **settings)
    bad = [f"{row.number}: {row.reason}" for row in reader.read(io.BytesIO(data), "x/a.b") if row]
    return [(str(each.row), each.label, each.annotator) for each in reader.labels], bad


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in records).encode()


@pytest.mark.parametrize(
    ("record", "who"),
    [
        (openai("85"), "gpt-4o"),
        (openai("<think>100?\nlabel: 3</think>\n\n85"), "gpt-4o"),
        (anthropic("85"), "claude"),
        (gemini(), "gemini-2.5"),
        ({"row": 7, "label": 85}, "a"),
        ({"pair": IDS[0][:16], "label": "Label: 85", "model": "m"}, "m"),
        ({"custom_id": "7", "label": {"score": 85}}, "a"),
    ],
)
def test_forms(record: dict[str, Any], who: str) -> None:
    assert read(lines(record)) == ([("7", "85", who)], [])


FAILED = {
    "the request failed: This request could not": {"custom_id": IDS[0], "response": None, "error": {
        "code": "batch_expired", "message": "This request could not be executed before"}},
    "the request failed: Invalid": {"custom_id": IDS[0], "error": None, "response": {
        "status_code": 400, "body": {"error": {"message": "Invalid", "type": "x"}}}},
    "the request failed: too long": {"custom_id": IDS[0], "result": {"type": "errored", "error": {
        "type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}}},
    "has no text (expired)": {"custom_id": IDS[0], "result": {"type": "expired"}},
    "has no text (canceled)": {"custom_id": IDS[0], "result": {"type": "canceled"}},
    "has no text (SAFETY)": {"key": IDS[0], "response": {
        "promptFeedback": {"blockReason": "SAFETY"}}},
    "failed: quota": {"key": IDS[0], "error": {"code": 8, "message": "quota"}},
    "is cut off (MAX_TOKENS)": gemini(finishReason="MAX_TOKENS"),
    "is cut off (length)": openai("8", finish_reason="length"),
    "is cut off (max_tokens)": anthropic("8", "max_tokens"),
    "has no text (content_filter)": openai(None, finish_reason="content_filter"),
    "'I cannot judge this.' is no label": anthropic("I cannot judge this.", "refusal"),
    "the id 'request-1' is of no row": {"custom_id": "request-1", "label": 85},
    "is of no row of s.tsv": {"custom_id": IDS[0][:16] + "-9", "label": 85},
    "the id '9' is of several rows": {"row": 9, "label": 85},
    "no 'label'": {"row": 7, "score": 85},
    "neither an object of JSON": [7, 85],
}  # fmt: skip


@pytest.mark.parametrize(("reason", "record"), FAILED.items())
def test_bad_answers_have_their_line(reason: str, record: Any) -> None:
    labels, bad = read(lines(openai("1"), record, openai("2")))
    assert len(bad) == 1 and bad[0].startswith("2: ")
    assert reason in bad[0]
    assert labels == [("7", "1", "gpt-4o"), ("7", "2", "gpt-4o-2")]


@pytest.mark.parametrize(
    ("answer", "scale", "label"),
    [
        (" 85 \n", "0-100", "85"), ("**85**", "0-100", "85"), ("4.", "1-5", "4"),
        ("Good.", "good-bad", "good"), ("f", "labels=V,F", "F"), ("```\n85\n```", "0-100", "85"),
        ("```85```", "0-100", "85"),
        ('```json\n{"score": 85}\n```', "0-100", "85"), ("Grade: 85", "0-100 grade", "85"),
        ('Sure! {"score": "85"} Bye.', "0-100", "85"), ("score = .5\nScore: .5", "0-1", ".5"),
        ("Numbers: 3, 4.\n**Label:** 4", "1-5", "4"),
        ('{"why": "3 {slips}", "label": 85}', "0-100 label", "85"),
    ],
)  # fmt: skip
def test_labels_in_answers(answer: str, scale: str, label: str) -> None:
    name, _, field = scale.partition(" ")
    assert label_in(answer, parse_scale(name), field or None) == label


@pytest.mark.parametrize(
    "answer",
    ["", "101", "-1", "nan", "8 5", "85/100", "85%", "about 85", "The label is 85", "true", "{}",
     '{"score": true}', '{"a": {"b": 85}}', '{"score": 85, "why": 3}', '{"a": 85} {"a": 85}',
     "[85]", "label: 85\nlabel: 20", "Label: 85 or 90", "８５", "{" * 9000, '{"a":' * 9000,
     "\n" * 99_999 + "x", "```" + " " * 99_999 + "x```"],
)  # fmt: skip
def test_no_label_is_guessed(answer: str) -> None:
    with pytest.raises(LabelFaultError, match="is no label: a number from 0 to 100"):
        label_in(answer, parse_scale("0-100"))


def test_tables_and_several_answers() -> None:
    table = b'\xef\xbb\xbfrow\tlabel\twhy\n7\t85\ta "b\n\n7\t20\t\n8\t1\t\n7\n'
    labels, bad = read(table, annotator="x")
    assert labels == [("7", "85", "x"), ("7", "20", "x-2")]
    assert [each[:2] for each in bad] == ["5:", "6:"]
    quoted = b'custom_id,"why\nso",response\n%s,"a, ""b""\nc",good\n' % IDS[1].encode()
    assert read(quoted, "good-bad", field="response") == ([("9", "good", "a")], [])
    for header in (b"text\tlabel\n", b"row,label,label\n", b"", b"\n"):
        with pytest.raises(Exception, match=r"a.b:1: neither lines of JSON nor a header:"):
            read(header)
    assert read(b'[{"row": 7, "label": 1}]')[1][0].startswith("1: neither an object of JSON")
    odd = "row\twhy\tlabel\n7\ta\rb\u2028c\x85\t85\n".encode()
    assert read(odd) == ([("7", "85", "a")], [])
    assert read(b"\n" + lines({"row": 7, "label": 85})) == ([("7", "85", "a")], [])
    named = [{"row": 7, "label": 1, "model": model} for model in ("m", "m-2", "m", "m")]
    assert [who for *_, who in read(lines(*named))[0]] == ["m", "m-2", "m-3", "m-4"]
    with pytest.raises(Exception, match=r"a.b:2: .*mend the quotes"):
        read(b'row,label\n7,"a\n')
    several = openai("85")
    choices = several["response"]["body"]["choices"]
    choices.append({"message": {"content": "20"}, "finish_reason": "stop"})
    assert read(lines(several))[0] == [("7", "85", "gpt-4o"), ("7", "20", "gpt-4o-2")]


def test_requests() -> None:
    row = SAMPLE.rows[1]._replace(source="{target} {x}")
    prompt = '{source}|{target}|{target_language}|{"score": 1}'
    made = request_for(row, "openai", "m", prompt, ("English", "German"))
    text = made["body"]["messages"][0]["content"]
    assert text == '{target} {x}|zwei|German|{"score": 1}' and made["url"] == "/v1/chat/completions"
    assert made["custom_id"] == request_id(row) and made["body"]["model"] == "m"
    made = request_for(row, "anthropic", "m", prompt, ("", ""))
    assert made["params"]["messages"][0]["content"].startswith("{target}")
    assert request_for(row, "gemini", "", prompt, ("", ""))["key"] == request_id(row)
    for scale in ("0-100", "1-5", "good-bad"):
        prompt = default_prompt(parse_scale(scale))
        assert parse_scale(scale).labels in prompt and "{source_language}: {source}" in prompt
