"""Model folders: found by name or path, configured, digested, and replaced as a whole.

This module does not import torch.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bitextfilter.errors import ModelError, NotFoundError, OutputError, SettingsError
from bitextfilter.io.drafts import draft, put
from bitextfilter.io.files import check_is_here, naming_output
from bitextfilter.io.records import (
    DIGESTS,
    MISSING,
    NEW,
    changed_files,
    file_digest,
    file_of,
    folder_files,
    json_bytes,
    parse_json,
    paths_within,
    write_digests,
)
from bitextfilter.languages import own_language
from bitextfilter.models.foreign import INSIDE, LANGUAGES, PACKAGED, foreign_config
from bitextfilter.settings import nearest

CONFIG = "config.json"
"""The file that makes a folder a model."""

FORMAT = 3
"""Newest version of the layout: 3 with more than two languages, 2 with a second encoder, else 1.
Newer ones are refused."""

CARD = "card.md"
"""Training data and recipe of a model, its purpose and its quality."""

ATTRIBUTION = "attribution.md"
"""Owners and licences of the training data."""

THRESHOLDS = "thresholds.json"
"""Recommended thresholds of its scores: see ``scoring/thresholds.py``."""

CALIBRATION = "calibration.json"
"""Probabilities by its scores: see ``scoring/calibration.py``."""

CUTS = LENIENT, BALANCED, STRICT = "lenient", "balanced", "strict"
"""Names of cuts of scores. Probabilities have all three: 95 % of the right rows kept, a probability
of one half, 5 % of the wrong rows passed. Other measures have the balanced one: the highest F1."""

SECOND = "second"
"""The folder of a second encoder within a model's, and the section of the configuration with its
weight: see ``encoders/protocol.py``."""

GRADES = "grades.json"
"""How well the model knows each of its languages: see ``scoring/thresholds.py``."""

_PAGES = (CARD, ATTRIBUTION)
"""Files for people, who may edit them."""

_UNDIGESTED = (*_PAGES, THRESHOLDS, GRADES)
"""Files that no score depends on."""

NO_VERIFY = "BITEXTFILTER_NO_VERIFY"
"""The variable of the environment that, at 1, leaves the digests of models unchecked."""

MAKERS = {
    "encoder": "bitext-train-encoder",
    "translator": "bitext-train-translator",
    "reference_classifier": "bitext-paraphrase train",
}
"""Kinds of models, each named as its section of the configuration → the command that makes one."""

PRETRAINED = Path(__file__).parents[1] / "pretrained"


def shipped_models() -> dict[str, Path]:
    """Return the models that come with the package, by name."""
    folders = sorted(PRETRAINED.iterdir()) if PRETRAINED.is_dir() else []
    return {folder.name: folder for folder in folders if (folder / CONFIG).is_file()}


def packaged_models() -> dict[str, Path]:
    """Return the models of other packages that are optional (``models/foreign.py``), by name."""
    folders = (PRETRAINED / "packages" / name for name in PACKAGED)
    return {folder.name: folder for folder in folders if (folder / CONFIG).is_file()}


_PAIR = r"[A-Za-z][\w-]+,[A-Za-z][\w-]+"
_OF_PAIR = re.compile(rf"(.+):({_PAIR})", re.DOTALL)
_SHORTER = re.compile(rf"(.+)@([1-9][0-9]{{0,5}})(:{_PAIR})?", re.DOTALL)


@dataclass(frozen=True)
class ModelName:
    """A model as users name it: the name or folder, numbers, languages, as ``multi@128:cs,pl``."""

    base: str
    """Name of a shipped model, or a folder."""
    width: int | None
    """The numbers of its vectors; None: all."""
    languages: tuple[str, str] | None
    """Of the columns, spelt as there: see :func:`bitextfilter.languages.find_language`."""

    @classmethod
    def parse(cls, name_or_folder: str | Path) -> ModelName:
        """Cut a name into its parts; the name of a folder that exists is not cut."""
        name, width = str(name_or_folder), None
        found = _SHORTER.fullmatch(name)
        if found and not any(Path(each).is_dir() for each in (name, f"{found[1]}@{found[2]}")):
            name, width = found[1] + (found[3] or ""), int(found[2])
        of_pair = _OF_PAIR.fullmatch(name)
        if of_pair is None or Path(name).is_dir():
            return cls(name, width, None)
        source, target = of_pair[2].split(",")
        return cls(of_pair[1], width, (source, target))

    @cached_property
    def folder(self) -> Path:
        """The folder of a shipped model, or the given one. Raises NotFoundError."""
        return _found(self.base)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration of the model. Raises the errors of :func:`read_config`, too."""
        return read_config(self.folder)

    def pair(self) -> tuple[str, str] | None:
        """Return the two languages of the model, or those named; None if it has more.

        Raises the errors of :attr:`config`; SettingsError for named languages it lacks.
        """
        languages = self.config.get("languages")
        if languages == [] and is_foreign(self.folder):
            if self.languages is None:
                raise SettingsError(
                    f"{self.folder} does not say which languages it is for: --languages en,de does,"
                    f' or {{"languages": ["en", "de"]}} in its {LANGUAGES}'
                )
            return self.languages
        if not isinstance(languages, list) or len(languages) < 2:
            raise ModelError(f"{self.folder}: config.json does not name its languages")
        if self.languages is not None:
            source, target = (own_language(each, languages) for each in self.languages)
            return source, target
        source, target, *others = languages
        return None if others else (source, target)

    def pair_of_more(self) -> tuple[str, str] | None:
        """Return the named two languages of a model of more; None for others.

        Raises the errors of :meth:`pair`.
        """
        two = len(self.config["languages"]) == 2
        return None if two or self.languages is None else self.pair()


