"""The hardest negatives that a trained encoder finds among M mini-batches: MODEL PAIRS [M...].

Table 7 of Wieting & Gimpel 2018. MODEL is a folder of bitext-train-encoder, PAIRS a TSV of the
pairs that it was trained on; M is 1, 20 and 40 unless given. Mini-batches are drawn and searched
as in the first pass of the training, except that long pairs are not left out. Prints a Markdown
table with a row for each of the first pairs of the first mini-batch.
"""

import sys
from itertools import islice
from pathlib import Path

import numpy as np

from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.settings import read_settings
from bitextfilter.text.ragged import TRIGRAMS, Ragged
from bitextfilter.training.data import Corpus, PairFile, Sentences, read_pairs
from bitextfilter.training.encoder_learner import BilingualLearner, mega_negatives
from bitextfilter.training.settings import TrainingSettings

SHOWN = 5

folder, pairs = Path(sys.argv[1]), sys.argv[2]
megas = [int(word) for word in sys.argv[3:]] or [1, 20, 40]
settings = TrainingSettings(**read_settings(folder / "training.json")["training"])
encoder = ENCODERS.load(folder)
texts = read_pairs([PairFile(pairs)])

sides = []
for sentences, language in zip(texts[:2], encoder.processor.languages, strict=True):
    trigrams = encoder.processor.trigrams and Ragged.of(
        encoder.processor.ids(sentences, language, TRIGRAMS)
    )
    sides.append(Sentences(encoder.processor.ids(sentences, language), trigrams))
corpus = Corpus(*sides, np.ones(len(texts.sources)))

one_language = len(set(encoder.processor.languages)) == 1
learner = BilingualLearner(encoder.network, "lstm", np.zeros(0, np.int64), settings, one_language)
batches = list(islice(corpus.batches(settings.batch_size, settings.seed, 0), max(megas)))
found = [mega_negatives(learner, corpus, batches[:mega])[0][0] for mega in megas]
negatives = texts[learner.negative_sides[0]]

print("| sentence | its paraphrase |", " | ".join(f"M = {mega}" for mega in megas), "|")
print("|---" * (2 + len(megas)) + "|")
for place, row in enumerate(batches[0][:SHOWN]):
    cells = [texts.sources[row], texts.targets[row]]
    cells += [negatives[some[place]] if some[place] >= 0 else "-" for some in found]
    print("|", " | ".join(cell.replace("|", r"\|") for cell in cells), "|")
