"""``bitext-judge requests`` and ``import``: labels by the batch API of a language model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    argument,
    languages_option,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.judge.labelling import check_once, read_sample, scale_option
from bitextfilter.errors import InputError
from bitextfilter.io.files import read_lines, stream_name
from bitextfilter.io.records import json_bytes
from bitextfilter.judge.answers import FORMS, AnswerReader, default_prompt, request_for
from bitextfilter.judge.judgements import Scale, labels_text
from bitextfilter.languages import english_name


@dataclass(frozen=True)
class _Requests:
    """The sample, and what is asked."""

    sample: str = argument("SAMPLE", default="-")
    form: str = option("--form", "The API, or one of the same form.", FORMS, "openai")
    model: str = option("--model NAME", "The model to ask; of gemini, the batch names it.", str, "")
    scale: Scale = scale_option("0-100")
    prompt: str | None = option(
        "--prompt FILE",
        "The prompt, with {source}, {target}, {source_language} and {target_language}.",
    )
    languages: tuple[str, str] | None = languages_option(tags=True)

    def __post_init__(self) -> None:
        """Refuse a request without a model."""
        if bool(self.model) is (self.form == "gemini"):
            wanted = "takes no --model: its batch names it" if self.model else "needs --model NAME"
            raise click.UsageError(f"--form {self.form} {wanted}")


@command("requests", _Requests, row_options("output"), uses="")
def requests(run: Run, settings: _Requests) -> None:
    """Write the requests for labels of a sample, for the batch API of a language model.

    Writes JSON lines, one a row, and calls nothing. OpenAI's form is also that of vLLM, LiteLLM,
    Mistral and others. Anthropic takes a list of these lines: jq -s '{requests: .}'. Without
    --prompt the prompt asks for a label of --scale: numbers or good-bad, by criteria it states.

    Example:

        bitext-judge requests sample.tsv --model gpt-4o-mini --languages en,de -o requests.jsonl
        bitext-judge requests sample.tsv --form gemini --prompt ask.txt -o requests.jsonl
    """
    if (own := run.row_settings.output) != "-":
        needs_own_file("--output", own, [settings.sample, settings.prompt])
    output, sample = run.output(), read_sample(run, settings.sample)
    prompt = _prompt(settings)
    run.facts.update(form=settings.form, scale=settings.scale.name)
    named = [english_name(tag) for tag in settings.languages or ()]
    source, target = named or ("Source language", "Target language")
    for row in sample.rows:
        request = request_for(row, settings.form, settings.model, prompt, (source, target))
        output.write(json_bytes(request))


def _prompt(settings: _Requests) -> str:
    """Return the prompt of --prompt, which has both texts, or the default one."""
    if settings.prompt is None:
        if settings.scale.words and settings.scale.name != "good-bad":
            raise click.UsageError(f"--scale {settings.scale.name} needs a --prompt")
        return default_prompt(settings.scale)
    prompt = "\n".join(read_lines(settings.prompt)).strip()
    for name in ("{source}", "{target}"):
        if name not in prompt:
            remedy = "write it where the text goes"
            raise InputError(f"no {name} in the prompt", file=settings.prompt, remedy=remedy)
    return prompt


@dataclass(frozen=True)
class _Import:
    """The sample, and the answers."""

    sample: str = argument("SAMPLE")
    answers: tuple[str, ...] = argument("ANSWERS...", nargs=-1, required=True)
    scale: Scale = scale_option("0-100")
    field: str | None = option(
        "--field NAME", "Field of the label, in answers of JSON or in rows of a table."
    )
    annotator: str = option(
        "--annotator NAME", "Name in the labels  [default: the model's, or the file's]", default=""
    )

    def __post_init__(self) -> None:
        """Refuse a file that is named twice."""
        check_once(self.sample, *self.answers)


@command("import", _Import, row_options("output errors"), uses="")
def import_labels(run: Run, settings: _Import) -> None:
    """Make a labels file of a language model's answers.

    Reads results of batch APIs as they come (JSON lines of OpenAI, Anthropic, Gemini, and what has
    their form), lines such as {"row": 17, "label": 85}, and tables (tab- or comma-separated) with a
    header that has row, pair or custom_id, and label. Calls nothing.

    A label is the whole answer, also in a code fence; the only field, or --field, of the only JSON
    object in it; or a line "label: 85" (or score, or rating). Anything else is a bad answer: no
    label, several, one off the scale, a request that failed or was refused, an answer cut off, an
    id of no row. It stops the run with its file and line, or is left out and counted (--on-error
    reject). A second answer for a row is by another annotator, NAME-2. Memory holds the sample.

    Example:

        bitext-judge import sample.tsv batch_output.jsonl -o llm.tsv
        bitext-judge import sample.tsv a.jsonl b.csv --scale good-bad --on-error reject -o llm.tsv
        bitext-judge report sample.tsv llm.tsv people.tsv
    """
    rows = run.row_settings
    if rows.output != "-":
        needs_own_file("--output", rows.output, [settings.sample, *settings.answers])
    needs_own_file("--rejects", rows.rejects, [settings.sample, *settings.answers, rows.output])
    output, sample = run.output(), read_sample(run, settings.sample)
    run.counts.clear()
    run.begin_rows()
    name = " ".join(settings.annotator.split())
    reader = AnswerReader(sample, settings.scale, settings.field, name)
    for path in settings.answers:
        for bad in reader.read(run.input(path), stream_name(path)):
            run.counts["rows"] += 1
            if bad is not None:
                run.reject(bad)
            run.check_bad()
    if not reader.labels:
        names = ", ".join(map(stream_name, settings.answers))
        raise InputError("no labels", file=names, remedy="--on-error stop shows the first fault")
    output.write(labels_text(reader.labels))
    counts = Counter(label.annotator for label in reader.labels)
    run.counts["labels"] = counts.total()
    run.note(", ".join(f"{who}: {count} labels" for who, count in counts.items()))
    if missing := len(sample.rows) - len({label.pair for label in reader.labels}):
        run.warn(f"{missing} of {len(sample.rows)} rows have no label")
