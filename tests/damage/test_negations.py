"""Negations that are taken out, language by language."""

from __future__ import annotations

import random

import pytest

from bitextfilter.damage.noise import REMOVABLE_NEGATIONS, without_a_negation

CASES = [
    ("cs", "To není pravda.", "To je pravda."),
    ("cs", "Nebyla doma a my nemůžeme čekat.", "Byla doma a my nemůžeme čekat."),
    ("cs", "Nebe je nemocné.", None),
    ("da", "Det er ikke sandt.", "Det er sandt."),
    ("de", "Das weiß ich nicht.", "Das weiß ich."),
    ("de", "Keine Angst", "Angst"),
    ("de", "Er ist kein Nichtraucher und keinem bekannt", "Er ist Nichtraucher und keinem bekannt"),
    ("de", "Niemand nickte, nichtig.", None),
    ("en", "It is not, I say, here.", "It is, I say, here."),
    ("en", "Not all of it", "All of it"),
    ("en", "We can't go.", "We can go."),
    ("en", "We cannot go.", "We can go."),
    ("en", "I won’t go.", "I will go."),
    ("en", "Shan't!", "Shall!"),
    ("en", "She doesn't know", "She does know"),
    ("en", "There is no time.", "There is time."),
    ("en", "No, thanks: No. 5, a nothing knot, do-not-call", None),
    ("es", "No es verdad.", "Es verdad."),
    ("es", "No, gracias.", None),
    ("fr", "Ce n'est pas vrai.", "Ce est vrai."),
    ("fr", "Ne pas ouvrir !", "Ouvrir !"),
    ("fr", "Il ne le sait plus.", "Il le sait."),
    ("fr", "Pas encore, un pas de plus.", None),
    ("it", "Non lo so.", "Lo so."),
    ("nb", "Jeg vet aldri.", "Jeg vet."),
    ("nl", "Er is geen tijd.", "Er is tijd."),
    ("pl", "Nie wiem.", "Wiem."),
    ("pl", "Nie!", None),
    ("pt", "Eu não sei.", "Eu sei."),
    ("ru", "Я не знаю, что небо.", "Я знаю, что небо."),
    ("sv", "Jag vet inte.", "Jag vet."),
    ("uk", "Я не знаю.", "Я знаю."),
    ("xx", "not nicht", None),
]


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_negations(language: str, text: str, expected: str | None) -> None:
    results = {without_a_negation(text, language, random.Random(seed)) for seed in range(30)}
    assert expected in results
    assert (results == {None}) == (expected is None)


def test_every_language_is_tested() -> None:
    assert {language for language, _, expected in CASES if expected} == set(REMOVABLE_NEGATIONS)


def test_each_negation_may_go() -> None:
    text = "not here and not there"
    results = {without_a_negation(text, "en", random.Random(seed)) for seed in range(30)}
    assert results == {"here and not there", "not here and there"}
