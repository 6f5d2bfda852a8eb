"""Hostile rows through the subcommands of bitext-paraphrase."""

from __future__ import annotations

from bench import Bench, table


def paraphrase(bench: Bench) -> None:
    """Tables of phrases, or one clear line."""
    rows = table(bench, min(bench.some(), 200))
    kind = bench.chooser.choice(("lexicon", "analyse"))
    words = [*rows.words, "--on-error", "reject"]
    done = bench.run(f"bitext-paraphrase {kind}", *words, "-i", bench.file(rows.data))
    assert done.code in (0, 65), done
    done.out.decode()
    bench.counts["rows"] += len(rows.lines)
