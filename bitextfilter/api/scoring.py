"""Models, their cuts, explanations of scores, recovery, and what models find.

They find translations in collections of sentences and of documents, and align sentences.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from bitextfilter.api.pairs import (
    Languages,
    check_name,
    checked,
    language_pair,
    member_number,
    names_of,
    sentence_sides,
)
from bitextfilter.errors import InputError, SettingsError

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.evaluation.recovery import Recovery
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.thresholds import NamedCut

DEFAULT_MODEL = "en-de"
_DEVICE = re.compile("auto|cpu|cuda(:[0-9]+)?")
_CHECKED = 1000
"""First pairs among which some are scored again."""


@checked(threads=">= 1")
def load(
    name_or_folder: str | Path,
    device: str = "cpu",
    threads: int = 1,
    *,
    languages: Languages | None = None,
) -> Model:
    """Load a model by the name of a shipped one, or from its folder.

    Args:
        name_or_folder: such as ``en-de``, or a path. The languages of a model of more than two may
            stand at its end, as ``multi:cs,pl``. ``en-de@128`` has vectors of 128 numbers, and no
            classifier.
        device: ``cpu`` or ``cuda[:n]``: where sentences are encoded.
        threads: how many blocks are computed side by side.
        languages: of source and target, in any usual spelling, as ``("cs-CZ", "pol")``.

    Raises:
        NotFoundError: no such model, or a file of it is missing; names the known models.
        ModelError: the model is damaged, or of a newer version.
        DeviceError: the device is not there.
        SettingsError: the languages are not the model's; it has more than two, and none are given;
            or vectors have fewer numbers than are asked for.
    """
    from bitextfilter.scoring.model import load as load_model

    if not _DEVICE.fullmatch(device):
        raise SettingsError(f"device must be cpu, cuda or cuda:N, not {device!r:.40}")
    name = str(name_or_folder)
    if languages is None:
        _check_languages(name)
    else:
        name += f":{','.join(language_pair(languages))}"
    return load_model(name, device, threads)


def loaded_model(model: Model | str | Path | None) -> Model:
    """Return a model, loaded if it is given by its name or folder; the default one for None."""
    model = DEFAULT_MODEL if model is None else model
    return load(model) if isinstance(model, str | Path) else model


def _check_languages(name: str) -> None:
    """Raise SettingsError for a model of more than two languages, or of none, in Python's words."""
    from bitextfilter.models.folders import all_languages_of, languages_of

    with suppress(SettingsError):  # of another library, and without languages
        if languages_of(name) is not None:
            return
    known = all_languages_of(name)
    *_, first, second = ("en", "de", *known)
    one = f"is a model of {len(known)} languages ({', '.join(known)})" if known else "names none"
    raise SettingsError(
        f'{name} {one}: load("{name}", languages=("{first}", "{second}")) names two'
    )


@checked()
def named_cut(
    model: Model | str | Path = DEFAULT_MODEL,
    name: str = "balanced",
    measure: str | None = None,
    use: str | None = None,
) -> NamedCut:
    """Return a cut of a model by its name, as ``--min-score balanced`` takes it.

    Its ``threshold`` is the least score of a pair that is kept; ``right`` and ``wrong``, 0 to 1,
    are the shares of right and wrong rows that it is expected to keep.

    Args:
        model: a model, its name, with languages at its end if it has more than two, or its folder.
        name: ``lenient``, ``balanced`` or ``strict``.
        measure: a measure of :meth:`Model.score`, or ``joint``, that of ``mine``; None for the
            default of the model.
        use: ``filtering`` or ``mining``; None for mining with ``joint``, else filtering.

    Raises SettingsError if there is none, NotFoundError for no such model.
    """
    from bitextfilter.models.folders import CUTS
    from bitextfilter.scoring.measures import CUT_MEASURES
    from bitextfilter.scoring.thresholds import USES, measure_of
    from bitextfilter.scoring.thresholds import named_cut as cut_of_model

    check_name("name", name, CUTS)
    check_name("measure", measure, CUT_MEASURES)
    check_name("use", use, USES)
    named = str(model) if isinstance(model, str | Path) else model.name
    return cut_of_model(named, measure_of(named, measure, None), name, use)


