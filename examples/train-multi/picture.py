"""Draw how well a model knows each language, as an SVG picture of its grades.

python picture.py MODEL > languages.svg
"""

from __future__ import annotations

import sys

from bitextfilter.models.folders import find_model
from bitextfilter.scoring.thresholds import read_grades

LEFT, WIDTH, ROW = 40, 420, 15
STRONG, WEAK = "#4477aa", "#cc6677"


def main(model: str) -> None:
    """Write a bar for each language, the best first, with its error in percent."""
    grades = sorted(read_grades(find_model(model)), key=lambda grade: grade.error)
    scale = WIDTH / max(grade.error for grade in grades)
    height = ROW * (len(grades) + 2)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {height}"'
        ' font-family="sans-serif" font-size="11">'
    )
    print(f'<rect width="{LEFT + WIDTH + 60}" height="{height}" fill="white"/>')
    for row, grade in enumerate(grades, 1):
        base, length = ROW * row, grade.error * scale
        colour = WEAK if grade.weak else STRONG
        print(f'<text x="{LEFT - 6}" y="{base}" text-anchor="end">{grade.language}</text>')
        print(
            f'<rect x="{LEFT}" y="{base - 9}" width="{length:.1f}" height="{ROW - 4}"'
            f' fill="{colour}"/>'
        )
        print(f'<text x="{LEFT + length + 4:.1f}" y="{base}">{grade.error:.1f}</text>')
    print(
        f'<text x="{LEFT}" y="{height - 8}">% of sentences that do not find their translation;'
        f' <tspan fill="{WEAK}">weak</tspan></text>'
    )
    print("</svg>")


if __name__ == "__main__":
    main(sys.argv[1])
