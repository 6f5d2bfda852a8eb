"""Models that are trained from hostile rows."""

from __future__ import annotations

from bench import Bench, lines, table


def language_model(bench: Bench) -> None:
    """A model that the rules can read, or one clear line."""
    data, rows = lines(bench, min(bench.some(), 200))
    unit = bench.chooser.choice(("tokens", "words", "characters"))
    arpa = str(bench.folder / "model.arpa")
    words = ["--unit", unit, "--on-error", "reject", "-o", arpa]
    learnt = bench.run("bitext-train-language-model", *words, "-i", bench.file(data))
    assert learnt.code in (0, 65), learnt
    bench.counts["rows"] += len(rows)
    if learnt.code == 0:
        pairs = table(bench, 50)
        rule = f"perplexity:maximum=50,source={arpa},target={arpa}"
        words = [*pairs.words, "--rule", rule, "--on-error", "reject", "--threads", "1"]
        assert bench.run("bitext-filter", *words, "-i", bench.file(pairs.data)).code == 0
