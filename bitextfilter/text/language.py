"""Language identification, and a check of two columns against a model's languages.

The check needs no identifier: the vocabulary holds the counts of each piece in each language.
The packages of identifiers are imported when one is made; their models come with them, or, for
fastText, as a file.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bitextfilter.arrays import Floats
from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError
from bitextfilter.text.identifier import labels_of

if TYPE_CHECKING:
    from bitextfilter.text.processor import TextProcessor
    from bitextfilter.text.vocabulary import Vocabulary

_FEWEST_WORDS = 4
_FEWEST_LETTERS = 20
"""A row is evidence if it has this number of words without a capital, or this number of letters
of a script without capitals. Names, numbers and codes are not."""
_MOST_ROWS = 500
_FEWEST_ROWS = 10
"""A decision needs this number of rows with evidence, ..."""
_FEWEST_PIECES = 1000
"""... this number of pieces of each language in the vocabulary, ..."""
_AGREEMENT = 0.8
"""... and this share of a column's rows for the same language."""
_MOSTLY = 0.6
"""... or this share, of a column in one of many languages, some of them close relatives."""
_FOREIGN = 1.8
"""Nats a character of a foreign column, as a multiple of a known language's entropy. Measured
with English and German: their own text, news to web pages, has at most 1.15; French 2.2 and up."""
_SMOOTHING = 0.5
_RARE = 0.01


