"""The model for two languages: a shipped one of these two, or of many."""

from __future__ import annotations

from bitextfilter.errors import SettingsError
from bitextfilter.languages import find_language
from bitextfilter.models.folders import read_config, shipped_models, unverified

MANY = "multi"
"""The shipped model of many languages, by whose text processing columns are told apart, too."""


def model_of(languages: tuple[str, str]) -> str:
    """Return the name of the shipped model for two languages, as ``scoring.model.load`` takes it.

    It is the fast one of these two, in either order, or else ``MANY``. Raises SettingsError where
    none knows both.
    """
    with unverified():  # the model that is taken is verified when it is loaded
        known = {name: read_config(own)["languages"] for name, own in shipped_models().items()}
    for name, own in sorted(known.items(), key=lambda item: (len(item[1]), len(item[0]))):
        if all(find_language(language, own) for language in languages):
            return f"{name}:{','.join(languages)}"
    missing = [language for language in languages if not find_language(language, known[MANY])]
    raise SettingsError(
        f"no shipped model knows {' and '.join(missing)}: --model names another, and"
        f" bitext-train makes one; {MANY} knows {', '.join(known[MANY])}"
    )
