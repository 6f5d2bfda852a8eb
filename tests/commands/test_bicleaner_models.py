from __future__ import annotations

from pathlib import Path

import pytest

from bitextfilter.commands.bicleaner import choose_model
from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.models.folders import shipped_models


def pack(folder: Path, *lines: str) -> str:
    path = folder / "metadata.yaml"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        (("source_lang: en", "target_lang: de"), ("en-de", ("en", "de"), False)),
        (("target_lang:  'de'  # German", 'source_lang: "en"'), ("en-de", ("en", "de"), False)),
        (("source_lang: de", "target_lang: en"), ("en-de", ("de", "en"), True)),
        (("source_lang: cs", "target_lang: pl"), ("multi:cs,pl", ("cs", "pl"), False)),
        (
            ("source_lang: de", "target_lang: en", "model: en-de-autoencoder"),
            ("en-de-autoencoder", ("de", "en"), True),
        ),
        (
            ("source_lang: fr", "target_lang: en", "model: multi"),
            ("multi:fr,en", ("fr", "en"), False),
        ),
        (
            ("type: x", "source_lang: en", "calibration:", " target_lang: x", "target_lang: fr"),
            ("en-fr", ("en", "fr"), False),
        ),
    ],
)
def test_a_pack_chooses_a_model(tmp_path: Path, lines: tuple[str, ...], chosen: object) -> None:
    assert choose_model(pack(tmp_path, *lines)) == chosen


def test_a_folder_beside_the_pack_is_its_model(tmp_path: Path) -> None:
    (tmp_path / "own").symlink_to(shipped_models()["en-de"])
    chosen = choose_model(pack(tmp_path, "source_lang: en", "target_lang: de", "model: own"))
    assert chosen == (str(tmp_path / "own"), ("en", "de"), False)


def test_languages_given_override_the_pack(tmp_path: Path) -> None:
    many = pack(tmp_path, "source_lang: en", "target_lang: xx")
    assert choose_model(many, target="fr") == ("en-fr", ("en", "fr"), False)
    assert choose_model(many, source="de", target="fr") == ("de-fr", ("de", "fr"), False)
    with pytest.raises(SettingsError, match="does not name target_lang; give --target_lang"):
        choose_model(many)


def test_models_by_name() -> None:
    assert choose_model("en-de") == ("en-de", ("en", "de"), False)
    assert choose_model("en-de", "de", "en") == ("en-de", ("de", "en"), True)
    assert choose_model("multi:cs,pl") == ("multi:cs,pl", ("cs", "pl"), False)
    assert choose_model("multi", "cs", "pl") == ("multi:cs,pl", ("cs", "pl"), False)
    with pytest.raises(SettingsError, match="model of many languages"):
        choose_model("multi")
    with pytest.raises(SettingsError, match="en-de is for en and de, not for en and fr"):
        choose_model("en-de", "en", "fr")
    with pytest.raises(NotFoundError, match="bitextor/x: neither a folder"):
        choose_model("bitextor/x")
    with pytest.raises(NotFoundError, match=r"no/metadata\.yaml: no such file"):
        choose_model("no/metadata.yaml")
