"""The compiled network of words, which is optional; everything else stands in setup.cfg.

Without a C compiler the install goes on, and torch computes in its place. The library has nothing
of Python in it, so that a wheel of it serves all versions.
"""

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

FOLDER = "bitextfilter/similarity/"


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


setup(
    ext_modules=[
        Extension(
            "bitextfilter.similarity._word_network",
            sources=[f"{FOLDER}word_network.c"],
            depends=[f"{FOLDER}word_network_kernels.h"],
            libraries=["m"],
            extra_compile_args=["-std=gnu11", "-O3", "-g0"],
            optional=True,
        )
    ],
    cmdclass={"bdist_wheel": Wheel, "build_ext": Library},
)
