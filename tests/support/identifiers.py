"""Language identifiers for tests."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bitextfilter.text import language
from bitextfilter.text.language import Identifier, load_identifier

SOME = {"cs", "de", "en", "fr", "ja", "nb", "nn", "ru"}


def identifier_of(name: str) -> Identifier:
    """An identifier; lingua knows some languages, since all take 15 seconds and 1 GB."""
    if name != "lingua":
        return load_identifier(name)
    lingua = pytest.importorskip("lingua")
    some = {each for each in lingua.Language.all() if each.iso_code_639_1.name.lower() in SOME}
    module = SimpleNamespace(
        Language=SimpleNamespace(all=lambda: some),
        LanguageDetectorBuilder=lingua.LanguageDetectorBuilder,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_module", lambda *_: module)
        return load_identifier(name)
