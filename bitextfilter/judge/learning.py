"""A model that learns from judgements: its classifier's output, and where to cut its score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter import __version__
from bitextfilter.arrays import Floats
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.result import Bootstrap, Result, interval
from bitextfilter.io.records import json_bytes
from bitextfilter.judge.evaluation import (
    JudgedCut,
    JudgedRows,
    Standard,
    YieldSettings,
    column_auc,
    grades_of,
    judged_rows,
    yields,
)
from bitextfilter.judge.judgements import Judgements
from bitextfilter.models.checkpoint import bits_in
from bitextfilter.models.folders import copy_model, model_digest, pair_of_more, writing_folder
from bitextfilter.pairs.classifier import load_classifier, save_classifier
from bitextfilter.scoring.calibration import (
    Calibration,
    calibration_inputs,
    general_calibration,
)
from bitextfilter.scoring.model import Model
from bitextfilter.scoring.thresholds import (
    Threshold,
    merge_thresholds,
    own_thresholds,
    printable_line,
    write_thresholds,
)
from bitextfilter.training.adaptation import AdaptationReport, GradedPairs, adapt_output
from bitextfilter.training.calibration import LabelledInputs, fit_calibration
from bitextfilter.training.classifier_training import ClassifierConfig, labelled_pairs

_MEASURE = "mlp"
_RECORD = "classifier.json"
_GOOD = 0.5
"""The least grade of a right row."""
_JOINT = ("mlp", "joint")
"""Measures whose thresholds do not hold any more."""


class Learnt:
    """A model's classifier, adapted to the labelled rows of a sample."""

    def __init__(
        self, model: Model, judgements: Judgements, standard: Standard, seed: int, file: str
    ) -> None:
        """Adapt a copy of the classifier of *model*.

        Raises SettingsError for a model without one, and InputError, naming the labels' *file*,
        for labels of one kind.
        """
        classifier = load_classifier(model.folder)
        if classifier is None:
            raise SettingsError(
                f"{model.name} has no classifier to adapt; bitext-train-classifier makes one"
            )
        self.model, self.file = model, file
        self.classifier = classifier
        rows = judged_rows(judgements, standard, file)
        if rows.ruled.all():
            remedy = "label rows that no rule drops, too"
            raise InputError(
                "every labelled row is one that a rule drops", file=file, remedy=remedy
            )
        places, grades = grades_of(judgements, standard)
        pairs = [judgements.sample.rows[place][:2] for place in places]
        config = ClassifierConfig.from_dict({}, kind=classifier.settings.kind)
        labelled = labelled_pairs(model, pairs, grades.astype(np.float32), config)
        sources, targets = map(list, zip(*pairs, strict=True))
        sides = sources, targets
        offsets = classifier.offsets(sides, model.languages, model.processor.cut)
        graded = GradedPairs(labelled, sources, offsets)
        self.report: AdaptationReport = adapt_output(classifier, graded, seed)
        self._calibration = self._calibrated(pairs, grades)
        order = sorted(range(len(places)), key=lambda n: judgements.sample.rows[places[n]].reason)
        both = np.column_stack([self.report.before, self.report.after])[order].astype(np.float64)
        self.rows: JudgedRows = replace(rows, names=("before", "after"), scores=both)

    def _calibrated(self, pairs: Sequence[tuple[str, str]], grades: Floats) -> Calibration:
        """Return the model's calibration with an offset by the labels, if they are enough.

        The score of each row is by a classifier that was fitted without its label.
        """
        known = len(self.model.processor.known)
        start = self.model.calibration or general_calibration(known)
        right = grades >= _GOOD
        inputs = self.model.calibration_inputs(*map(list, zip(*pairs, strict=True)))
        held_out = calibration_inputs(self.report.after, inputs[:, 1], inputs[:, 2:])
        group = LabelledInputs(self.model.languages, held_out, right, held_out[:0])
        try:
            return fit_calibration([group], start, facts=start.facts).calibration
        except SettingsError:
            return start

    def cuts(self, bootstrap: Bootstrap) -> dict[str, JudgedCut]:
        """Return the cut of the highest F1 before and after."""
        settings = YieldSettings(("before", "after"), bootstrap=bootstrap)
        every = {name: yields(self.rows, name, settings) for name in settings.columns}
        return {n: next(cut for cut in cuts if "best f1" in cut.mark) for n, cuts in every.items()}

    def result(self, cuts: Mapping[str, JudgedCut], bootstrap: Bootstrap) -> Result:
        """Return a record of the scores before and after, with their best *cuts*."""
        records: list[dict[str, Any]] = []
        for name, cut in cuts.items():
            auc = column_auc(self.rows, name, bootstrap)
            records.append({"score": name, "auc": auc, "cut": cut.cut, **cut.figures})
        columns = {"score": "", **interval("auc", form=".4f"), "cut": ".4f"}
        columns |= interval("precision", "recall", "f1", form=".4f")
        facts = {"labels": len(self.rows.good), "ridge": f"{self.report.strength:g}"}
        return Result("learn", {**columns, "labels": "", "ridge": ""}, {"results": records}, facts)

    def write(self, folder: Path, cut: JudgedCut, command: str, facts: dict[str, Any]) -> None:
        """Write the model to *folder*, whole or not, with the *cut* as its threshold.

        *facts* say how it was made.
        """
        model, classifier = self.model, self.classifier
        bits = bits_in(model.folder / "classifier.safetensors")
        old, _ = own_thresholds(model.folder, model_digest(model.folder))
        with writing_folder(folder) as draft:
            copy_model(model.folder, draft)
            save_classifier(classifier, draft, bits)
            self._calibration.write(draft)
            record = _record(model.folder)
            record["judgements"] = [*record.get("judgements", []), facts]
            (draft / _RECORD).write_bytes(json_bytes(record, indent=2))
            digest = model_digest(draft)
            kept = [replace(each, model=digest) for each in old if each.measure not in _JOINT]
            new = self._threshold(cut, command, digest)
            write_thresholds(draft, merge_thresholds(kept, [new]))

    def _threshold(self, cut: JudgedCut, command: str, digest: str) -> Threshold:
        good = float(self.rows.weights @ self.rows.good / self.rows.weights.sum())
        figures = {name: cut.figures[name].value for name in ("precision", "recall", "f1")}
        return Threshold(
            use="filtering",
            measure=_MEASURE,
            threshold=cut.cut,
            goal="f1",
            **figures,
            noise_share=1 - good,
            rows=len(self.rows.good),
            file=printable_line(self.file),
            command=printable_line(command),
            model=digest,
            version=__version__,
            languages=",".join(pair_of_more(self.model.name) or ()),
        )


def _record(folder: Path) -> dict[str, Any]:
    """Return the record of a classifier's training; empty where there is none."""
    try:
        found = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
