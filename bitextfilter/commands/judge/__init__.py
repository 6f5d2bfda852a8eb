"""``bitext-judge``: label a few hundred rows of a scored corpus, and learn what a cut yields."""

from __future__ import annotations

from bitextfilter.commands.frame.command import group

main = group(
    "bitext-judge",
    """Label a few hundred rows of a scored corpus, and learn what a cut yields.

    Example:

        bitext-judge sample -i scored.tsv --header --column mlp --cut 0.37 -o sample.tsv
        bitext-judge page sample.tsv -o page.html
        bitext-judge command './ask-a-model' sample.tsv -o labels.tsv
        bitext-judge import sample.tsv batch_output.jsonl -o labels.tsv
        bitext-judge report sample.tsv labels.tsv --cut 0.37
        bitext-judge learn sample.tsv labels.tsv --model en-de -o my-model
    """,
    __name__,
    {
        "sample": "labelling.sample",
        "page": "labelling.page",
        "command": "labelling.label_by_program",
        "requests": "answers.requests",
        "import": "answers.import_labels",
        "report": "results.report",
        "learn": "results.learn",
        "combiner": "results.combiner",
    },
)
