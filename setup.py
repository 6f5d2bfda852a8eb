"""The compiled libraries, which are optional; everything else stands in setup.cfg.

Without a C compiler the install goes on, and numpy or torch computes in their place. They have
nothing of Python in them, so that a wheel serves all versions.
"""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class Wheel(bdist_wheel):
    """A wheel for one kind of machine and every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag of the file name."""
        return "py3", "none", super().get_tag()[2]


class Library(build_ext):
    """A library under the same name with every Python."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the path of the library."""
        return fullname.replace(".", "/") + ".so"


def library(source: Path) -> Extension:
    """Return the library ``FOLDER/_NAME`` of a source ``FOLDER/NAME.c``."""
    folder = source.parent
    return Extension(
        ".".join([*folder.parts, f"_{source.stem}"]),
        sources=[str(source)],
        depends=[*sorted(map(str, folder.glob(f"{source.stem}_*.h"))), "bitextfilter/io/wide.h"],
        libraries=["m"],
        extra_compile_args=["-std=gnu11", "-O3", "-g0"],
        optional=True,
    )


setup(
    ext_modules=list(map(library, sorted(Path("bitextfilter").glob("*/*.c")))),
    cmdclass={"bdist_wheel": Wheel, "build_ext": Library},
)
