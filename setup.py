"""Builds the shared library with CMake and installs it inside of the package, as below a prefix of its own:
jointflow/lib/libjointflow.so.ABI, jointflow/share/jointflow/recipes and models. Where the library is the system's
(JOINTFLOW_SYSTEM_LIBRARY=1, as in the Debian package) the package is Python alone. CMAKE_ARGS are options for CMake,
such as -DJOINTFLOW_CUDA=OFF; JOINTFLOW_LIBRARY names a shared library that was built before, which is then installed."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
FOLDER = ROOT / "build-python"
FOLDER.mkdir(exist_ok=True)  # the metadata of the package go there
BUILT = os.environ.get("JOINTFLOW_LIBRARY")
ALONE = bool(os.environ.get("JOINTFLOW_SYSTEM_LIBRARY"))


def version():
    """Written once, in the public header."""
    header = (ROOT / "include/jointflow/jointflow.h").read_text()
    return re.search(r'^#define JF_VERSION +"(.*)"', header, flags=re.M)[1]


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


class BuildWithLibrary(build_py):
    """The package, and what the library is installed as."""

    def run(self):
        super().run()
        if not ALONE:
            self.install_library(pathlib.Path(self.build_lib).resolve() / "jointflow")

    def install_library(self, prefix):
        library = self.build_library() if not BUILT else pathlib.Path(BUILT)
        (prefix / "lib").mkdir(parents=True, exist_ok=True)
        name = ".".join(library.resolve().name.split(".")[:3])  # libjointflow.so.ABI; wheels hold no links
        shutil.copy2(library.resolve(), prefix / "lib" / name)
        for folder in ("recipes", "models"):
            shutil.copytree(ROOT / folder, prefix / "share/jointflow" / folder, dirs_exist_ok=True)

    def build_library(self):
        cmake = FOLDER / "cmake"
        run("cmake", "-S", ROOT, "-B", cmake, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
            "-DJOINTFLOW_CLI=OFF", "-DJOINTFLOW_TESTS=OFF", "-DCMAKE_INSTALL_LIBDIR=lib",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")))
        run("cmake", "--build", cmake)
        return cmake / "libjointflow.so"


class Wheel(bdist_wheel):
    """For any Python 3 of this machine: the library is called through ctypes."""

    def get_tag(self):
        return ("py3", "none", "any" if ALONE else super().get_tag()[2])


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return not ALONE


setup(version=version(), distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": Wheel})
