"""The subcommands of bitext-evaluate, one module each."""

from __future__ import annotations
