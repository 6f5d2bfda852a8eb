"""Draw the pictures of the documentation from the tables of its pages.

    python benchmarks/plots.py

Each picture in ``docs/pictures`` shows columns of one table: measure again, change the table, and
draw. ``tests/test_plots.py`` sees a picture that shows other figures than its table. That of the
languages is drawn by ``examples/train-multi/picture.py``.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bitextfilter.io.documents import read_links
from bitextfilter.mining.chunks import ChunkSettings, ChunkSide, chunks_of, paragraph_numbers
from bitextfilter.mining.monotonic import Link

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "pictures"
COLOURS = ("#1f5fa8", "#e08a3c", "#9aa5b1")
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "bitextfilter",
}


def table(page: str, heading: str, number: int = 1) -> list[list[str]]:
    """Return the rows of a table as lists of cells, without marks."""
    text = (DOCS / page).read_text(encoding="utf-8")
    _, _, section = text.partition(f"# {heading}\n")
    found = re.findall(r"(?:^\|.*\n)+", re.split(r"^##? ", section, flags=re.MULTILINE)[0], re.M)
    rows = [line.strip("|").split("|") for line in found[number - 1].splitlines()[2:]]
    return [[re.sub(r"[*`]", "", cell).strip() for cell in row] for row in rows]


def numbers(cells: list[str]) -> list[float]:
    """Return the numbers that cells begin with."""
    return [float(cell.split()[0].replace(",", "")) for cell in cells]


def column(rows: list[list[str]], index: int) -> list[str]:
    """Return a column of a table."""
    return [row[index] for row in rows]


def bars(axes: Axes, names: list[str], series: dict[str, list[str]], start: float = 0) -> None:
    """Draw horizontal bars, first name on top: for each name one bar of each series, labelled."""
    height = 0.8 / len(series)
    for place, (label, cells) in enumerate(series.items()):
        at = [row + place * height for row in range(len(names))]
        lengths = [value - start for value in numbers(cells)]
        drawn = axes.barh(at, lengths, height, start, color=COLOURS[place], label=label)
        axes.bar_label(drawn, cells, padding=2, fontsize=7)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(names))], names)
    axes.set_ylim(len(names) - height / 2, -height)
    axes.margins(x=0.1)
    if len(series) > 1:
        legend(axes, len(series))


def curves(axes: Axes, rows: list[list[str]], series: dict[str, int]) -> None:
    """Draw columns of numbers over the first one, on a logarithmic axis, each point labelled."""
    places = numbers(column(rows, 0))
    for colour, (label, index) in enumerate(series.items()):
        heights = numbers(column(rows, index))
        axes.plot(places, heights, "o-", color=COLOURS[colour], label=label)
        for at, row in zip(zip(places, heights, strict=True), rows, strict=True):
            axes.annotate(row[index], at, (4, -10), textcoords="offset points", size=7)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(places, [f"{place:,.0f}" for place in places])
    axes.margins(x=0.1)
    legend(axes, len(series))


def legend(axes: Axes, columns: int) -> None:
    """Name the series above the axes."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False)


def recovery(axes: Axes) -> None:
    """Draw errors of recovery by model and set."""
    rows = table("notes/encoders.md", "Sentence alignment recovery", 2)
    sets = [row[0].split(", ")[0] for row in rows]
    models = ("en-de-autoencoder", "en-de", "averaging")
    series = {name: column(rows, index) for index, name in enumerate(models, 1)}
    bars(axes, sets, series)
    axes.set_xlabel("wrong translations by CSLS, % (lower is better)")


def noise(axes: Axes) -> None:
    """Draw the AUC of mlp for each kind of noise."""
    rows = table("notes/filtering.md", "Clean pairs and noise")
    rows.sort(key=lambda row: float(row[1]))
    series = {"en-de": column(rows, 1), "the former en-de": column(rows, 3)}
    bars(axes, [row[0] for row in rows], series, start=0.5)
    axes.set_xlim(0.5, 1.03)
    axes.set_xlabel("AUC: clean against damaged pairs (0.5 is chance)")


