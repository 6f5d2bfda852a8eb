"""The compiled libraries, which are optional; everything else stands in setup.cfg.

Without a C compiler the install goes on, and numpy or torch computes in their place. They have
nothing of Python in them, so that a wheel serves all versions.
"""

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

LIBRARIES = {
    "filters/facts": [],
    "similarity/nearest_rows": [],
    "similarity/word_network": ["similarity/word_network_kernels.h"],
    "text/ngrams": [],
    "text/ragged": [],
    "text/tokens": [],
}
"""The source of each library, without .c, and its headers."""


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


def library(source: str, headers: list[str]) -> Extension:
    """Return the library ``FOLDER/_NAME`` of a source ``FOLDER/NAME``."""
    folder, name = source.split("/")
    return Extension(
        f"bitextfilter.{folder}._{name}",
        sources=[f"bitextfilter/{source}.c"],
        depends=[f"bitextfilter/{header}" for header in headers],
        libraries=["m"],
        extra_compile_args=["-std=gnu11", "-O3", "-g0"],
        optional=True,
    )


setup(
    ext_modules=[library(*both) for both in LIBRARIES.items()],
    cmdclass={"bdist_wheel": Wheel, "build_ext": Library},
)