@dataclass(frozen=True)
class _Evidence:
    """Unigram log probabilities ``(ids, 2)`` of two languages, and their entropies."""

    log_probabilities: Floats
    entropies: Floats
    """Nats a character of each language, ``(2,)``."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> _Evidence:
        """Estimate unigram probabilities from the counts, with additive smoothing."""
        from bitextfilter.text.vocabulary import RESERVED

        reserved = np.zeros((len(RESERVED), 2))
        counts = np.concatenate([reserved, vocabulary.counts]) + _SMOOTHING
        probabilities = counts / counts.sum(axis=0)
        logarithms = np.log(probabilities)
        lengths = np.array([0] * len(RESERVED) + [len(piece) for piece in vocabulary.pieces])
        return cls(logarithms, -(probabilities * logarithms).sum(0) / (lengths @ probabilities))


def check_columns(
    sources: Sequence[str], targets: Sequence[str], processor: TextProcessor
) -> str | None:
    """Return a one-line warning if two columns do not look like the model's languages.

    Reads the first few hundred rows. Returns None if all is well, or the evidence is too little:
    few rows, or rows of names and numbers.
    """
    if processor.vocabulary.counts.sum(axis=0).min() < _FEWEST_PIECES:
        return None
    evidence = _Evidence.of(processor.vocabulary)
    source, target = processor.languages
    first = _apparent_language(sources, 0, processor, evidence)
    second = _apparent_language(targets, 1, processor, evidence)
    if source != target and (first, second) == (target, source):
        return (
            f"the columns look swapped: the source column looks like {first},"
            f" the target column like {second}"
        )
    wrong = [
        f"the {name} column looks like {verdict}, not {language}"
        for name, verdict, language in (("source", first, source), ("target", second, target))
        if verdict not in (None, language)
    ]
    return "; ".join(wrong) or None


def told_languages(
    sources: Sequence[str], targets: Sequence[str], processor: TextProcessor
) -> tuple[str, str] | None:
    """Return the languages of two columns, among all that a processor of many was learnt from.

    Each is the one under whose counts of pieces the column's rows are likeliest (Cavnar & Trenkle
    1994 compare such counts by rank). None where the evidence is too little: few rows, rows of
    names and numbers, rows that lean to several languages, or to one on both sides.
    """
    counts = processor.vocabulary.counts + _SMOOTHING
    reserved = np.zeros((len(processor.vocabulary) - len(counts), counts.shape[1]))
    logarithms = np.concatenate([reserved, np.log(counts / counts.sum(axis=0))])
    found = []
    for column in (sources, targets):
        rows = list(islice(filter(_is_evidence, column), _MOST_ROWS))
        if len(rows) < _FEWEST_ROWS:
            return None
        ids = processor.ids(rows, processor.known[0])
        scores = np.array([logarithms[row].sum(axis=0) for row in ids])
        likeliest = int(scores.sum(axis=0).argmax())
        if np.mean(scores.argmax(axis=1) == likeliest) < _MOSTLY:
            return None
        found.append(processor.known[likeliest])
    source, target = found
    return None if source == target else (source, target)


def main_language(column: Sequence[str]) -> str | None:
    """Return the language of most rows of a column, as the shipped identifier calls it.

    None where it is unsure, or the evidence is too little, as for :func:`check_columns`.
    """
    from bitextfilter.text.identifier import load_ngram_identifier

    rows = list(islice(filter(_is_evidence, column), _MOST_ROWS))
    if len(rows) < _FEWEST_ROWS:
        return None
    identifier = load_ngram_identifier()
    found = identifier.probabilities(identifier.evidence(rows)).argmax(axis=1)
    likeliest = int(np.bincount(found).argmax())
    return identifier.languages[likeliest] if np.mean(found == likeliest) >= _AGREEMENT else None


_BEYOND_ARABIC = re.compile("[\u0671-\u06d3]")
"""Letters that other languages add to those of Arabic."""


def agreed_language(sentence: str) -> str | None:
    """Return the language that the shipped identifier and py3langid both call a sentence.

    None where they differ, and for Chinese, whose characters other languages once had. On text
    that neither was taught they differ: of the Declaration in 23 such languages and scripts (Tatar,
    Uzbek in Cyrillic), they agree on 2 of 1,363 paragraphs; in 10 languages that both know, on 594
    of 596.
    """
    from bitextfilter.text.identifier import load_ngram_identifier

    first, second = load_ngram_identifier(), load_identifier("py3langid")
    found = first.probabilities(first.evidence([sentence]))[0]
    language = first.languages[int(found.argmax())]
    if found.max() < _SURE or language == "zh" or second.likeliest(sentence) != language:
        return None
    return None if language == "ar" and _BEYOND_ARABIC.search(sentence) else language


def _apparent_language(
    column: Sequence[str], side: int, processor: TextProcessor, evidence: _Evidence
) -> str | None:
    """Return the apparent language of *column*, of the model or in words; None if unsure."""
    rows = list(islice(filter(_is_evidence, column), _MOST_ROWS))
    if len(rows) < _FEWEST_ROWS:
        return None
    if (strange := _strange_script(rows, processor.vocabulary)) is not None:
        return f"{strange} script"
    ids = processor.ids(rows, processor.languages[side])
    scores = np.array([evidence.log_probabilities[row].sum(axis=0) for row in ids])
    characters = sum(map(len, processor.normalise(rows, processor.languages[side])))
    if (-scores.sum(axis=0) / characters > _FOREIGN * evidence.entropies).all():
        return "another language"
    leaning = float(np.mean(scores[:, 0] > scores[:, 1]))
    if max(leaning, 1 - leaning) < _AGREEMENT:
        return None
    return processor.languages[0 if leaning > 0.5 else 1]


def _is_evidence(sentence: str) -> bool:
    words = (word.strip(string.punctuation) for word in sentence.split())
    plain = sum(word.isalpha() and not word[0].isupper() for word in words)
    caseless = sum(c.isalpha() and not (c.islower() or c.isupper()) for c in sentence)
    return plain >= _FEWEST_WORDS or caseless >= _FEWEST_LETTERS


def _strange_script(rows: Iterable[str], vocabulary: Vocabulary) -> str | None:
    """Return the main script of *rows* if neither language uses the scripts of half the text."""
    counts = _scripts((row, 1) for row in rows)
    totals = vocabulary.counts.sum(axis=1).tolist()
    known = _scripts(zip(vocabulary.pieces, totals, strict=True))
    strange = Counter({s: n for s, n in counts.items() if known[s] < _RARE * known.total()})
    return strange.most_common(1)[0][0] if 2 * strange.total() > counts.total() else None


def _scripts(weighted: Iterable[tuple[str, int]]) -> Counter[str]:
    """Count the letters of weighted texts by script."""
    counts: Counter[str] = Counter()
    for text, weight in weighted:
        for character in filter(str.isalpha, text):
            counts[_script(character)] += weight
    return counts


@functools.lru_cache(1 << 14)
def _script(letter: str) -> str:
    """Return the first word of the letter's Unicode name: nearly always its script."""
    return unicodedata.name(letter, "unknown").partition(" ")[0].title()


class Identifier(NamedTuple):
    """An estimator of the probability of a language."""

    minimum: float
    """A lower probability means another language, as measured on clean text."""
    knows: Callable[[str], bool]
    """Tells whether a language, in any spelling, is known; of a fastText model, or a label."""
    probabilities: Callable[[Sequence[str], str], Floats]
    """Returns how probable it is that ``n`` sentences are in a language, 0 to 1, ``(n,)``; for too
    little text at least ``minimum``. That of a sentence depends on it alone."""
    likeliest: Callable[[str], str]
    """Returns the label of the language that a sentence looks like most, for messages; ``un``: of
    none."""


def _one_by_one(probability: Callable[[str, str], float]) -> Callable[[Sequence[str], str], Floats]:
    """Return the function for many sentences of one for a single sentence."""

    def probabilities(sentences: Sequence[str], language: str) -> Floats:
        each = (probability(sentence, language) for sentence in sentences)
        return np.fromiter(each, np.float64, len(sentences))

    return probabilities


