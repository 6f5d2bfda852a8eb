"""The pages of a model that was trained from pairs: its card, and the sources of its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bitextfilter import __version__

_CARD = """\
# {name}

Scores sentence pairs in {source} and {target}. Made by bitext-train {version}.

| | |
|---|---:|
| training pairs | {pairs:,} |
| development pairs | {development:,} |
| recovery error: sentences that do not find their translation among these | {error:.2f} % |
{other}| AUC of the classifier on examples kept from it | {auc:.4f} |

## The model

- **Encoder**: `training.json` has its architecture and settings.
- **Classifier** (`mlp`): reads the words of both sides; learnt from {positives:,} translations,
  {negatives:,} damaged pairs and {contrasts:,} pairs with one mistake.
- **Calibration** (`probability`, the default score): the shipped one, by people's labels of other
  languages. `bitext-models calibrate` fits one to labels of your own.
- **Thresholds** of the other measures: the highest F1 on development pairs, half of them
  damaged, for a corpus with 30 % of noise.

## Weaknesses

- Text of other kinds than the training pairs is scored less well.
- A wrong name or figure is harder to see than a wrong sentence, most of all with few pairs.

`training.json` and `classifier.json` have every setting, `attribution.md` the sources.
"""

_ATTRIBUTION = """\
# Whose data {name} was trained on

| file | pairs | licence | conditions |
|---|---:|---|---|
{rows}
Together they are {pairs:,} pairs. Fill in the licences before you pass the model on.
"""


def card_page(
    name: str, languages: tuple[str, str], records: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the card of a model, in Markdown, by the records of its stages."""
    known = records["pairs"]
    other = ""
    if known.get("shipped"):
        other = (
            f"| the same of the shipped `{known['shipped']}` | {known['shipped_error']:.2f} % |\n"
        )
    return _CARD.format(
        name=name,
        source=languages[0],
        target=languages[1],
        version=__version__,
        pairs=known["pairs"],
        development=known["development"],
        error=records["encoder"]["error"],
        other=other,
        auc=records["classifier"]["auc"],
        **{kind: records["examples"][kind] for kind in ("positives", "negatives", "contrasts")},
    )


def attribution_page(
    name: str, records: Mapping[str, Mapping[str, Any]], taken: Mapping[str, str]
) -> str:
    """Return the sources of a model's data, in Markdown, for people to complete.

    *taken*: the models that it was made of, and their pages.
    """
    known = records["pairs"]
    counts = ((file, "" if count is None else f"{count:,}") for file, count in known["files"])
    rows = "".join(f"| {file} | {count} | | |\n" for file, count in counts)
    page = _ATTRIBUTION.format(name=name, rows=rows, pairs=known["pairs"])
    for model, text in taken.items():
        page += f"\nIt was made of the model `{model}`, too:\n\n{text.replace('# ', '## ', 1)}"
    return page
