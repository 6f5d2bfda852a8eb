"""Formulas made wrong, each with the tests that are to fail then.

A wrong sign or a swapped side often still learns something, so a test that only looks for learning
passes. ``tests/mutate.py`` makes each of these mistakes in a copy of the package.
"""

from __future__ import annotations

from typing import NamedTuple

OBJECTIVES = "training/objectives.py"
LEARNER = "training/encoder_learner.py"
LEARNING = "tests/training/test_bilingual_training.py"
FORMULAS = "tests/encoders/test_formulas.py"
POOLINGS = "tests/models/test_pooling.py"
COMBINING = "tests/training/test_combiner.py"


class Mutation(NamedTuple):
    """One mistake."""

    formula: str
    """Its name and source."""
    mistake: str
    right: str
    """A piece of the file, which stands there once."""
    wrong: str
    file: str
    """Inside the package."""
    tests: str
    """The file of tests, of which one fails."""


_MISTAKES = {
    ("scoring/score_columns.py", "tests/scoring/test_recheck.py"): [
        ("recheck", "the slow score alone", "(place + np.clip(", "(2 * np.clip("),
        ("recheck", "a cosine below 0 counts", "float64), 0, 1)) / 2", "float64), -1, 1)) / 2"),
        ("recheck", "its upper end is no doubt", "(scores <= between[1])", "(scores < between[1])"),
    ],
    (LEARNER, LEARNING): [
        ("translation and autoencoding (Kim et al. 2019, eq. 7, 8)",
         "a translation is written from its own side",
         'losses["translation"] = self._decoded(vectors[1 - side]',
         'losses["translation"] = self._decoded(vectors[side]'),
        ("translation and autoencoding (Kim et al. 2019, eq. 7, 8)",
         "a sentence is autoencoded from its translation",
         "self._decoded(vectors[side][::every], written, side)\n        return",
         "self._decoded(vectors[1 - side][::every], written, side)\n        return"),
        ("decoder (Kim et al. 2019, section 3)", "it does not write the end of a sentence",
         "inside = padding_mask(lengths + 1,", "inside = padding_mask(lengths,"),
        ("decoder of a narrower state", "it reads the vector's first numbers",
         "state = self.start(embedding)", "state = embedding[:, : self.decoder.cells.hidden_size]"),
        ("loss summed over words (Kim et al. 2019, eq. 7)", "it is the mean",
         'return loss if self.settings.loss == "mean" else',
         'return loss if self.settings.loss == "sum" else'),
        ("words hidden from the decoder (Bowman et al. 2016)",
         "those are hidden that should be seen",
         "kept = torch.rand(vectors.shape[:2], device=vectors.device) >= rate",
         "kept = torch.rand(vectors.shape[:2], device=vectors.device) < rate"),
        ("drift of token vectors (Wieting, Mallinson & Gimpel 2017)",
         "from 0 instead of from their start",
         'table.weight - self.get_buffer(f"initial{number}")',
         'table.weight - 0 * self.get_buffer(f"initial{number}")'),
        ("variational dropout (Gal & Ghahramani 2016)", "a mask a word",
         "mask = variational_mask(len(vectors), vectors.shape[2], self.rate,",
         "mask = torch.rand_like(vectors) >= self.rate; variational_mask(1, 1, self.rate,"),
        ("scrambling (Wieting & Gimpel 2018, section 4)",
         "sentences that should stay are scrambled",
         "moved = (chance[:, :1] < probability)", "moved = (chance[:, :1] >= probability)"),
    ],
    (LEARNER, "tests/training/test_loop.py"): [
        ("taught mini-batches", "the teacher's vectors are left out",
         "[*vectors, batch.taught], batch.same)", "[*vectors, vectors[0]], batch.same)"),
        ("taught mini-batches", "the last two sides alone are ranked",
         "for two in combinations(vectors, 2)]", "for two in combinations(vectors[-2:], 2)]"),
    ],
    ("training/multilingual.py", "tests/training/test_multilingual.py"): [
        ("share of taught mini-batches", "it is counted twice",
         "shares = [1.0, settings.without_first, settings.three_way, settings.taught]",
         "shares = [1.0, settings.without_first, settings.three_way, 2 * settings.taught]"),
        ("taught rows keep their vectors", "those of the first rows are taken",
         "lessons = Lessons(vectors, places,",
         "lessons = Lessons(vectors, np.arange(len(places)),"),
    ],
    (LEARNER, "tests/system/test_meaning.py"): [
        ("autoencoding of other text (Kim et al. 2019, section 3.2)",
         "other text is written as the pairs' side is",
         "self._decoded(vectors_of_other, other[PIECES], side)",
         "self._decoded(vectors_of_other, written, side)"),
    ],
    ("models/recurrent.py", LEARNING): [
        ("decoder (Kim et al. 2019, section 3)", "it does not start from the sentence vector",
         "state = embedding[None].contiguous()",
         "state = torch.zeros_like(embedding)[None].contiguous()"),
    ],
    (OBJECTIVES, "tests/training/test_objectives.py"): [
        ("sampled softmax (Jean et al. 2015, section 3)", "the expected counts are added",
         "rows_of(offsets, samples)[:, 0] - log_expected[samples]",
         "rows_of(offsets, samples)[:, 0] + log_expected[samples]"),
        ("sampled softmax (Jean et al. 2015, section 3)",
         "a sample that is the target counts twice",
         "others = others.masked_fill_(samples[None, :] == targets[:, None]",
         "others = others.masked_fill_(samples[None, :] != samples[None, :]"),
        ("margin loss (Wieting, Mallinson & Gimpel 2017)", "the negative is drawn near",
         "margin - right + _row_cosine(source, for_source.vectors)",
         "margin - right - _row_cosine(source, for_source.vectors)"),
        ("margin loss, hardest negatives (Wieting & Gimpel 2018, section 5)",
         "the easiest are taken",
         "first_highest(cosine.masked_fill(", "first_highest((-cosine).masked_fill("),
        ("negatives of the same side, or of the other", "the other way round",
         '{"same": units, "other": units[::-1]}', '{"same": units[::-1], "other": units}'),
    ],
    (OBJECTIVES, LEARNING): [
        ("ranking (Yang et al. 2019, eq. 5, 6)", "the margin is added",
         "logits = scale * (cosine - margin * eye)", "logits = scale * (cosine + margin * eye)"),
        ("ranking (Yang et al. 2019, eq. 5, 6)", "sources alone have to find their translations",
         "backward = functional.cross_entropy(logits.T, right)",
         "backward = functional.cross_entropy(logits, right)"),
        ("contrastive loss (Sjöblom et al. 2018)", "as printed: positives are pushed apart",
         "torch.where(positive, distance, beyond)", "torch.where(positive, beyond, distance)"),
        ("cosine loss (future work of Kim et al. 2019)", "it drives translations apart",
         "return (1 - _row_cosine(source, target)).mean()",
         "return (1 + _row_cosine(source, target)).mean()"),
    ],
    ("papers/pivot.py", "tests/papers/test_pivot.py"): [
        ("pivot (Schwenk & Douze 2017)", "both sides are read as sources",
         "vectors = self.encode(sentences, side)", "vectors = self.encode(sentences, 0)"),
    ],
    ("models/layers.py", POOLINGS): [
        ("max pooling (Kim et al. 2019, eq. 6)", "the mean",
         'masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)',
         "masked_fill(~mask[:, :, None], 0).mean(dim=1)"),
    ],
    ("models/pooling.py", POOLINGS): [
        ("attention pooling (Yang et al. 2016, eq. 5 to 7)", "no softmax",
         "(scores.softmax(dim=1)[:, :, None] * states)", "(scores.sigmoid()[:, :, None] * states)"),
        ("standardised vectors (Ioffe & Szegedy 2015)", "divided by the variance",
         "(self.variance + _LEAST).rsqrt()", "(self.variance + _LEAST).reciprocal()"),
        ("last states", "the backward direction's at the end",
         "states[:, 0, half:]", "states[rows, lengths - 1, half:]"),
    ],
    ("models/recurrent.py", FORMULAS): [
        ("bidirectional network (Kim et al. 2019, eq. 1, 2)", "both directions read forwards",
         "left = reverse_padded(back(reverse_padded(vectors, lengths))[0], lengths)",
         "left = back(vectors)[0]"),
        ("gated recurrent unit (Sjöblom et al. 2018)",
         "torch's: the old state and the candidate change places",
         "return (1 - update) * hidden + update * new",
         "return update * hidden + (1 - update) * new"),
    ],
    ("encoders/recurrent_encoders.py", FORMULAS): [
        ("GRAN (Wieting, Mallinson & Gimpel 2017, eq. 1)", "the gate does not see the state",
         "torch.sigmoid(self.from_vector(vectors) + self.from_state(states))",
         "torch.sigmoid(self.from_vector(vectors) + 0 * self.from_state(states))"),
    ],
    ("encoders/combination.py", FORMULAS): [
        ("weighted average", "weights without exp",
         "return rows_of(self.log_weight[:, None], ids)[..., 0].exp()",
         "return 1 - rows_of(self.log_weight[:, None], ids)[..., 0].square()"),
        ("parts added (Wieting & Gimpel 2018)", "their mean",
         "torch.stack([encoded[n] for n in added]).sum(0)",
         "torch.stack([encoded[n] for n in added]).mean(0)"),
    ],
    ("training/start.py", "tests/training/test_start.py"): [
        ("encoders start alike", "the target's overwrites the source's",
         "tensors[sources.get(name, name)]", "tensors[name]"),
    ],
    ("similarity/vectors.py", "tests/similarity/test_vectors.py"): [
        ("Euclidean distance (Kim et al. 2019, eq. 14)", "positive: far is better",
         "np.asarray(0.0 - np.sqrt(squares)", "np.asarray(0.0 + np.sqrt(squares)"),
        ("CSLS (Kim et al. 2019, eq. 16)", "the mean of one side alone",
         "2.0 * cosine - (mean_source + mean_target)",
         "2.0 * cosine - (mean_source + mean_source)"),
    ],
    ("mining/documents.py", "tests/mining/test_documents.py"): [
        ("the mean score of a link and two on either side", "one side alone",
         "scores[max(0, place - _BESIDE) : place + _BESIDE + 1]",
         "scores[max(0, place - _BESIDE) : place + 1]"),
        ("groups of given vectors: the mean of unit vectors", "longer vectors weigh more",
         "Document(unit_rows(rows), character_ends(side), settings.largest)",
         "Document(rows, character_ends(side), settings.largest)"),
    ],
    ("scoring/model.py", "tests/commands/test_align.py"): [
        ("a classifier's score of exchanged sides", "the sides as they come",
         "score(target, source, targets, sources)", "score(target, source, sources, targets)"),
    ],
    ("encoders/protocol.py", "tests/encoders/test_joined.py"): [
        ("cosine of joined encoders, the weighted mean of both",
         "the second has the weight of the first",
         "self._encoders = ((first, 1 - weight), (second, weight))",
         "self._encoders = ((first, weight), (second, 1 - weight))"),
        ("cosine of joined encoders, the weighted mean of both",
         "the vectors are scaled by the weights themselves",
         "some *= (weight**0.5 /", "some *= (weight /"),
    ],
    ("mining/document_pairs.py", "tests/mining/test_documents.py"): [
        ("weights of a document's sentences", "sentences of many documents count as much",
         "np.sqrt(lengths / np.maximum(counts, 1))", "np.sqrt(lengths)"),
        ("match of two documents", "the mean cosines to unrelated text do not count",
         "    margins -= (own.means[rows, None].astype(np.float64) + other.means[places]) / 2\n",
         ""),
        ("match of two documents", "a part matches its nearest, though that has a nearer one",
         "mutual = values >= np.maximum.reduceat(margins, firsts, axis=1)[nearest, document]",
         "mutual = np.full(len(values), True)"),
    ],
    ("encoders/foreign.py", "tests/encoders/test_foreign.py"): [
        ("mean of a static model's vectors", "their sum",
         "vectors /= np.maximum(ids.lengths, 1).astype",
         "vectors /= np.ones_like(ids.lengths).astype"),
    ],
    ("corpus/other_texts.py", "tests/corpus/test_dedup.py"): [
        ("overlap coefficient of n-grams of words",
         "n-grams with the same words in another order are the same",
         "filled[ahead:] * np.uint64(power)", "filled[ahead:]"),
        ("overlap coefficient of n-grams of words", "the share of the larger set counts",
         "self.needed(np.minimum(*sizes))", "self.needed(np.maximum(*sizes))"),
        ("prefix filtering (Chaudhuri et al. 2006)", "one n-gram too few is looked up",
         "rank <= (sizes", "rank < (sizes"),
    ],
    ("corpus/other_texts.py", "tests/corpus/test_repair.py"): [
        ("texts that occur in other files", "by pair, one side is enough",
         "np.all(both, axis=0)", "np.any(both, axis=0)"),
    ],
    ("corpus/selection.py", "tests/corpus/test_split.py"): [
        ("parts of a corpus by the hash of a group's least key",
         "the least key itself is taken, so large groups come first",
         "hashes = _hashes(_least_of_groups(keys))",
         "hashes = _least_of_groups(keys) >> np.uint64(1)"),
        ("parts of a corpus by the hash of a group's least key", "each part begins at 0",
         "accumulate(part.share for part in settings.parts)",
         "(part.share for part in settings.parts)"),
    ],
    ("mining/word_lexicon.py", "tests/mining/test_word_lexicon.py"): [
        ("words without a link, of both sides", "words of one side are counted twice",
         "len({j for _, j in links})", "len({i for i, _ in links})"),
        ("probabilities of a lexicon of words, of the target word first",
         "both directions change places in the file",
         "(back, there)", "(there, back)"),
    ],
    ("scoring/score_combiner.py", COMBINING): [
        ("combiner of scores, the sigmoid of a weighted sum",
         "a missing score has no weight of its own",
         "np.where(missing, self.missing_weights, standard * np.array(self.weights))",
         "np.where(missing, 0.0, standard * np.array(self.weights))"),
        ("combiner of scores, boosted trees", "a score at a threshold goes right",
         "values <= thresholds[at]", "values < thresholds[at]"),
    ],
    ("training/combiner.py", COMBINING): [
        ("isolation forest, how usual a row is", "a leaf with several rows counts as one with one",
         "depths + _splits(tree.n_node_samples)", "depths"),
    ],
    ("search/kmeans.py", "tests/search/test_kmeans.py"): [
        ("k-means, starts that are far from each other", "distances to the last start alone",
         "gaps = np.minimum(gaps, 1 - exact @ exact[chosen[-1]])",
         "gaps = 1 - exact @ exact[chosen[-1]]"),
        ("semantic duplicates", "compared with rows that are dropped, too",
         "np.flatnonzero(like[place, :place] & (mine[:place] == NO_ROW))",
         "np.flatnonzero(like[place, :place])"),
    ],
    ("corpus/selection.py", "tests/corpus/test_diverse_sample.py"): [
        ("diverse order, clusters in turn", "within a turn, rows are in random order",
         "np.lexsort((draw[order], -scores[order], turns))", "np.lexsort((draw[order], turns))"),
    ],
    ("search/compiled.py", "tests/search/test_compiled.py"): [
        ("error of turned rows (Cauchy-Schwarz; Higham 2002, section 3.1)",
         "the matrix is taken to do nothing but turn",
         "1.01 * (apart + once * (2 + apart + once))", "1.01 * (once * (2 + once))"),
    ],
    ("filters/shape.py", "tests/filters/test_rules.py"): [
        ("length ratio in letters", "nothing is added to the lengths",
         "lengths = np.maximum(super().values(pairs), 0.5) + self.added",
         "lengths = np.maximum(super().values(pairs), 0.5)"),
    ],
    ("filters/pairs.py", "tests/filters/test_rules.py"): [
        ("length ratio in letters", "a Chinese character is worth two letters, as a kana",
         'found = found + self.counted(characters.in_script("Han"))', "found = found + 0"),
    ],
    ("filters/numbers.py", "tests/filters/test_rules.py"): [
        ("simple fractions", "upside down",
         "{numerator / denominator:.3f}", "{denominator / numerator:.3f}"),
    ],
}  # fmt: skip
"""By file and tests: a formula, a mistake, and a right and a wrong piece."""

MUTATIONS = [
    Mutation(*mistake, *place) for place, mistakes in _MISTAKES.items() for mistake in mistakes
]
