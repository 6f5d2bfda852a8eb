"""What the pages link to outside ``docs/`` is part of the site, with ``docs/`` at its top.

So a link that works in the repository works on the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)#\s]+)")


def in_repository(uri: str) -> str:
    """Return the path in the repository of a file of the site."""
    return f"docs/{uri}" if (ROOT / "docs" / uri).exists() else uri


def linked(uri: str, target: str) -> str:
    """Return the place on the site of the file that page *uri* links to as *target*."""
    path = posixpath.join(posixpath.dirname(in_repository(uri)), target)
    return posixpath.normpath(path).removeprefix("docs/")


def on_files(files: Files, config: Any) -> Files:
    """Add each file that a page links to, and each that an added page links to."""
    pages = [file.src_uri for file in files.documentation_pages()]
    pages.append("examples/README.md")
    for page in pages:
        text = (ROOT / in_repository(page)).read_text(encoding="utf-8")
        for uri in [page, *(linked(page, target) for target in LINK.findall(text))]:
            if (ROOT / uri).is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / uri)))
                pages += [uri] if uri.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links of the repository into those of the site."""
    here = page.file.src_uri
    start = posixpath.dirname(here) or "."
    return LINK.sub(lambda m: posixpath.relpath(linked(here, m[1]), start), markdown)
