"""The subcommands of bitext-paraphrase, one module each."""

from __future__ import annotations
