"""``bitext-models``: list, show and verify models, keep cuts in them, and make new ones of them."""

from __future__ import annotations

from bitextfilter.commands.frame.command import group

main = group(
    "bitext-models",
    """List, show, inspect, verify, join, prune and export models, and keep cuts of scores in them.

    A model is one folder. MODEL is the name of one that comes with the package, or a folder.

    Example:

        bitext-models list
        bitext-models show en-de
        bitext-models verify en-de my-model
    """,
    __name__,
    {
        "list": "showing.list_models",
        "show": "showing.show_model",
        "inspect": "showing.inspect_model",
        "verify": "showing.verify_models",
        "calibrate": "keeping.calibrate",
        "recommend": "keeping.recommend",
        "grade": "keeping.grade",
        "join": "making.join",
        "prune": "making.prune",
        "export": "making.export",
    },
)