def find_model(name_or_folder: str | Path) -> Path:
    """Return the folder of a shipped model, or the given folder.

    The name may end with two languages; numbers are none of it. Raises NotFoundError.
    """
    name = str(name_or_folder)
    found = None if Path(name).is_dir() else _OF_PAIR.fullmatch(name)
    return _found(found[1] if found else name)


def _found(name: str) -> Path:
    known = shipped_models() | packaged_models()
    if name in known:
        return known[name]
    if (folder := Path(name)).is_dir():
        return folder
    names = ", ".join(known) or "none"
    source, _, target = name.partition("-")
    if (other := f"{target}-{source}") in known:
        near = f"; did you mean {other}:{source},{target}?"
    else:
        near = nearest(name, known)
    message = f"{name}: neither a folder nor a shipped model (they are: {names}){near}"
    raise NotFoundError(message)


@contextmanager
def unverified() -> Iterator[None]:
    """Leave the digests of models unchecked, here and in processes that start meanwhile."""
    before = os.environ.get(NO_VERIFY)
    os.environ[NO_VERIFY] = "1"
    try:
        yield
    finally:
        del os.environ[NO_VERIFY]
        if before is not None:
            os.environ[NO_VERIFY] = before


def check_folder(folder: Path, pages: bool = False) -> None:
    """Check each file of a model folder by its digest, unless the environment has ``NO_VERIFY``.

    Folders of older versions have no digests. Files are read once for as long as they are the
    same. *pages*: card and attribution, too.

    Raises:
        NotFoundError: a file is missing, or a folder cannot be listed.
        ModelError: a file is damaged or new, or a link that leads out of the folder.
    """
    home = folder.resolve()
    for path in paths_within(folder):
        if path.is_symlink() and not path.resolve().is_relative_to(home):
            raise ModelError(f"{path}: a link that leads out of the model; cp -rL copies its file")
        if not (path.is_file() or path.is_dir()):
            raise ModelError(f"{path}: neither a file nor a folder")
    if os.environ.get(NO_VERIFY) == "1":
        return
    for name, fault in changed_files(folder):
        if name in _PAGES and (fault == NEW or not pages):
            continue
        if fault == MISSING:
            theirs = file_of(folder, name)
            shared = f"; it is that of {theirs.parent}" if theirs != folder / name else ""
            raise NotFoundError(f"{folder / name}: missing from the model folder{shared}")
        raise ModelError(f"{folder / name}: {fault}; {NO_VERIFY}=1 reads it all the same")


