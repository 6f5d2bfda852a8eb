"""Requests for labels by the batch APIs of language models: a line of JSON for each row."""

from __future__ import annotations

import re
from typing import Any

from bitextfilter.judge.answers import request_id
from bitextfilter.judge.judgements import SampledRow, Scale

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
