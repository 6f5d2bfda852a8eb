"""Labels on several scales: as verdicts, good or bad, and numbers against verdicts."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.result import Bootstrap, Estimate, estimates
from bitextfilter.judge.evaluation import AgreementFigure, Standard, standard_of, weighted_auc
from bitextfilter.judge.judgements import Judgements, Label, parse_scale

_VERDICTS = parse_scale("good-bad")
GOOD = Standard(_VERDICTS.words[:1])


def scales_with(judgements: Judgements, good: str | None) -> dict[str, str | None]:
    """Return the names of the scales of labels, each with *good* if all of it is on the scale."""
    names = (label.scale for own in judgements.labels.values() for label in own.values())
    return {
        name: good if good and all(map(parse_scale(name).holds, good.split(","))) else None
        for name in dict.fromkeys(names)
    }


def on_one_scale(judgements: Judgements, good: str | None) -> tuple[Judgements, Standard, str]:
    """Return judgements on one scale, the labels that count as good, and those of each scale.

    Labels on several scales become ``good`` or ``bad``: *good* is of the scales that hold it,
    others have their default. Raises SettingsError where no scale holds it.
    """
    scales = scales_with(judgements, good)
    if len(scales) == 1:
        return judgements, standard_of(judgements.scale, good), ""
    if good and not any(scales.values()):
        raise SettingsError(f"{good!r} is on none of the scales {', '.join(scales)}")
    standards = {name: standard_of(parse_scale(name), own) for name, own in scales.items()}

    def verdict(label: Label) -> Label:
        right = standards[label.scale].is_good(label.label)
        return label._replace(label=_VERDICTS.words[not right], scale=_VERDICTS.name)

    labels = {
        name: {place: verdict(label) for place, label in own.items()}
        for name, own in judgements.labels.items()
    }
    told = "; ".join(f"{standard} of {name}" for name, standard in standards.items())
    return Judgements(judgements.sample, _VERDICTS, labels), GOOD, told


def label_aucs(
    judgements: Judgements, verdicts: Judgements, bootstrap: Bootstrap
) -> list[AgreementFigure]:
    """Measure numbers of each annotator against the verdicts of each other on another scale.

    The AUC is how often a row that the other calls good has a higher number than one that the other
    calls bad, ties as half; each row counts once.
    """
    figures = []
    for names in permutations(judgements.annotators, 2):
        own, others = (judgements.labels[name] for name in names)
        places = [
            place
            for place in own.keys() & others.keys()
            if own[place].scale != others[place].scale and not parse_scale(own[place].scale).words
        ]
        places.sort()
        numbers = np.array([float(own[place].label) for place in places])
        said = verdicts.labels[names[1]]
        good = np.array([float(GOOD.is_good(said[place].label)) for place in places])
        if 0 < good.sum() < len(good):
            found = estimates([np.ones(len(good))], weighted_auc(numbers, good), bootstrap)
            figures.append(
                AgreementFigure("label-auc", names, len(places), Estimate(*found.tolist()))
            )
    return figures