def read_config(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` of a model folder, after :func:`check_folder`.

    That of a foreign encoder (``models/foreign.py``) is made of its files.

    Raises:
        NotFoundError: the folder or one of its files is missing.
        ModelError: a file is damaged, or of a newer format than this version reads.
    """
    path = folder / CONFIG
    try:
        foreign = None if _is_ours(folder) else foreign_config(folder)
        if foreign is None and not path.exists():
            raise FileNotFoundError
        check_folder(folder)
        if foreign is not None:
            return foreign
        config = parse_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(
            f"{folder}: no model here (a model is a folder with {CONFIG})"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: unreadable configuration: {error}") from error
    version = config.get("format") if isinstance(config, dict) else None
    if not isinstance(version, int):
        raise ModelError(f"{path}: not a model configuration (no format version)")
    if version > FORMAT:
        raise ModelError(
            f"{path}: format {version} is newer than {FORMAT}, the newest this version reads;"
            " update bitextfilter"
        )
    return dict(config)


def _is_ours(folder: Path) -> bool:
    """Whether the configuration of a folder, if it has one, is of this package."""
    try:
        config = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and "format" in config


def is_foreign(folder: Path) -> bool:
    """Whether a folder is of another library as it is. Raises ModelError for damaged JSON."""
    return not _is_ours(folder) and foreign_config(folder) is not None


def languages_of(name_or_folder: str | Path) -> tuple[str, str] | None:
    """Return :meth:`ModelName.pair` of a name."""
    return ModelName.parse(name_or_folder).pair()


def all_languages_of(name_or_folder: str | Path) -> tuple[str, ...]:
    """Return all languages of a model; none for one of another library that names none.

    Raises the errors of :func:`find_model` and :func:`read_config`.
    """
    return tuple(ModelName.parse(name_or_folder).config.get("languages", ()))


def pair_of_more(name_or_folder: str | Path) -> tuple[str, str] | None:
    """Return :meth:`ModelName.pair_of_more` of a name."""
    return ModelName.parse(name_or_folder).pair_of_more()


def naming_pair(name_or_folder: str | Path, languages: tuple[str, str] | None = None) -> str:
    """Return the name of a model, with two languages at its end if it has more and names none.

    *languages*: None for the model's first two. Raises the errors of :func:`languages_of`.
    """
    name = ModelName.parse(name_or_folder)
    if languages and name.languages is None and len(name.config["languages"]) != 2:
        return f"{name_or_folder}:{','.join(languages)}"
    if name.pair() is not None:
        return str(name_or_folder)
    first, second, *_ = name.config["languages"]
    return f"{name_or_folder}:{','.join(languages or (first, second))}"


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``config.json``, with the format version."""
    version = 3 if len(config.get("languages", ())) > 2 else 2 if SECOND in config else 1
    values = {"format": version, **config} | {"format": version}
    (folder / CONFIG).write_bytes(json_bytes(values, indent=2))


def kind_of(config: Mapping[str, Any]) -> str | None:
    """Return which of ``MAKERS`` a model is by its configuration; None for none."""
    return next((kind for kind in MAKERS if kind in config), None)


def named_digest(name_or_folder: str | Path) -> str:
    """Return :func:`model_digest` with the numbers and languages that the name has.

    Raises NotFoundError as :func:`find_model`.
    """
    name = ModelName.parse(name_or_folder)
    digest, pair = model_digest(name.folder), name.pair() if name.languages else None
    return (
        digest + (f"@{name.width}" if name.width else "") + (f":{','.join(pair)}" if pair else "")
    )


def model_digest(folder: Path) -> str:
    """Return the first twelve digits of :func:`full_model_digest`, which identify a model."""
    return full_model_digest(folder)[:12]


def full_model_digest(folder: Path) -> str:
    """Return the SHA-256, in hexadecimal digits, of the files that scores depend on."""
    total = hashlib.sha256()
    for name, path in folder_files(folder).items():
        if name not in _UNDIGESTED:
            total.update(f"{name}\0{file_digest(path)}\n".encode())
    return total.hexdigest()


def file_sizes(folder: Path) -> dict[str, int]:
    """Return the files of a model folder by name, with their sizes in bytes."""
    return {name: path.stat().st_size for name, path in folder_files(folder).items()}


def copy_model(
    folder: Path, draft: Path, without: str = "", languages: tuple[str, str] | None = None
) -> None:
    """Copy a model folder, with files that it shares, into a draft.

    All but its digests and the file *without*.

    A foreign one gets a folder of its own there, and these *languages*, if it names none. Raises
    NotFoundError and ModelError as :func:`check_folder`; SettingsError for a foreign one without
    *languages*.
    """
    check_folder(folder)
    if is_foreign(folder):
        if languages is None:
            raise SettingsError(
                f"{folder}: is of another library; bitext-train-classifier -o makes a model with it"
            )
        config = read_config(folder)
        config["languages"] = config["languages"] or list(languages)
        write_config(draft, config)
        draft = draft / INSIDE
    left_out = shutil.ignore_patterns(DIGESTS, without)
    shutil.copytree(folder, draft, dirs_exist_ok=True, ignore=left_out)
    for name, path in folder_files(folder).items():
        if name != without and not (draft / name).exists():
            shutil.copyfile(path, draft / name)


def copy_files(folder: Path, draft: Path, names: Iterable[str]) -> None:
    """Copy the files of these names, as far as a folder has them, into a draft."""
    for name in names:
        if (folder / name).exists():
            shutil.copyfile(folder / name, draft / name)


def check_replaceable(path: Path) -> None:
    """Raise OutputError unless *path* is missing, a model folder of ours or an empty folder."""
    check_is_here(path)
    if path.is_dir() and is_foreign(path):
        raise OutputError(f"{path}: is a model of another library; name another folder")
    if path.exists() and not (path / CONFIG).is_file() and (path.is_file() or any(path.iterdir())):
        raise OutputError(f"{path}: exists and is not a model folder; name another")


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """Make a draft of the folder *path*, put in its place when the block ends without an error.

    Gives it ``digests.json``.
    Replaces an older model folder of that name. Raises OutputError if *path* is anything else, or
    cannot be written.
    """
    check_replaceable(path)
    with naming_output(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft(path, folder=True) as new:
            yield new
            write_digests(new)
            put(new, path)
