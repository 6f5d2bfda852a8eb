"""Requests for labels by the batch APIs of language models, and the labels in their answers.

A request is a line of JSON for a row. Answers are results of batches, lines of JSON, or tables. A
result of a batch has the text of one answer or more, in the form of OpenAI (chat completions;
also vLLM, LiteLLM and others), Anthropic or Gemini. Its id names a row of the sample: the pair's
digest and the row's number, as :func:`request_id` writes it, or one of them.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import PurePath
from typing import Any

from bitextfilter.errors import InputError, printable
from bitextfilter.io.files import in_utf_8
from bitextfilter.io.records import parse_json
from bitextfilter.io.rows import BadRow
from bitextfilter.judge.judgements import (
    Label,
    LabelFaultError,
    RowSample,
    SampledRow,
    Scale,
    text_lines,
)

_IDS = {"custom_id", "key", "pair", "row"}
_CUT_OFF = {"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"}
"""Ends of answers that are not whole."""
_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_LINE = r"^[^\w\n]*(?:{})[*_ ]*[:=](.*)$"
_NAMES = "label|score|rating"
_UNASKED = "--field NAME is that of the label in JSON; --on-error reject leaves such answers out"
_FAILED = "ask again for these rows; --on-error reject leaves them out"


def request_id(row: SampledRow) -> str:
    """Return the id of the request for a row: ``3c59dc048e885024-17``."""
    return f"{row.pair}-{row.row}"


def label_in(answer: str, scale: Scale, field: str | None = None) -> str:
    """Return the label in the text of an answer, as the *scale* writes it.

    It is the whole text, perhaps in a code fence; or the *field*, or else the only one, of the only
    JSON object in it; or in a line ``label: X`` (or score, rating or *field*). Raises
    LabelFaultError for any other text.
    """
    text = answer[found.end() :] if (found := _THOUGHT.match(answer)) else answer
    text = text.strip()
    if text[:3] == text[3:][-3:] == "```":
        first, _, rest = text[3:-3].partition("\n")
        text = (rest if rest and (first.isalnum() or not first) else text[3:-3]).strip()
    labels = {_on_scale(text, scale)}
    if labels == {None}:
        objects = list(_objects(text))
        names = _NAMES if field is None else re.escape(field)
        lines = re.findall(_LINE.format(names), text, re.IGNORECASE | re.MULTILINE)
        values = [one.get(field) if field else _only(one) for one in objects] or lines
        labels = {_on_scale(value, scale) for value in values if len(objects) < 2}
    label = labels.pop() if len(labels) == 1 else None
    if label is None:
        message = f"the answer {' '.join(answer.split())[:80]!r} is no label: {scale.labels}"
        raise LabelFaultError(message, _UNASKED)
    return label


def _only(record: Mapping[str, Any]) -> Any:
    """Return the only value of an object; None if it has several."""
    return next(iter(record.values())) if len(record) == 1 else None


def _on_scale(value: Any, scale: Scale) -> str | None:
    """Return a value as a label of the scale, but for case and marks around it; or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    if text in scale.words:
        return text
    text = text.strip("*\"'`“” \t\r\n").removesuffix(".")
    if not scale.words:
        return text if text.isascii() and scale.holds(text) else None
    alike = [word for word in scale.words if word.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            found, place = decoder.raw_decode(text, place)
            yield found
        except RecursionError:
            return
        except ValueError:
            place += 1
        place = text.find("{", place)


def _at(value: Any, *path: str | int) -> Any:
    """Return the value at a path of names and places in JSON; None if there is none."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(parts: Any) -> str:
    """Return the text of an answer's parts, without thoughts."""
    if isinstance(parts, str):
        return parts
    texts = [_at(part, "text") for part in _listed(parts) if not _at(part, "thought")]
    return "".join(text for text in texts if isinstance(text, str))


def answers_in(result: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the name of the model, empty if unknown, and its answers in the result of a request.

    Raises LabelFaultError for a request that failed, and an answer that is empty or cut off.
    """
    paths = [("error",), ("response", "body", "error"), ("result", "error", "error")]
    if error := next(filter(None, (_at(result, *path) for path in paths)), None):
        reason = printable(str(_at(error, "message") or error))[:200]
        raise LabelFaultError(f"the request failed: {reason}", _FAILED)
    body = _at(result, "response", "body") or result.get("response")
    message = _at(result, "result", "message")
    found = [(_at(message, "content"), _at(message, "stop_reason"))] if message else []
    for one in _listed(_at(body, "choices")):
        found.append((_at(one, "message", "content"), _at(one, "finish_reason")))
    for one in _listed(_at(body, "candidates")):
        found.append((_at(one, "content", "parts"), _at(one, "finishReason")))
    if not found:
        kind = _at(result, "result", "type") or _at(body, "promptFeedback", "blockReason")
        found = [(None, kind)]
    for parts, end in found:
        if str(end) in _CUT_OFF or not _text(parts).strip():
            fault = "is cut off" if str(end) in _CUT_OFF else "has no text"
            raise LabelFaultError(f"the answer {fault} ({printable(str(end))[:80]})", _FAILED)
    model = _at(body, "model") or _at(body, "modelVersion") or _at(message, "model") or ""
    return str(model), [_text(parts) for parts, _ in found]


class AnswerReader:
    """Reads files of answers about one sample; ``labels`` has the label of each."""

    def __init__(self, sample: RowSample, scale: Scale, field: str | None, annotator: str) -> None:
        """Start without labels; an empty *annotator* is the model, or else the file's name."""
        self._sample, self._scale, self._field = sample, scale, field
        self._annotator = annotator
        self._rows: dict[str, list[SampledRow]] = {}
        """Rows by each of their ids."""
        for row in sample.rows:
            for own in (request_id(row), row.pair, str(row.row)):
                self._rows.setdefault(own, []).append(row)
        self._met: dict[tuple[str, str], int] = {}
        self.labels: list[Label] = []

    def read(self, stream: Iterable[bytes], name: str) -> Iterator[BadRow | None]:
        """Add the labels of a file; yield each answer that is bad, and None for others.

        Raises InputError for a table whose header names no row.
        """
        for line, text, record in _records(stream, name):
            try:
                self.labels += self._labels(record, name)
                yield None
            except LabelFaultError as fault:
                raw = in_utf_8(" ".join(text.splitlines()))
                yield BadRow(line, raw, b"\n", fault.message, fault.remedy, name)

    def _labels(self, record: Any, name: str) -> list[Label]:
        """Return the labels of a record."""
        if not isinstance(record, dict):
            raise LabelFaultError("neither an object of JSON nor a row as the header", "mend it")
        row, own = self._row(record), self._field or "label"
        if own in record:
            model, texts = str(record.get("annotator") or record.get("model") or ""), [record[own]]
        elif record.keys() & {"response", "result", "error"}:
            model, texts = answers_in(record)
        else:
            raise LabelFaultError(f"no {own!r}", "--field NAME says which field is the label")
        stem = PurePath(name).name.partition(".")[0]
        who = self._annotator or " ".join(printable(model).split()) or stem or "model"
        texts = [each if isinstance(each, str) else json.dumps(each) for each in texts]
        labels = [label_in(text, self._scale, self._field) for text in texts]
        return [
            Label(row.row, row.pair, label, self._scale.name, self._free(row, who))
            for label in labels
        ]

    def _free(self, row: SampledRow, who: str) -> str:
        """Return the name of an annotator who has not labelled the row yet: *who*, or *who*-2."""
        own, met = who, self._met
        while (row.pair, own) in met:
            met[row.pair, who] += 1
            own = f"{who}-{met[row.pair, who]}"
        met[row.pair, own] = 1
        return own

    def _row(self, record: Mapping[str, Any]) -> SampledRow:
        """Return the row that the id of a record names."""
        parts = [record.get("pair"), record.get("row")]
        known = record.get("custom_id") or record.get("key")
        own = str(known or "-".join(str(part) for part in parts if part not in (None, "")))
        rows = self._rows.get(own, [])
        if len(rows) == 1:
            return rows[0]
        fault = "is of several rows" if rows else f"is of no row of {self._sample.name}"
        remedy = "give the sample that was labelled; bitext-judge requests writes the ids"
        raise LabelFaultError(f"the id {printable(own)[:80]!r} {fault}", remedy)


def _records(stream: Iterable[bytes], name: str) -> Iterator[tuple[int, str, Any]]:
    """Yield the number, the text and the value of each record; None for what is none."""
    known = ((number, text) for number, text in text_lines(stream, name) if text.strip())
    first = next(known, (1, ""))
    lines = chain([first], known)
    if not first[1].lstrip().startswith(("{", "[")):
        yield from _table(lines, "\t" in first[1], name)
    for number, text in lines:
        try:
            yield number, text, parse_json(text)
        except ValueError:
            yield number, text, None


def _table(
    lines: Iterator[tuple[int, str]], tabs: bool, name: str
) -> Iterator[tuple[int, str, Any]]:
    """Yield the records of a table; a record of several lines has the number of the last."""
    number = 1

    def texts() -> Iterator[str]:
        nonlocal number
        for number, text in lines:  # noqa: B007
            yield f"{text}\n"

    split = (text[:-1].split("\t") for text in texts())
    rows = split if tabs else csv.reader(texts(), strict=True)
    try:
        header = next(rows, [])
        if not _IDS.intersection(header) or len(set(header)) < len(header):
            message = "neither lines of JSON nor a header: row, pair or custom_id, and label, once"
            raise InputError(message, file=name, line=number)
        for fields in rows:
            whole = len(fields) == len(header)
            record = dict(zip(header, fields, strict=True)) if whole else None
            yield number, "\t".join(fields), record
    except csv.Error as error:
        raise InputError(str(error), file=name, line=number, remedy="mend the quotes") from None


_MOST_TOKENS = 1024
"""Of an answer, for the API that wants a bound; models that think aloud need some hundred."""

_ASK = """Is the second text a right translation of the first? Judge by meaning, not by style:

{criteria}

Text in another language than named below, or that is left untranslated, is wrong; names, numbers
and codes may stay as they are. The texts may be headings, lists or parts of sentences.

{source_language}: {source}
{target_language}: {target}

Answer with the label alone: {labels}."""

_WORDS = """good: the same meaning, nothing of weight missing or added, other than small slips.
bad: another meaning, parts missing or added, or so broken that the meaning is lost."""

_NUMBERS = """{high}: complete, exact and fluent.
{upper}: the same meaning, with small slips.
{middle}: a part is missing, added or wrong, or the language is broken.
{lower}: only the topic or some words are the same.
{low}: not a translation of it."""


def default_prompt(scale: Scale) -> str:
    """Return a prompt that asks for a label: a number, or good or bad."""
    names = ("low", "lower", "middle", "upper", "high")
    steps = (f"{scale.low + part * (scale.high - scale.low) / 4:g}" for part in range(5))
    criteria = _WORDS if scale.words else _NUMBERS.format(**dict(zip(names, steps, strict=True)))
    return _ASK.replace("{criteria}", criteria).replace("{labels}", scale.labels)


FORMS = ("openai", "anthropic", "gemini")


def request_for(
    row: SampledRow, form: str, model: str, prompt: str, languages: tuple[str, str]
) -> dict[str, Any]:
    """Return the request for the label of a row, in one of ``FORMS``.

    *languages* are names of both languages. Braces stay but around the four names of a *prompt*.
    """
    own, (source, target) = request_id(row), languages
    values = {"source": row.source, "target": row.target}
    values |= {"source_language": source, "target_language": target}
    names = "|".join(values)
    text = re.sub(f"{{({names})}}", lambda found: values[found[1]], prompt)
    if form == "gemini":
        return {"key": own, "request": {"contents": [{"role": "user", "parts": [{"text": text}]}]}}
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}]}
    if form == "anthropic":
        return {"custom_id": own, "params": {**body, "max_tokens": _MOST_TOKENS}}
    return {"custom_id": own, "method": "POST", "url": "/v1/chat/completions", "body": body}