def crawl(axes: Axes) -> None:
    """Draw clean shares of a crawl and of selections from it."""
    rows = table("notes/filtering.md", "A crawl of a million rows")
    rows = [row for row in rows if "alone" not in row[0]]
    series = {"clean, % of the selection": column(rows, 3), "% of all clean words": column(rows, 4)}
    bars(axes, [row[0] for row in rows], series)


def downstream(axes: Axes) -> None:
    """Draw the BLEU of translators trained on the best rows by each score."""
    rows = table("notes/filtering.md", "Filtering for a translator")
    rows = [row for row in rows if re.match(r"\d", row[6])]
    rows.sort(key=lambda row: float(row[6]))
    bars(axes, [row[0].split(",")[0] for row in rows], {"": column(rows, 6)})
    axes.set_xlabel("BLEU of a translator trained on the best 240,000 words by each score")


def alignment(axes: Axes) -> None:
    """Draw the strict F1 of document alignment."""
    rows = table("notes/mining.md", "Aligning documents")
    names = [row[0].split(", by")[0].replace(", the same", ", on the test part") for row in rows]
    bars(axes, names, {"": column(rows, 3)})
    axes.set_xlabel("strict F1 of links, Text+Berg")


def data(axes: Axes) -> None:
    """Draw the error of recovery over the number of training pairs."""
    rows = table("train-your-own.md", "How much data")
    rows = [[row[0].removeprefix("all "), *row[1:]] for row in rows]
    curves(axes, rows, {"CSLS": 1, "cosine": 2})
    axes.set_ylim(bottom=-1.5)
    axes.set_ylabel("wrong translations, %")
    axes.set_xlabel("training pairs")


def objective(axes: Axes) -> None:
    """Draw the error of translation and autoencoding alone over the pairs read."""
    rows = table("notes/encoders.md", "The curve")
    names = "random vectors", "en-de's vectors", "random vectors, float32"
    for index, label in enumerate(names, 1):
        known = [row for row in rows if row[index]]
        places, heights = (numbers(column(known, i)) for i in (0, index))
        axes.plot(places, heights, "o-", color=COLOURS[index - 1], label=label)
        for at, row in zip(zip(places, heights, strict=True), known, strict=True):
            axes.annotate(row[index], at, (3, 4), textcoords="offset points", size=7)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("wrong translations, %")
    axes.set_xlabel("pairs read")
    legend(axes, 3)


def speed(axes: Axes) -> None:
    """Draw pairs a second of bitext-score and of large encoders of random weights."""
    section = "Scoring, beside encoders of the shape of LaBSE and LASER"
    rows = [
        [f"en-de, {row[1].split(',')[0]}", row[3]] for row in table("notes/speed.md", section)[:2]
    ]
    shape = ""
    for name, pairs, *_ in table("notes/speed.md", section, 2):
        shape = name.split(" (")[0] if "-shaped" in name else shape
        rows.append([f"{shape}, {name.split(', ')[-1]}", pairs])
    bars(axes, column(rows, 0), {"": column(rows, 1)}, start=1)
    axes.set_xscale("log")
    axes.set_xlabel("pairs a second, two cores, logarithmic; those below en-de stop at the vectors")


def stages(axes: Axes) -> None:
    """Draw the time of each stage of bitext-score."""
    rows = table("notes/speed.md", "bitext-score, stage by stage")[:5]
    series = {"mlp": column(rows, 1), "cosine": column(rows, 2)}
    bars(axes, [row[0] for row in rows], series)
    axes.set_xlabel("microseconds a pair, two threads")


def mining(axes: Axes) -> None:
    """Draw seconds of mining over the number of lines, beside brute force."""
    curves(axes, table("notes/speed.md", "Mining at scale"), {"bitext-align": 3, "brute force": 5})
    axes.set_yscale("log")
    axes.set_ylim(bottom=5)
    axes.set_xlabel("lines a side, two cores")
    axes.set_ylabel("seconds")


