"""What ``bitext-align --stream`` does: mine text as it comes, against an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bitextfilter.commands.frame import Run
from bitextfilter.commands.mining import Cut, pair_line, settings_of
from bitextfilter.commands.mining_files import good_rows, open_readers
from bitextfilter.commands.mining_search import opened_index

if TYPE_CHECKING:
    from bitextfilter.mining.comparable import MiningSettings
    from bitextfilter.mining.saved_index import SavedIndex
    from bitextfilter.scoring.model import Model
    from bitextfilter.similarity.vectors import Scores

__all__ = ["stream_pairs"]

Best = dict[str, tuple[int, float]]
"""Of sentences, the place of the best of the other side, and the score."""


def stream_pairs(run: Run, files: Sequence[str], options: dict[str, Any]) -> None:
    """Write each sentence's best of the index, in the order of the input, window by window."""
    from bitextfilter.similarity.margins import highest_means

    output, (reader,), model = run.output(), open_readers(run, files), run.model()
    settings = replace(settings_of(run, model, options), retrieval="forward")
    cut = Cut(run, settings.similarity, options["min_score"])
    index = opened_index(model, options)
    assert index is not None, "align_rules asks for one"
    means = highest_means(index.nearest(), settings.neighbours)[:, None]
    run.progress(unit="sentences")
    for window in good_rows(run, reader):
        best = _best(model, index, means, [row.text for row in window], settings)
        for row in window:
            if row.text in best and cut.keeps(best[row.text][1]):
                place, score = best[row.text]
                output.write(pair_line([row.text, index.sentences[place]], score, options))
                run.counts["pairs"] += 1
        run.advance(len(window))


def _best(
    model: Model,
    index: SavedIndex,
    means: Scores,
    texts: list[str],
    settings: MiningSettings,
) -> Best:
    """Find the best of the index for each of some sentences that has one."""
    from bitextfilter.io.vector_file import as_kept
    from bitextfilter.mining.comparable import choose
    from bitextfilter.mining.exact import nearest_in
    from bitextfilter.mining.joint import scorer_of
    from bitextfilter.similarity.found import nothing

    distinct = list(dict.fromkeys(texts))
    vectors = as_kept(model.encode(distinct, model.languages[0]), index.description.form)
    found = nearest_in(vectors, index.vectors, settings.neighbours, settings.threads)
    nearest = found, nothing(len(index.sentences), 0)
    both = (vectors, distinct), (index.vectors, index.sentences)
    scorer = scorer_of(model.pair_scorer, both, settings)
    mined = choose(nearest, settings, scorer, means)
    rows = zip(mined.source.tolist(), mined.target.tolist(), mined.score.tolist(), strict=True)
    return {distinct[source]: (target, score) for source, target, score in rows}
