"""The grade of each language of a model: its sentence alignment recovery error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.recovery import distinct_pairs, recover
from bitextfilter.languages import find_language
from bitextfilter.scoring.grades import Grade
from bitextfilter.scoring.model import Model
from bitextfilter.similarity.neighbours import csls, margin_matrix
from bitextfilter.training.multilingual import LanguageFile


def grade_languages(
    model: Model, files: Sequence[LanguageFile], weak_above: float
) -> Iterator[Grade]:
    """Yield the grade of the language of each file beside the model's first.

    Args:
        model: opened for any two of its languages.
        files: each names two of its languages, of which one is its first.
        weak_above: a language with a higher error, in percent, is weak.

    Raises:
        SettingsError: a file names other languages.
        InputError, NotFoundError: a file is bad, or has no pairs.
    """
    known = model.processor.known
    for file in files:
        named = [find_language(name, known) or name for name in file.languages if name != "-"]
        if len(named) != 2 or known[0] not in named or not set(named) <= set(known):
            raise SettingsError(
                f"{file.source}: name {known[0]} and one other language of the model, as"
                f" {known[0]},{known[1]}=FILE"
            )
        (language,) = (name for name in named if name != known[0])
        rows = [dict(cells) for cells in file.texts(known) if len(cells) == 2]
        sides = [[row[known.index(name)] for row in rows] for name in (known[0], language)]
        kept = distinct_pairs(*sides)
        own, other = ([side[place] for place in kept] for side in sides)
        if not kept:
            raise InputError("no pairs", file=file.source)
        similarity = margin_matrix(csls, model.encode(own, known[0]), model.encode(other, language))
        found = recover(own, other, similarity)
        error = round(found.mean, 2)
        yield Grade(language, error, error > weak_above, found.pairs, Path(file.source).name)
