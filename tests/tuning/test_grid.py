"""Grids: every combination once, in order, and clear words for what is no grid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.filters.registry import parse_rule
from bitextfilter.tuning.trials import MOST_POINTS, Grid, read_grid

PAGE = Path(__file__).parents[2] / "docs" / "tune.md"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grid.toml"


def grid(path: Path, text: str) -> Grid:
    path.write_text(text, encoding="utf-8")
    return read_grid(path)


def test_lists_are_combined_and_the_last_changes_first(path: Path) -> None:
    read = grid(path, 'architecture = "averaging"\n[training]\nmargin = [0.3, 0.4]\nseed = [1, 2]')
    points = list(read.points())
    assert [(p.config.training.margin, p.config.training.seed) for p in points] == [
        (0.3, 1), (0.3, 2), (0.4, 1), (0.4, 2),
    ]  # fmt: skip
    assert {point.config.architecture for point in points} == {"averaging"}
    assert read.names == ["training.margin", "training.seed", "architecture"]
    assert read.varied == ["training.margin", "training.seed"]
    assert points[0].described(read.varied) == "training.margin=0.3 training.seed=1"


def test_no_list_is_one_point_of_defaults(path: Path) -> None:
    (point,) = grid(path, "").points()
    assert point.values == {} and point.rules == () and point.pairs is point.sample is None


def test_names_between_commas_go_together(path: Path) -> None:
    text = 'architecture = "autoencoder"\n"training.passes,training.learning_rate" = '
    text += "[[1, 0.1], [2, 0.05]]\n"
    text += '[shape]\n"embedding, hidden" = [16, 8]\n'
    with pytest.raises(SettingsError, match="16 is not a list of 2 values"):
        grid(path, text)
    read = grid(path, text.replace("[16, 8]", "[[16, 8], [32, 16]]"))
    found = [
        (p.config.training.passes, p.config.training.learning_rate, p.config.shape.hidden)
        for p in read.points()
    ]
    assert found == [(1, 0.1, 8), (1, 0.1, 16), (2, 0.05, 8), (2, 0.05, 16)]


def test_default_leaves_a_name_out(path: Path) -> None:
    text = '"architecture,shape.hidden" = [["averaging", "default"], ["autoencoder", 8]]'
    averaging, autoencoder = grid(path, text).points()
    assert not hasattr(averaging.config.shape, "hidden")
    assert autoencoder.config.shape.hidden == 8
    assert averaging.cells() == {"architecture": "averaging"}


def test_rules_data_and_bounds(path: Path) -> None:
    text = """
    sample = [10, "default"]
    pairs = ["a.tsv", "b.tsv"]
    [[rule]]
    name = "length"
    maximum = [5, "none"]
    [[rule]]
    name = "column"
    column = 3
    minimum = 0.5
    [[rule]]
    name = "column"
    column = 4
    maximum = 1
    """
    read = grid(path, text)
    points = list(read.points())
    assert len(points) == 8
    expected = ("length:maximum=5", "column:column=3,minimum=0.5", "column:column=4,maximum=1")
    assert points[0].rules == tuple(map(parse_rule, expected))
    assert points[1].rules[0] == parse_rule("length:maximum=none")
    assert [(p.sample, p.pairs) for p in points[::2]] == [
        (10, "a.tsv"), (10, "b.tsv"), (None, "a.tsv"), (None, "b.tsv"),
    ]  # fmt: skip
    assert points[0].cells()["column#2.maximum"] == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training = ", "not TOML"),
        ("[training]\nmargin = []", "training.margin: an empty list"),
        ("[training]\nmargin = [[1, 2]]", "is not a value"),
        ("[training]\nspeed = 1", "training.speed is no setting"),
        ("[training]\nclip = ['wide']", "training.clip must be a number"),
        ("[training]\npasses = [1, -1]", r"passes .* \(at training.passes=-1\)"),
        ("speed = 1", "'speed' is no group of settings"),
        ("architecture = ['transformer']", "transformer"),
        ("sample = [0]", "sample must be a whole number of at least 1, not 0"),
        ("sample = true", "sample must be a whole number"),
        ("pairs = 3", "pairs are the name of a file"),
        ('pairs = ["a.tsv", "-"]', "pairs are read more than once, which stdin cannot be"),
        ("rule = 1", "rules are tables"),
        ("[[rule]]\nmaximum = 1", "a rule has no name"),
        ("[[rule]]\nname = ['length']", "a rule has no name"),
        ("[[rule]]\nname = 'lenght'", "did you mean length"),
        ("[[rule]]\nname = 'length'\nlongest = 1", "no parameter 'longest'"),
        ("[[rule]]\nname = 'length'\nminimum = 9\nmaximum = 8", "nothing is within 9 and 8"),
        ("'training.seed' = 1\n[training]\nseed = 2", "training.seed is given twice"),
        ("[training]\nseed = " + str(list(range(MOST_POINTS + 1))), "100001 points, more than"),
    ],
)
def test_what_is_no_grid_is_said(path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        list(grid(path, text).points())


def test_errors_of_the_file_name_it_once(path: Path) -> None:
    for text in ("training = ", "[training]\nmargin = []"):
        with pytest.raises(SettingsError) as caught:
            grid(path, text)
        assert str(caught.value).count(str(path)) == 1
    with pytest.raises(NotFoundError, match="cannot be opened"):
        read_grid(path.with_name("missing.toml"))


def test_the_grids_of_the_page_are_grids(path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    counts = [len(list(grid(path, block).points())) for block in blocks]
    assert counts == [24, 3, 6, 14, 6 * 4 * 4 * 5]
