# SPDX-License-Identifier: BSD-2-Clause
import os

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Hjacobi(MakefilePackage, CudaPackage):
    """Multigrid for PETSc on structured grids, with a smoother that does several Jacobi or Chebyshev sweeps in about one pass over
    memory. A plugin: PETSc programs load it by -dll_append, or link it."""

    # The checkout that this file lies in; releases will stand here by their archive's checksum
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 6))
    version("main", branch="main")

    license("BSD-2-Clause")

    variant("nccl", default=False, when="+cuda", description="Exchange between GPUs by NCCL where that is faster")

    depends_on("c", type="build")
    depends_on("cxx", type="build")  # nvcc's
    depends_on("perl", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("petsc@3.18:3.26 +mpi+shared+double~complex")
    depends_on("petsc+cuda", when="+cuda")
    depends_on("nccl", when="+nccl")

    # Those that config/cuda.mk knows
    _archs = ("70", "75", "80", "86", "89", "90", "100")
    for _arch in CudaPackage.cuda_arch_values:
        if _arch in _archs:
            depends_on(f"petsc cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
            depends_on(f"nccl cuda_arch={_arch}", when=f"+nccl cuda_arch={_arch}")
        else:
            conflicts(f"cuda_arch={_arch}", when="+cuda", msg="hjacobi has no kernels for it")

    def _make(self, *arguments):
        spec = self.spec
        settings = [f"prefix={self.prefix}", f"PETSC_DIR={spec['petsc'].prefix}", "PETSC_ARCH=", f"CC={spec['mpi'].mpicc}", "V=1"]
        if spec.satisfies("+cuda"):
            archs = [arch for arch in spec.variants["cuda_arch"].value if arch != "none"]
            settings += ["CUDA=1", f"CUDA_ARCHS={' '.join(archs) or 'all'}"]
            # NCCL is in the library where its header is found: only Spack's may be
            settings += [f"NCCL_HOME={spec['nccl'].prefix}" if spec.satisfies("+nccl") else "NCCL_HEADER="]
        else:
            settings += ["CUDA=0"]
        make(*settings, *arguments)

    # Into the folder that `make install` takes it from
    def build(self, spec, prefix):
        self._make("BUILD=build/release", "LIB=build/release/libhjacobi.so", "all")

    def install(self, spec, prefix):
        self._make("install")

    def check(self):
        self._make("BUILD=build/release", "LIB=build/release/libhjacobi.so", "check")

    def installcheck(self):
        self._make("installcheck")