_SURE = 0.5
"""A language at least so probable needs no second opinion."""
_LONG, _MANY_NGRAMS = 5, 180
"""Long texts, of some 45 letters, tell more: so much more probable must their language be."""


def _ngrams() -> Identifier:
    """The n-grams of words; where they are not sure, and for languages that they lack, py3langid.

    That is the geometric mean of both probabilities. The bounds are chosen on talks in 20 languages
    and on short texts of software (docs/notes/filtering.md).
    """
    from bitextfilter.text.identifier import TextReader, load_ngram_identifier

    first, second, minimum = load_ngram_identifier(), load_identifier("py3langid"), 0.002
    reader = TextReader(first)

    def probabilities(sentences: Sequence[str], language: str) -> Floats:
        place = first.place(language)
        if place is None:  # the same bound serves
            return np.minimum(
                1, second.probabilities(sentences, language) * minimum / second.minimum
            )
        evidence = reader.evidence(sentences)
        found: Floats = first.probabilities(evidence)[:, place]
        unsure = np.flatnonzero((found >= minimum) & (found < _SURE))
        if len(unsure) and second.knows(language):
            doubtful = [sentences[at] for at in unsure.tolist()]
            found[unsure] = np.sqrt(found[unsure] * second.probabilities(doubtful, language))
        found[(found < _LONG * minimum) & (evidence[:, -1] >= _MANY_NGRAMS)] /= _LONG
        if first.languages[place] == "ja":
            failed = np.flatnonzero(found < minimum)
            found[[at for at in failed.tolist() if _may_be_japanese(sentences[at])]] = minimum
        return found

    def knows(language: str) -> bool:
        return first.place(language) is not None or second.knows(language)

    def likeliest(sentence: str) -> str:
        found = first.probabilities(reader.evidence([sentence]))[0]
        sure = found.max() >= _SURE
        return first.languages[int(found.argmax())] if sure else second.likeliest(sentence)

    return Identifier(minimum, knows, probabilities, likeliest)


_FEW_CHARACTERS = 30
_CHINESE, _MOSTLY_CHINESE = (
    frozenset("這們嗎麼你妳她很沒吧呢說給還啊咱哪"),
    frozenset("的是了我他也都就"),
)
"""Characters of words of Chinese grammar, which Japanese writes in kana; and those that it has in
other words, where two tell."""


def _may_be_japanese(sentence: str) -> bool:
    """Whether a few words are in Chinese characters, as names and headlines in Japanese are.

    They have a code in Shift JIS, which simplified ones lack.
    """
    signs = {*sentence}
    if sum(map(str.isalpha, sentence)) > _FEW_CHARACTERS or not _looks_chinese(sentence):
        return False
    if signs & _CHINESE or len(signs & _MOSTLY_CHINESE) > 1:
        return False
    return all(sign.encode("shift_jis", "ignore") for sign in signs if sign.isalpha())


_COUNTING = 1e-20
"""Parts of a sum of 1 or more that do not count are smaller."""


def _langid() -> Identifier:
    """py3langid (Lui & Baldwin 2012): the posterior of naive Bayes over byte n-grams.

    The priors are equal. Text in Chinese characters without kana is Chinese, if that is asked for.
    The model is loaded when it is first asked.
    """
    module = _module("py3langid.langid", "py3langid")

    loaded, lock = list[Any](), Lock()

    def model() -> Any:
        with lock:  # threads that ask at once load one
            if not loaded:
                loaded.append(module.LanguageIdentifier.from_model_file(module.MODEL_FILE))
        return loaded[0]

    @functools.cache
    def own(language: str) -> list[str]:
        return labels_of(language, model().labels)

    def probability(sentence: str, language: str) -> float:
        if "zh" in own(language) and _looks_chinese(sentence):
            return 1.0
        ranked = model().rank(sentence)
        (_, best), scores = ranked[0], dict(ranked)
        powers = (math.exp(score - best) for _, score in ranked)  # descending
        whole = sum(takewhile(_COUNTING.__lt__, powers))
        return sum(math.exp(scores[label] - best) for label in own(language)) / whole

    def likeliest(sentence: str) -> str:
        return str(model().rank(sentence)[0][0])

    knows = lambda language: bool(own(language))  # noqa: E731
    return Identifier(1e-4, knows, _one_by_one(probability), likeliest)


