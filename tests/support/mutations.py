"""Formulas made wrong, each with the tests that are to fail then.

A wrong sign or a swapped side often still learns something, so a test that only looks for learning
passes. ``tests/mutate.py`` makes each of these mistakes in a copy of the package.
"""

from __future__ import annotations

from typing import NamedTuple

OBJECTIVES = "training/objectives.py"
LEARNER = "training/encoder_learner.py"
RECURRENT = "encoders/recurrent_encoders.py"
COMBINATION = "encoders/combination.py"
POOLING = "models/pooling.py"
JOINED = "encoders/protocol.py"
NEIGHBOURS = "similarity/neighbours.py"
VECTORS = "similarity/vectors.py"
COMBINER = "scoring/score_combiner.py"

LOSSES = "tests/training/test_objectives.py"
LEARNING = "tests/training/test_bilingual_training.py"
MEANING = "tests/system/test_meaning.py"
FORMULAS = "tests/encoders/test_formulas.py"
JOINING = "tests/encoders/test_joined.py"
POOLINGS = "tests/models/test_pooling.py"
COMBINING = "tests/training/test_combiner.py"


class Mutation(NamedTuple):
    """One mistake."""

    formula: str
    """Its name and source."""
    mistake: str
    file: str
    """Inside the package."""
    right: str
    """A piece of the file, which stands there once."""
    wrong: str
    tests: str
    """The file of tests, of which one fails."""