def cut_of(
    pairs: Sequence[Sequence[Any]],
    place: int,
    name: str,
    similarity: str | None,
    model: Model | str | Path | None,
) -> float:
    """Return a cut of scores by a model, that of the default measure if not named.

    Raises InputError if the scores of the pairs, their members at *place*, are of another model. A
    UserWarning tells where margins may be.
    """
    from bitextfilter.scoring import row_checks as check

    loaded = loaded_model(model)
    found = named_cut(loaded, name, similarity)
    rows = []
    for index, pair in enumerate(pairs[:_CHECKED]):
        if isfinite(score := member_number(pair, place)):
            rows.append(check.ScoredText(index, pair[0], pair[1], repr(score)))
    checked_here = check.can_be_checked(found.measure, loaded)
    if checked_here and (others := check.other_scores(loaded, found.measure, rows)):
        row, own = others[0]
        place_of = f"pairs[{row.number}] has the score {float(row.score):.4f}"
        message = f"{place_of}, but {own:.4f} by {found.measure} of {loaded.name}"
        if not check.by_neighbours(found.measure):
            raise InputError(message, remedy="model= names the model of the scores")
        warning = check.by_others(found.measure, loaded.name)
        warnings.warn(f"{warning} ({message})", stacklevel=4)
    return found.threshold


@checked()
def explain(
    model: Model,
    sources: Sequence[str],
    targets: Sequence[str],
    similarity: str | None = None,
) -> list[list[str]]:
    """Return what weighs against each of ``n`` pairs, as ``bitext-score --explain`` does.

    A reason is ``source-words=7 red(+1.2)``: without the seventh word, red, the score's logit is
    higher by 1.2; a negation on one side alone, a fragment, another language, or a rule of
    ``bitext-filter`` that the pair fails. A pair is scored once for each word.

    Args:
        model: a model of both languages.
        sources, targets: sentences, as many.
        similarity: a measure of :meth:`Model.score`; None for the default of the model.

    Raises SettingsError if the model has no part for the measure, ValueError if the sides differ
    in number.
    """
    from bitextfilter.filters.explanations import Explainer

    measure = model.default_measure if similarity is None else similarity
    model.check([measure])
    sides = sentence_sides(sources, targets, paired=True)

    def score(some: Sequence[str], others: Sequence[str]) -> Scores:
        return model.score(some, others, measure)[measure]

    return Explainer(score, measure, model.languages)(*sides)


@checked()
def recheck(
    model: Model,
    sources: Sequence[str],
    targets: Sequence[str],
    scores: Sequence[float] | Scores,
    *,
    low: float,
    high: float,
) -> Scores:
    """Score doubted pairs by a slower model, too, as ``bitext-score --recheck`` does.

    Returns float32 ``(n,)``: the scores; for each from *low* to *high* another one there, by both
    models.

    Args:
        model: the slower model, which scores by its default measure.
        sources, targets: ``n`` sentences of its first and of its second language.
        scores: of the pairs, by a faster model.
        low, high: the scores between which pairs are doubted, such as 0.01 and 0.99.

    Raises SettingsError if *low* is not below *high*, ValueError if the sides differ in number.
    """
    import numpy as np

    from bitextfilter.scoring.score_columns import Recheck

    sides, first = sentence_sides(sources, targets, paired=True), np.asarray(scores)
    if first.shape != (len(sides[0]),) or first.dtype.kind not in "fiu":
        raise SettingsError(f"scores must be {len(sides[0])} numbers, not {scores!r:.40}")
    measure = model.default_measure
    again = Recheck(lambda *some: model.score(*some)[measure], (low, high), Counter())
    return again(*sides, first.astype(np.float32))