def _cld2() -> Identifier:
    """CLD2: the share of the text in the language, given it as a hint; 1 if CLD2 is not sure."""
    library = _module("pycld2", "pycld2")

    @functools.cache
    def own(language: str) -> list[str]:
        return labels_of(language, (code for _, code in library.LANGUAGES))

    def probability(sentence: str, language: str) -> float:
        try:
            reliable, _, details = library.detect(
                sentence, isPlainText=True, bestEffort=True, hintLanguage=own(language)[0]
            )
        except library.error:
            return 1.0
        if not reliable or details[0][1] == "un":
            return 1.0
        return float(sum(share for _, code, share, _ in details if code in own(language)) / 100)

    def likeliest(sentence: str) -> str:
        with suppress(library.error):
            return str(library.detect(sentence, isPlainText=True, bestEffort=True)[2][0][1])
        return "un"

    knows = lambda language: bool(own(language))  # noqa: E731
    return Identifier(0.01, knows, _one_by_one(probability), likeliest)


def _looks_chinese(sentence: str) -> bool:
    """Whether most letters are Chinese characters, and none is a kana."""
    scripts = _scripts([(sentence, 1)])
    kana = scripts["Hiragana"] + scripts["Katakana"]
    return not kana and 2 * scripts["Cjk"] > scripts.total()


_PART = re.compile(r"\S{1000}")


def _lingua() -> Identifier:
    """Lingua: its confidence among all its languages (slow, good at short text)."""
    library = _module("lingua", "lingua-language-detector")
    languages = {each.iso_code_639_1.name.lower(): each for each in library.Language.all()}
    detector = library.LanguageDetectorBuilder.from_languages(*languages.values()).build()

    @functools.cache
    def own(language: str) -> list[str]:
        return labels_of(language, languages)

    def probability(sentence: str, language: str) -> float:
        # Of a word, the time grows as the square of its length.
        found = detector.compute_language_confidence_values(_PART.sub(r"\g<0> ", sentence))
        values = {value.language: value.value for value in found}
        ours = sum(values[languages[code]] for code in own(language))
        return float(ours) if any(values.values()) else 1.0

    def likeliest(sentence: str) -> str:
        found = detector.compute_language_confidence_values(_PART.sub(r"\g<0> ", sentence))
        return str(found[0].language.iso_code_639_1.name.lower())

    knows = lambda language: bool(own(language))  # noqa: E731
    return Identifier(0.01, knows, _one_by_one(probability), likeliest)


def _fasttext(path: str) -> Identifier:
    """A fastText model given as a file: the probability of the language's labels.

    A language may be a label. Raises NotFoundError, and ModelError for another file.
    """
    if not Path(path).is_file():
        raise NotFoundError(f"{path}: no such file")
    library, prefix = _module("fasttext", "fasttext-numpy2"), "__label__"
    try:
        model = library.load_model(path)
        labels = [label.removeprefix(prefix) for label in model.get_labels()]
    except ValueError as error:
        raise ModelError(f"{path}: not a fastText model: {error}") from error

    @functools.cache
    def own(language: str) -> list[str]:
        return [prefix + label for label in labels_of(language, labels)]

    def probability(sentence: str, language: str) -> float:
        words = sentence.split()
        if not words:
            return 1.0
        found, values = model.predict(" ".join(words), k=-1)
        probabilities: dict[str, float] = dict(zip(found, map(float, values), strict=True))
        return min(1.0, sum(probabilities.get(label, 0.0) for label in own(language)))

    def likeliest(sentence: str) -> str:
        words = sentence.split()
        return str(model.predict(" ".join(words))[0][0]).removeprefix(prefix) if words else "un"

    knows = lambda language: bool(own(language))  # noqa: E731
    return Identifier(0.01, knows, _one_by_one(probability), likeliest)


IDENTIFIERS: dict[str, Callable[[], Identifier]] = {
    "ngrams": _ngrams,
    "py3langid": _langid,
    "cld2": _cld2,
    "lingua": _lingua,
}
"""Identifiers with models of their own; any other name is the path of a fastText model."""


@functools.cache
def load_identifier(name: str) -> Identifier:
    """Return the identifier called *name*, or the fastText model at that path.

    Raises DeviceError if its package is not installed, NotFoundError and ModelError for a
    fastText model, SettingsError for other names.
    """
    if name in IDENTIFIERS:
        return IDENTIFIERS[name]()
    if "/" not in name and not name.endswith((".bin", ".ftz")) and not Path(name).exists():
        known = ", ".join(IDENTIFIERS)
        raise SettingsError(f"{name!r} is none of {known}, nor a fastText model (.bin, .ftz)")
    return _fasttext(name)


def _module(name: str, package: str) -> Any:
    """Import a module of an optional *package*."""
    try:
        module: ModuleType = importlib.import_module(name)
    except ImportError as error:
        raise DeviceError(f"{package} is not installed: pip install {package}") from error
    return module
