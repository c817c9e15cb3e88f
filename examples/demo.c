/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "2D and 3D Poisson by CG + multigrid: hjmg, which needs the matrix alone, beside gamg and hypre; PCMG with hjacobi on all levels beside\n\
PETSc's own smoothers, at equal sweeps.\n\
  -dll_append lib/libhjacobi.so   loads hjacobi\n\
  -sweeps <4>                     sweeps before and after each coarse-grid correction\n\
  -n2 <1025> -n3 <97>            points in each direction (m 2^l + 1)\n\
  -solver <chebyshev,sor,hjacobi,hjmg,gamg,hypre>   PCMG's smoothers, and preconditioners\n\
  -table <file>                   takes the lines of the table, else standard output does\n\
Progress goes to standard error; examples/demo.sh runs it and prints the table.\n";

/* Decides what is compared, and prints it. The problems are those of problem.h; the solvers are plain PETSc options. */
#include "problem.h"

typedef struct {
  const char *name, *options; /* the number is that of iterations */
} Solver;

/* PCMG with smoothers; others take its place, and make levels of the finest matrix by themselves */
static const Solver solvers[] =
  {{"chebyshev", PROBLEM_CHEBYSHEV},
   {"sor", "-mg_levels_ksp_type richardson -mg_levels_pc_type sor -mg_levels_pc_sor_local_symmetric -mg_levels_ksp_max_it %" PetscInt_FMT},
   {"hjacobi", PROBLEM_HJACOBI},
   {"hjmg", "-pc_type hjmg"},
   {"gamg", "-pc_type gamg"},
#if PetscDefined(HAVE_HYPRE)
   {"hypre", "-pc_type hypre"}
#endif
};

static PetscErrorCode Dot(KSP ksp, PETSC_UNUSED PetscInt it, PETSC_UNUSED PetscReal norm, PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscFPrintf(PetscObjectComm((PetscObject)ksp), stderr, "."));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const Hierarchy *h, const Solver *s, PetscInt sweeps, KSP *ksp)
{
  char options[512], prefix[32];

  PetscFunctionBegin;
  /* A symmetric SOR iteration is two sweeps, one in each direction: CG needs it symmetric */
  PetscCall(PetscSNPrintf(options, sizeof(options), s->options, s->name[0] == 's' ? (sweeps + 1) / 2 : sweeps));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", s->name));
  PetscCall(PetscOptionsPrefixPush(NULL, prefix));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(HierarchyCreateSolver(h, 0, prefix, ksp));
  PetscCall(KSPMonitorSet(*ksp, Dot, NULL, NULL));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of set-up and of the better of two solves */
static PetscErrorCode Solve(const Hierarchy *h, const Solver *s, PetscInt sweeps, PetscReal *residual, PetscInt *its,
                            PetscLogDouble seconds[2])
{
  KSP                ksp;
  PetscLogDouble     t0 = 0, t1 = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "  %-9s set-up ", s->name));
  PetscCall(CreateSolver(h, s, sweeps, &ksp));
  PetscCall(ProblemTime(h->x, &t0));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(ProblemTime(h->x, &t1));
  seconds[0] = t1 - t0;
  seconds[1] = PETSC_INFINITY;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "%.1f s, solve ", seconds[0]));
  for (int repeat = 0; repeat < 2; repeat++) {
    PetscCall(ProblemTime(h->x, &t0));
    PetscCall(KSPSolve(ksp, h->rhs, h->x));
    PetscCall(ProblemTime(h->x, &t1));
    seconds[1] = PetscMin(seconds[1], t1 - t0);
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(ProblemTrueResidual(ksp, residual));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, " %.2f s%s\n", seconds[1], reason > 0 ? "" : ", NOT CONVERGED"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solvers of the list only on one grid with matrices of one type; base: seconds of the first solver of all, 0 before it */
static PetscErrorCode Compare(const Problem *p, const char type[], PetscInt sweeps, const char *only, PetscLogDouble *base, FILE *table)
{
  PetscLogDouble seconds[2] = {0, 0};
  Hierarchy      h          = {0};
  DM             da;
  PetscReal      residual;
  PetscInt       its;
  PetscMPIInt    size;
  PetscBool      wanted;
  char           vec_type[32] = "cpu";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", vec_type, sizeof(vec_type), NULL));
  PetscCall(
    PetscFPrintf(PETSC_COMM_WORLD, stderr, "%" PetscInt_FMT "D %" PetscInt_FMT "^%" PetscInt_FMT ", %s\n", p->dim, p->n, p->dim, type));
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, p, &da));
  PetscCall(DMSetMatType(da, type));
  PetscCall(HierarchyCreate(p, da, ProblemLevels(p), ProblemFillMatrix, &h));
  PetscCall(DMDestroy(&da));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solvers); i++) {
    PetscCall(PetscStrInList(solvers[i].name, only, ',', &wanted));
    if (!wanted) continue;
    PetscCall(Solve(&h, &solvers[i], sweeps, &residual, &its, seconds));
    if (*base == 0) *base = seconds[1];
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, table,
                           "%" PetscInt_FMT "D %5" PetscInt_FMT "^%" PetscInt_FMT "  %5d  %-5s  %-11s  %-9s  %10" PetscInt_FMT
                           "  %12.1e  %8.2f  %8.3f  %5.2f\n",
                           p->dim, p->n, p->dim, size, vec_type, type, solvers[i].name, its, (double)residual, seconds[0], seconds[1],
                           *base / seconds[1]));
  }
  PetscCall(HierarchyDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's matrix with each solver, then the stencil matrix with hjacobi and hjmg; the ratio is to the first, by default PETSc's default
   pair */
static PetscErrorCode CompareAll(PetscInt dim, PetscInt n, PetscInt sweeps, const char *only, FILE *table)
{
  const Problem  p        = {.dim = dim, .n = n};
  char           type[32] = MATAIJ;
  PetscLogDouble base     = 0;
  PetscBool      stencil, wanted;
  const char    *ours[] = {"hjmg", "hjacobi"};

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_mat_type", type, sizeof(type), NULL));
  PetscCall(Compare(&p, type, sweeps, only, &base, table));
  PetscCall(PetscStrcmp(type, "hjstencil", &stencil));
  for (int i = 0; i < 2 && !stencil; i++) {
    PetscCall(PetscStrInList(ours[i], only, ',', &wanted));
    if (wanted) PetscCall(Compare(&p, "hjstencil", sweeps, ours[i], &base, table));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  n2 = 1025, n3 = 97, sweeps = 4;
  char      only[64] = "chebyshev,sor,hjacobi,hjmg,gamg,hypre", table[PETSC_MAX_PATH_LEN] = "";
  FILE     *out;
  PetscBool to_file;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n2, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n3, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-sweeps", &sweeps, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-solver", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-table", table, sizeof(table), &to_file));
  out = PETSC_STDOUT; /* not there before PetscInitialize() */
  if (to_file) PetscCall(PetscFOpen(PETSC_COMM_WORLD, table, "a", &out));
  if (n2) PetscCall(CompareAll(2, n2, sweeps, only, out));
  if (n3) PetscCall(CompareAll(3, n3, sweeps, only, out));
  if (to_file) PetscCall(PetscFClose(PETSC_COMM_WORLD, out));
  PetscCall(PetscFinalize());
  return 0;
}