def chunks(axes: Axes) -> None:
    """Draw the sentences of a story and of its translation, their links, and their chunks."""
    texts, sides, links = _story()
    for place, side in enumerate(sides):
        x = place * 1.5
        for number, text in enumerate(texts[place]):
            linked = any(
                number in (link.source, link.target)[place] for link in links if link.score
            )
            grey = COLOURS[2] if linked else COLOURS[1]
            axes.barh(_height(side, number), 0.008 * len(text), 0.7, x, color=grey)
    for number, chunk in enumerate(chunks_of(links, sides, ChunkSettings(100)), 1):
        ends = [
            (_height(side, places[0]) - 0.5, _height(side, places[-1]) + 0.5)
            for side, places in zip(sides, (chunk.source, chunk.target), strict=True)
        ]
        top, bottom = ([end for end in side for _ in range(2)] for side in zip(*ends, strict=True))
        axes.fill_between((-0.05, 1.2, 1.45, 2.75), top, bottom, color=COLOURS[0], alpha=0.15)
        words = max(
            sum(side.sizes[places.start : places.stop])
            for side, places in zip(sides, (chunk.source, chunk.target), strict=True)
        )
        axes.text(2.8, sum(ends[1]) / 2, f"chunk {number}", va="bottom")
        axes.text(2.8, sum(ends[1]) / 2, f"{words} words", va="top", size=7)
    for place, name in enumerate(("story.en.txt", "story.de.txt")):
        axes.text(place * 1.5, -1.5, name)
    axes.text(2.8, -1.5, "up to 100 words")
    axes.plot([], [], color=COLOURS[1], linewidth=5, label="sentences without a counterpart")
    axes.plot(
        [], [], color=COLOURS[2], linewidth=5, label="linked sentences, as long as their text"
    )
    legend(axes, 2)
    axes.set_ylim(max(_height(side, len(side.sizes) - 1) for side in sides) + 1, -2)
    axes.set_xlim(-0.1, 3.2)
    axes.set_axis_off()


def _story() -> tuple[list[list[str]], tuple[ChunkSide, ChunkSide], list[Link]]:
    """Return the sentences of the example, its sides, and the right links."""
    folder = DOCS.parent / "examples" / "align-documents"
    texts: list[list[str]] = []
    sides, places = [], []
    for name in ("story.en.txt", "story.de.txt"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        kept = [number for number, line in enumerate(lines) if line.strip()]
        texts.append([lines[number] for number in kept])
        sizes = [len(text.split()) for text in texts[-1]]
        sides.append(ChunkSide(paragraph_numbers(kept, False), sizes))
        places.append({number: place for place, number in enumerate(kept)})
    links, ends = [], [0, 0]
    with (folder / "story.links").open("rb") as stream:
        for link in read_links(stream, "story.links"):
            spans = []
            for side, numbers in enumerate(link):
                found = [places[side][number] for number in numbers]
                first = found[0] if found else ends[side]
                spans.append(range(first, first + len(found)))
                ends[side] = spans[side].stop
            links.append(Link(spans[0], spans[1], 1.0 if all(link) else None))
    return texts, (sides[0], sides[1]), links


def _height(side: ChunkSide, number: int) -> float:
    """Return the place of a sentence from above, with gaps between paragraphs."""
    return number + 0.8 * side.paragraphs[number]


DRAWINGS: dict[str, tuple[Callable[[Axes], None], float]] = {
    "recovery": (recovery, 4.4),
    "noise": (noise, 6.4),
    "crawl": (crawl, 2.8),
    "downstream": (downstream, 2.4),
    "alignment": (alignment, 2.2),
    "chunks": (chunks, 4.6),
    "data": (data, 2.8),
    "objective": (objective, 2.8),
    "speed": (speed, 2.6),
    "stages": (stages, 2.4),
    "mining": (mining, 3.2),
}
"""Pictures by name, and their heights in inches."""


def picture(name: str) -> bytes:
    """Return a picture as SVG: the same bytes for the same tables and version of matplotlib."""
    draw, height = DRAWINGS[name]
    target = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=(7, height), layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return target.getvalue()


def main() -> None:
    """Draw all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name in DRAWINGS:
        (PICTURES / f"{name}.svg").write_bytes(picture(name))


if __name__ == "__main__":
    main()
