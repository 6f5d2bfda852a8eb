"""What ``bitext-align`` does without ``--monotonic``: find translations in two collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bitextfilter.commands.cuts import NONE, MinScore, recommended_cut
from bitextfilter.commands.documents import score_text
from bitextfilter.commands.frame import Run
from bitextfilter.commands.mining_files import good_rows, open_readers
from bitextfilter.commands.mining_search import MiningSearch
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import RowReader

if TYPE_CHECKING:
    from bitextfilter.io.sentence_file import SentenceFile
    from bitextfilter.mining.comparable import Mined, MiningSettings
    from bitextfilter.scoring.model import Model

__all__ = ["Cut", "mine_pairs", "pair_line", "settings_of"]


def mine_pairs(run: Run, files: Sequence[str], options: dict[str, Any]) -> None:
    """Find the pairs of two files, or of one and an index, and write them best first."""
    from bitextfilter.mining.comparable import choose
    from bitextfilter.mining.joint import scorer_of

    output, readers, model = run.output(), open_readers(run, files), run.model()
    settings = settings_of(run, model, options)
    cut = Cut(run, settings.similarity, options["min_score"])
    search = MiningSearch(run, model, options)
    sentences = search.gather([_texts(run, reader) for reader in readers])
    if not options["no_column_check"]:
        _check_languages(run, model, sentences)
    sides = search.encode(sentences)
    nearest = search.nearest(sides)
    both = (sides.file(0), sentences[0]), (sides.file(1), sentences[1])
    mined = choose(
        nearest, settings, scorer_of(model.pair_scorer, both, settings), search.elsewhere()
    )
    mined = cut(mined)
    _write(run, output, sentences, mined, options)
    if options["index_save"] is not None:
        search.save(Path(options["index_save"]), sides, sentences[1], nearest[1][0])


def _texts(run: Run, reader: RowReader) -> Iterator[list[str]]:
    return ([row.text for row in window] for window in good_rows(run, reader))


def _check_languages(run: Run, model: Model, sentences: Sequence[SentenceFile]) -> None:
    from bitextfilter.text.language import check_columns

    warning = check_columns(sentences[0], sentences[1], model.processor)
    if warning is not None:
        run.warn(warning)


def settings_of(run: Run, model: Model, options: dict[str, Any]) -> MiningSettings:
    """Return how pairs are found, by a model that can; which are kept says :class:`Cut`."""
    from bitextfilter.mining.comparable import NEEDS_CLASSIFIER, MiningSettings
    from bitextfilter.scoring.scorers import check_measures

    settings = MiningSettings(
        options["similarity"] or ("csls" if model.classifier is None else "joint"),
        options["retrieval"],
        options["neighbours_count"],
        threads=run.common.threads,
    )
    run.facts["similarity"] = settings.similarity
    if settings.similarity in NEEDS_CLASSIFIER:
        check_measures(model, ["mlp"], None)
    return settings


class Cut:
    """Leaves out pairs that score too little, and counts them."""

    def __init__(self, run: Run, similarity: str, least: MinScore | str | None) -> None:
        """Find the least score: the one given, none, or the one that the model recommends."""
        self._run = run
        self.least = -inf
        if isinstance(least, float):
            self.least = least
        elif least != NONE:
            self.least = self._recommended(similarity, asked=least is not None)

    def _recommended(self, similarity: str, asked: bool) -> float:
        """Return the model's cut; without one raise SettingsError if it is *asked* for."""
        assert self._run.model_name is not None
        try:
            return recommended_cut(self._run, self._run.model_name, similarity, "mining")
        except SettingsError as error:
            if asked:
                raise
            doubt = f"all candidates are written, most are wrong: {error}"
            self._run.afterwards(partial(self._run.note, doubt))
            return -inf

    def keeps(self, score: float) -> bool:
        """Return whether a pair is kept; count it if not."""
        import numpy as np

        kept = bool(np.float32(score) >= np.float32(self.least))
        self._run.counts["below the cut"] += not kept
        return kept

    def __call__(self, pairs: Mined) -> Mined:
        """Return the pairs that are kept."""
        if self.least == -inf:
            return pairs
        kept = pairs.take(pairs.score >= self.least)
        self._run.counts["below the cut"] += len(pairs) - len(kept)
        return kept


def _write(
    run: Run,
    output: BinaryIO,
    sentences: Sequence[SentenceFile],
    mined: Mined,
    options: dict[str, Any],
) -> None:
    """Write pairs best first, each once or as often as its sentences have copies."""
    copies = [side.copies() for side in sentences]
    for row in zip(mined.source.tolist(), mined.target.tolist(), mined.score, strict=True):
        texts = [side[place] for side, place in zip(sentences, row[:2], strict=True)]
        times = 1
        if options["keep_duplicates"]:
            times = int(copies[0][row[0]] * copies[1][row[1]])
        output.writelines(repeat(pair_line(texts, row[2], options), times))
        run.counts["pairs"] += times


def pair_line(texts: list[str], score: float, options: dict[str, Any]) -> bytes:
    """Return the line of a pair, as the options say."""
    number = score_text(score, options["digits"])
    columns = [number, *texts] if options["score_first"] else [*texts, number]
    return ("\t".join(columns) + "\n").encode()
