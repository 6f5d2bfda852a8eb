"""Requests for labels by the batch APIs of language models: a line of JSON for each row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bitextfilter.errors import SettingsError
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
    """Return a prompt that asks for a label; SettingsError for words other than good and bad."""
    if scale.words and scale.name != "good-bad":
        raise SettingsError(f"--scale {scale.name} needs a --prompt that says what the labels mean")
    names = ("low", "lower", "middle", "upper", "high")
    steps = (f"{scale.low + part * (scale.high - scale.low) / 4:g}" for part in range(5))
    criteria = _WORDS if scale.words else _NUMBERS.format(**dict(zip(names, steps, strict=True)))
    return _ASK.replace("{criteria}", criteria).replace("{labels}", scale.labels)


def filled(prompt: str, values: Mapping[str, str]) -> str:
    """Return a prompt with the *values* of names in braces; other braces stay."""
    return re.sub("|".join(f"{{{name}}}" for name in values), lambda m: values[m[0][1:-1]], prompt)


def _openai(row_id: str, model: str, prompt: str) -> dict[str, Any]:
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    return {"custom_id": row_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def _anthropic(row_id: str, model: str, prompt: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    params = {"model": model, "max_tokens": _MOST_TOKENS, "messages": messages}
    return {"custom_id": row_id, "params": params}


def _gemini(row_id: str, _model: str, prompt: str) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    return {"key": row_id, "request": {"contents": contents}}


FORMS: dict[str, Callable[[str, str, str], dict[str, Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
"""Makers of a request of an id, a model and a prompt; Gemini's model is that of the batch."""


def request_for(
    row: SampledRow, form: str, model: str, prompt: str, languages: tuple[str, str]
) -> dict[str, Any]:
    """Return the request for the label of a row; *languages* are names of both languages."""
    names = dict(zip(("source_language", "target_language"), languages, strict=True))
    text = filled(prompt, {"source": row.source, "target": row.target, **names})
    return FORMS[form](request_id(row), model, text)