@checked(neighbours=">= 1")
def recovery(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    measures: str | Sequence[str] = ("cosine", "csls"),
    *,
    neighbours: int = 10,
) -> dict[str, Recovery]:
    """Measure how well a model recovers ``n`` translations, as ``bitext-evaluate recovery`` does.

    Returns for each measure the errors in percent, ``forward``, ``backward`` and ``mean``, the
    number of ``pairs``, and the number ``set_aside`` because they repeat a text.

    Args:
        model: a model of both languages.
        sources, targets: ``n`` sentences and their translations.
        measures: ``cosine``, ``euclidean``, ``csls``, ``ratio``, ``distance``; ``mlp`` takes a
            minute for 1,000 pairs.
        neighbours: neighbours in a margin.

    Raises:
        InputError: there are no pairs.
        SettingsError: a measure is unknown, or needs a classifier that the model lacks.
        ValueError: the sides differ in number.
    """
    from bitextfilter.evaluation.recovery import MATRICES, distinct_pairs, recover, vector_scorer

    names, sides = names_of(measures, "measures"), sentence_sides(sources, targets, paired=True)
    kept = distinct_pairs(*sides)
    if not kept:
        raise InputError("no pairs to find")
    source, target = ([side[place] for place in kept] for side in sides)
    for name in names:
        if name not in MATRICES or (name == "mlp" and model.classifier is None):
            known = ", ".join(MATRICES)
            raise SettingsError(f"measures: {name!r} is no measure of {model.name}: {known}")
    one, other = map(model.encode, (source, target), model.languages)
    classify = model.pair_scorer((one, source), (other, target))
    found: dict[str, Recovery] = {}
    for name in names:
        measured = recover(source, target, vector_scorer(name, one, other, classify, neighbours))
        found[name] = replace(measured, set_aside=len(sides[0]) - len(kept))
    return found


@checked(neighbours=">= 1")
def mine(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    similarity: str | None = None,
    retrieval: str = "max",
    neighbours: int = 4,
    min_score: float | Literal["balanced", "none"] | None = None,
) -> list[tuple[str, str, float]]:
    """Find translations in two collections of sentences, as ``bitext-align`` does.

    Returns source, target and score, best first; repeated sentences count once.

    Args:
        model: a model of both languages.
        sources, targets: sentences of its first and of its second language.
        similarity: a measure of :meth:`Model.score`, or ``joint``; None for ``joint``, or
            ``csls`` if the model has no classifier.
        retrieval: ``forward``, ``backward``, ``intersect`` or ``max``.
        neighbours: candidates per sentence, and neighbours in a margin.
        min_score: lowest score; ``balanced`` for the model's cut, ``none`` for no cut, None for
            the model's cut if it has one: a UserWarning tells where it has not.

    Raises SettingsError for an unknown value, a measure that the model lacks, or a cut that it
    lacks.
    """
    from bitextfilter.io.vectors import as_kept
    from bitextfilter.mining.comparable import MiningSettings, choose_pairs, scorer_for
    from bitextfilter.search.bidirectional import bidirectional_search
    from bitextfilter.similarity.vectors import unit_rows

    if similarity is None:
        similarity = "csls" if model.classifier is None else "joint"
    least = _least(model, similarity, min_score)
    settings = MiningSettings(similarity, retrieval, neighbours, least, model.threads)
    texts = [list(dict.fromkeys(side)) for side in sentence_sides(sources, targets)]
    source, target = (
        as_kept(model.encode(side, language), "float16")
        for side, language in zip(texts, model.languages, strict=True)
    )
    scorer = scorer_for(settings, ((source, texts[0]), (target, texts[1])), model.pair_scorer)
    units = unit_rows(source), unit_rows(target)
    nearest = bidirectional_search(*units, settings.neighbours, model.threads)
    mined = choose_pairs(nearest, settings, scorer)
    return [(texts[0][i], texts[1][j], score) for i, j, score in mined]


def _least(
    model: Model, similarity: str, asked: float | Literal["balanced", "none"] | None
) -> float | None:
    """Return the lowest score of mined pairs."""
    if asked == "none" or isinstance(asked, int | float):
        return None if asked == "none" else asked
    try:
        return named_cut(model, measure=similarity, use="mining").threshold
    except SettingsError as error:
        if asked is not None:
            raise
        warnings.warn(f"wrong pairs are returned, too: {error}", stacklevel=4)
        return None