MUTATIONS = (
    Mutation(
        "translation and autoencoding (Kim et al. 2019, eq. 7, 8)",
        "a translation is written from its own side",
        LEARNER,
        'losses["translation"] = self._decoded(vectors[1 - side]',
        'losses["translation"] = self._decoded(vectors[side]',
        LEARNING,
    ),
    Mutation(
        "translation and autoencoding (Kim et al. 2019, eq. 7, 8)",
        "a sentence is autoencoded from its translation",
        LEARNER,
        "self._decoded(vectors[side][::every], written, side)\n        return",
        "self._decoded(vectors[1 - side][::every], written, side)\n        return",
        LEARNING,
    ),
    Mutation(
        "autoencoding of other text (Kim et al. 2019, section 3.2)",
        "other text is written as the pairs' side is",
        LEARNER,
        "self._decoded(vectors_of_other, other[PIECES], side)",
        "self._decoded(vectors_of_other, written, side)",
        MEANING,
    ),
    Mutation(
        "decoder (Kim et al. 2019, section 3)",
        "it does not start from the sentence vector",
        "models/recurrent.py",
        "state = embedding[None].contiguous()",
        "state = torch.zeros_like(embedding)[None].contiguous()",
        LEARNING,
    ),
    Mutation(
        "decoder (Kim et al. 2019, section 3)",
        "it does not write the end of a sentence",
        LEARNER,
        "inside = padding_mask(lengths + 1,",
        "inside = padding_mask(lengths,",
        LEARNING,
    ),
    Mutation(
        "decoder of a narrower state",
        "it reads the vector's first numbers",
        LEARNER,
        "state = self.start(embedding)",
        "state = embedding[:, : self.decoder.cells.hidden_size]",
        LEARNING,
    ),
    Mutation(
        "loss summed over words (Kim et al. 2019, eq. 7)",
        "it is the mean",
        LEARNER,
        'return loss if self.settings.loss == "mean" else',
        'return loss if self.settings.loss == "sum" else',
        LEARNING,
    ),
    Mutation(
        "words hidden from the decoder (Bowman et al. 2016)",
        "those are hidden that should be seen",
        LEARNER,
        "kept = torch.rand(vectors.shape[:2], device=vectors.device) >= rate",
        "kept = torch.rand(vectors.shape[:2], device=vectors.device) < rate",
        LEARNING,
    ),
    Mutation(
        "sampled softmax (Jean et al. 2015, section 3)",
        "the expected counts are added",
        OBJECTIVES,
        "rows_of(offsets, samples)[:, 0] - log_expected[samples]",
        "rows_of(offsets, samples)[:, 0] + log_expected[samples]",
        LOSSES,
    ),
    Mutation(
        "sampled softmax (Jean et al. 2015, section 3)",
        "a sample that is the target counts twice",
        OBJECTIVES,
        "others = others.masked_fill_(samples[None, :] == targets[:, None]",
        "others = others.masked_fill_(samples[None, :] != samples[None, :]",
        LOSSES,
    ),
    Mutation(
        "ranking (Yang et al. 2019, eq. 5, 6)",
        "the margin is added",
        OBJECTIVES,
        "logits = scale * (cosine - margin * eye)",
        "logits = scale * (cosine + margin * eye)",
        LEARNING,
    ),
    Mutation(
        "ranking (Yang et al. 2019, eq. 5, 6)",
        "sources alone have to find their translations",
        OBJECTIVES,
        "backward = functional.cross_entropy(logits.T, right)",
        "backward = functional.cross_entropy(logits, right)",
        LEARNING,
    ),
    Mutation(
        "margin loss (Wieting, Mallinson & Gimpel 2017)",
        "the negative is drawn near",
        OBJECTIVES,
        "margin - right + _row_cosine(source, for_source.vectors)",
        "margin - right - _row_cosine(source, for_source.vectors)",
        LOSSES,
    ),
    Mutation(
        "margin loss, hardest negatives (Wieting & Gimpel 2018, section 5)",
        "the easiest are taken",
        OBJECTIVES,
        "place = values.argmax(1, keepdim=True)",
        "place = values.argmin(1, keepdim=True)",
        "tests/training/test_objectives.py",
    ),
    Mutation(
        "negatives of the same side, or of the other",
        "the other way round",
        OBJECTIVES,
        '{"same": units, "other": units[::-1]}',
        '{"same": units[::-1], "other": units}',
        "tests/training/test_objectives.py",
    ),
    Mutation(
        "contrastive loss (Sjöblom et al. 2018)",
        "as printed: positives are pushed apart",
        OBJECTIVES,
        "torch.where(positive, distance, beyond)",
        "torch.where(positive, beyond, distance)",
        LEARNING,
    ),
    Mutation(
        "cosine loss (future work of Kim et al. 2019)",
        "it drives translations apart",
        OBJECTIVES,
        "return (1 - _row_cosine(source, target)).mean()",
        "return (1 + _row_cosine(source, target)).mean()",
        LEARNING,
    ),
    Mutation(
        "drift of token vectors (Wieting, Mallinson & Gimpel 2017)",
        "from 0 instead of from their start",
        LEARNER,
        'table.weight - self.get_buffer(f"initial{number}")',
        'table.weight - 0 * self.get_buffer(f"initial{number}")',
        LEARNING,
    ),
    Mutation(
        "variational dropout (Gal & Ghahramani 2016)",
        "a mask a word",
        LEARNER,
        "mask = variational_mask(len(vectors), vectors.shape[2], self.rate,",
        "mask = torch.rand_like(vectors) >= self.rate; variational_mask(1, 1, self.rate,",
        LEARNING,
    ),
    Mutation(
        "scrambling (Wieting & Gimpel 2018, section 4)",
        "sentences that should stay are scrambled",
        LEARNER,
        "moved = (chance[:, :1] < probability)",
        "moved = (chance[:, :1] >= probability)",
        "tests/training/test_bilingual_training.py",
    ),
    Mutation(
        "pivot (Schwenk & Douze 2017)",
        "both sides are read as sources",
        "papers/pivot.py",
        "vectors = self.encode(sentences, side)",
        "vectors = self.encode(sentences, 0)",
        "tests/papers/test_pivot.py",
    ),
    Mutation(
        "max pooling (Kim et al. 2019, eq. 6)",
        "the mean",
        "models/layers.py",
        'masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)',
        "masked_fill(~mask[:, :, None], 0).mean(dim=1)",
        POOLINGS,
    ),
    Mutation(
        "attention pooling (Yang et al. 2016, eq. 5 to 7)",
        "no softmax",
        POOLING,
        "(scores.softmax(dim=1)[:, :, None] * states)",
        "(scores.sigmoid()[:, :, None] * states)",
        POOLINGS,
    ),
    Mutation(
        "standardised vectors (Ioffe & Szegedy 2015)",
        "divided by the variance",
        POOLING,
        "(self.variance + _LEAST).rsqrt()",
        "(self.variance + _LEAST).reciprocal()",
        POOLINGS,
    ),
    Mutation(
        "last states",
        "the backward direction's at the end",
        POOLING,
        "states[:, 0, half:]",
        "states[rows, lengths - 1, half:]",
        POOLINGS,
    ),
    Mutation(
        "bidirectional network (Kim et al. 2019, eq. 1, 2)",
        "both directions read forwards",
        "models/recurrent.py",
        "left = reverse_padded(back(reverse_padded(vectors, lengths))[0], lengths)",
        "left = back(vectors)[0]",
        FORMULAS,
    ),
    Mutation(
        "GRAN (Wieting, Mallinson & Gimpel 2017, eq. 1)",
        "the gate does not see the state",
        RECURRENT,
        "torch.sigmoid(self.from_vector(vectors) + self.from_state(states))",
        "torch.sigmoid(self.from_vector(vectors) + 0 * self.from_state(states))",
        FORMULAS,
    ),
    Mutation(
        "gated recurrent unit (Sjöblom et al. 2018)",
        "torch's: the old state and the candidate change places",
        "models/recurrent.py",
        "return (1 - update) * hidden + update * new",
        "return update * hidden + (1 - update) * new",
        FORMULAS,
    ),
    Mutation(
        "weighted average",
        "weights without exp",
        COMBINATION,
        "return rows_of(self.log_weight[:, None], ids)[..., 0].exp()",
        "return 1 - rows_of(self.log_weight[:, None], ids)[..., 0].square()",
        FORMULAS,
    ),
    Mutation(
        "parts added (Wieting & Gimpel 2018)",
        "their mean",
        COMBINATION,
        "torch.stack([encoded[n] for n in added]).sum(0)",
        "torch.stack([encoded[n] for n in added]).mean(0)",
        FORMULAS,
    ),
    Mutation(
        "encoders start alike",
        "the target's overwrites the source's",
        "training/start.py",
        "tensors[sources.get(name, name)]",
        "tensors[name]",
        "tests/training/test_start.py",
    ),
    Mutation(
        "CSLS (Kim et al. 2019, eq. 16)",
        "the mean of one side alone",
        NEIGHBOURS,
        "2.0 * cosine - (mean_source + mean_target)",
        "2.0 * cosine - (mean_source + mean_source)",
        "tests/similarity/test_margins.py",
    ),
    Mutation(
        "the mean score of a link and two on either side",
        "one side alone",
        "mining/documents.py",
        "scores[max(0, place - _BESIDE) : place + _BESIDE + 1]",
        "scores[max(0, place - _BESIDE) : place + 1]",
        "tests/mining/test_documents.py",
    ),
    Mutation(
        "a classifier's score of exchanged sides",
        "the sides as they come",
        "scoring/model.py",
        "score(targets, sources)",
        "score(sources, targets)",
        "tests/commands/test_align.py",
    ),
    Mutation(
        "Euclidean distance (Kim et al. 2019, eq. 14)",
        "positive: far is better",
        VECTORS,
        "np.asarray(0.0 - np.sqrt(squares)",
        "np.asarray(0.0 + np.sqrt(squares)",
        "tests/similarity/test_vectors.py",
    ),
    Mutation(
        "cosine of joined encoders, the weighted mean of both",
        "the second has the weight of the first",
        JOINED,
        "self._encoders = ((first, 1 - weight), (second, weight))",
        "self._encoders = ((first, weight), (second, 1 - weight))",
        JOINING,
    ),
    Mutation(
        "cosine of joined encoders, the weighted mean of both",
        "the vectors are scaled by the weights themselves",
        JOINED,
        "some *= (weight**0.5 /",
        "some *= (weight /",
        JOINING,
    ),
    Mutation(
        "groups of given vectors: the mean of unit vectors",
        "longer vectors weigh more",
        "mining/documents.py",
        "Document(unit_rows(vectors), character_ends(sentences), settings.largest)",
        "Document(vectors, character_ends(sentences), settings.largest)",
        "tests/mining/test_documents.py",
    ),
    Mutation(
        "weights of a document's sentences",
        "sentences of many documents count as much",
        "mining/document_pairs.py",
        "np.sqrt(lengths / np.maximum(counts, 1))",
        "np.sqrt(lengths)",
        "tests/mining/test_document_vectors.py",
    ),
    Mutation(
        "match of two documents",
        "the mean cosines to unrelated text do not count",
        "mining/document_pairs.py",
        "    margins -= (own.means[rows, None].astype(np.float64) + other.means[places]) / 2\n",
        "",
        "tests/mining/test_document_pairs.py",
    ),
    Mutation(
        "match of two documents",
        "a part matches its nearest, though that has a nearer one",
        "mining/document_pairs.py",
        "mutual = values >= np.maximum.reduceat(margins, firsts, axis=1)[nearest, document]",
        "mutual = np.full(len(values), True)",
        "tests/mining/test_document_pairs.py",
    ),
    Mutation(
        "mean of a static model's vectors",
        "their sum",
        "encoders/foreign.py",
        "vectors /= np.maximum(ids.lengths, 1).astype",
        "vectors /= np.ones_like(ids.lengths).astype",
        "tests/encoders/test_foreign.py",
    ),
    Mutation(
        "overlap coefficient of n-grams of words",
        "n-grams with the same words in another order are the same",
        "corpus/other_texts.py",
        "filled[ahead:] * np.uint64(power)",
        "filled[ahead:]",
        "tests/corpus/test_shared_ngrams.py",
    ),
    Mutation(
        "overlap coefficient of n-grams of words",
        "the share of the larger set counts",
        "corpus/other_texts.py",
        "self.needed(np.minimum(*sizes))",
        "self.needed(np.maximum(*sizes))",
        "tests/corpus/test_shared_ngrams.py",
    ),
    Mutation(
        "prefix filtering (Chaudhuri et al. 2006)",
        "one n-gram too few is looked up",
        "corpus/other_texts.py",
        "rank <= (sizes",
        "rank < (sizes",
        "tests/corpus/test_shared_ngrams.py",
    ),
    Mutation(
        "texts that occur in other files",
        "by pair, one side is enough",
        "corpus/other_texts.py",
        "np.all(both, axis=0)",
        "np.any(both, axis=0)",
        "tests/corpus/test_other_texts.py",
    ),
    Mutation(
        "parts of a corpus by the hash of a group's least key",
        "the least key itself is taken, so large groups come first",
        "corpus/split.py",
        "hashes = _hashes(_least_of_groups(keys))",
        "hashes = _least_of_groups(keys) >> np.uint64(1)",
        "tests/corpus/test_split.py",
    ),
    Mutation(
        "parts of a corpus by the hash of a group's least key",
        "each part begins at 0",
        "corpus/split.py",
        "accumulate(part.share for part in settings.parts)",
        "(part.share for part in settings.parts)",
        "tests/corpus/test_split.py",
    ),
    Mutation(
        "words without a link, of both sides",
        "words of one side are counted twice",
        "mining/word_lexicon.py",
        "len({j for _, j in links})",
        "len({i for i, _ in links})",
        "tests/mining/test_word_lexicon.py",
    ),
    Mutation(
        "probabilities of a lexicon of words, of the target word first",
        "both directions change places in the file",
        "mining/word_lexicon.py",
        "(back, there)",
        "(there, back)",
        "tests/mining/test_word_lexicon.py",
    ),
    Mutation(
        "combiner of scores, the sigmoid of a weighted sum",
        "a missing score has no weight of its own",
        COMBINER,
        "np.where(missing, self.missing_weights, standard * np.array(self.weights))",
        "np.where(missing, 0.0, standard * np.array(self.weights))",
        COMBINING,
    ),
    Mutation(
        "combiner of scores, boosted trees",
        "a score at a threshold goes right",
        COMBINER,
        "values <= thresholds[at]",
        "values < thresholds[at]",
        COMBINING,
    ),
    Mutation(
        "isolation forest, how usual a row is",
        "a leaf with several rows counts as one with one",
        "training/combiner.py",
        "depths + _splits(tree.n_node_samples)",
        "depths",
        COMBINING,
    ),
    Mutation(
        "k-means, starts that are far from each other",
        "distances to the last start alone",
        "search/kmeans.py",
        "gaps = np.minimum(gaps, 1 - exact @ exact[chosen[-1]])",
        "gaps = 1 - exact @ exact[chosen[-1]]",
        "tests/search/test_kmeans.py",
    ),
    Mutation(
        "semantic duplicates",
        "compared with rows that are dropped, too",
        "search/kmeans.py",
        "np.flatnonzero(like[place, :place] & (mine[:place] == NO_ROW))",
        "np.flatnonzero(like[place, :place])",
        "tests/search/test_kmeans.py",
    ),
    Mutation(
        "diverse order, clusters in turn",
        "within a turn, rows are in random order",
        "corpus/diverse_sample.py",
        "np.lexsort((draw[order], -scores[order], turns))",
        "np.lexsort((draw[order], turns))",
        "tests/corpus/test_diverse_sample.py",
    ),
    Mutation(
        "error of turned rows (Cauchy-Schwarz; Higham 2002, section 3.1)",
        "the matrix is taken to do nothing but turn",
        "search/compiled.py",
        "1.01 * (apart + once * (2 + apart + once))",
        "1.01 * (once * (2 + once))",
        "tests/search/test_compiled.py",
    ),
    Mutation(
        "length ratio in letters",
        "nothing is added to the lengths",
        "filters/shape.py",
        "lengths = np.maximum(super().values(pairs), 0.5) + self.added",
        "lengths = np.maximum(super().values(pairs), 0.5)",
        "tests/filters/test_rules.py",
    ),
    Mutation(
        "length ratio in letters",
        "a Chinese character is worth two letters, as a kana",
        "filters/pairs.py",
        'found = found + self.counted(characters.in_script("Han"))',
        "found = found + 0",
        "tests/filters/test_rules.py",
    ),
    Mutation(
        "simple fractions",
        "upside down",
        "filters/numbers.py",
        "{numerator / denominator:.3f}",
        "{denominator / numerator:.3f}",
        "tests/filters/test_rules.py",
    ),
)