@checked(largest=">= 1, <= 10", skip=">= 0, <= 100")
def align_documents(
    model: Model | None,
    sources: Iterable[str],
    targets: Iterable[str],
    *,
    by: str = "model",
    classifier: bool = False,
    largest: int = 5,
    skip: float = 0.9,
    anchors: Iterable[Sequence[Any]] = (),
) -> list[tuple[list[int], list[int], float | None]]:
    """Link the sentences of a document and its translation, as ``bitext-align-documents`` does.

    Returns each link's source indices, target indices and score, in order; an unlinked sentence
    stands alone, with the score None.

    Args:
        model: for ``by="model"`` and ``classifier``; else None.
        sources, targets: the sentences of both documents.
        by: ``model`` (score: cosine), ``words`` (cosine) or ``length`` (0 to 1).
        classifier: score links with the model's classifier, too.
        largest: most sentences of a side in one link, 1 to 10.
        skip: cost of leaving a sentence out, 0 to 100; linking unrelated ones costs 1.
        anchors: links that hold: source and target indices; further members, as a score, do not
            count. A sentence with none on the other side has no counterpart.

    Raises SettingsError for a value that is unknown, out of range, or impossible with the model.
    """
    from bitextfilter.mining.anchors import anchors_of, known_links, problem
    from bitextfilter.mining.chunks import LinkSettings
    from bitextfilter.mining.documents import aligner

    align = aligner(by, LinkSettings(largest, skip), model, classifier)
    source, target = sentence_sides(sources, targets)
    known = known_links(anchors)
    if found := problem(known, (len(source), len(target))):
        raise SettingsError(f"anchors[{found[0]}]: {found[2]}")
    links = align(source, target, anchors=anchors_of(known)).links
    return [(list(link.source), list(link.target), link.score) for link in links]


@checked(neighbours=">= 1")
def pair_documents(
    model: Model,
    sources: Mapping[str, Sequence[str]],
    targets: Mapping[str, Sequence[str]],
    *,
    min_score: float | Literal["balanced", "none"] = "balanced",
    neighbours: int = 10,
) -> list[tuple[str, str, float]]:
    """Find which documents are translations of each other, as ``bitext-pair-documents`` does.

    Returns the names of both and the probability, 0 to 1, best first; each document once at most.
    Texts and vectors wait in a temporary folder.

    Args:
        model: a model of both languages.
        sources, targets: names of documents → their sentences, at least one each.
        min_score: lowest probability; ``balanced`` for 0.8, ``none`` for all.
        neighbours: candidates of a document.

    Raises SettingsError for a document without sentences, or neighbours below 1.
    """
    import numpy as np

    from bitextfilter.mining.document_pairing import (
        DocumentPairer,
        PairingHooks,
        PairingSettings,
        named_pairs,
    )
    from bitextfilter.mining.document_pairs import BALANCED_SCORE
    from bitextfilter.text.words import sentence_list

    sides = [
        {n: sentence_list(texts, f"{name}[{n!r}]") for n, texts in side.items()}
        for name, side in (("sources", sources), ("targets", targets))
    ]
    if empty := [name for side in sides for name, sentences in side.items() if not sentences]:
        raise SettingsError(f"the document {empty[0]!r} has no sentences")
    if isinstance(min_score, str):
        min_score = {"balanced": BALANCED_SCORE, "none": -math.inf}[min_score]
    most = max(1, *map(len, sides))
    settings = PairingSettings(min(neighbours, most), threads=model.threads)
    with TemporaryDirectory() as folder:
        pairer = DocumentPairer(model, Path(folder), settings, PairingHooks())
        stores = pairer.gather(side.items() for side in sides)
        found = pairer.pair()
        kept = found.take(found.score >= np.float32(min_score))
        return [(one[1], other[1], score) for one, other, score in named_pairs(stores, kept)]
