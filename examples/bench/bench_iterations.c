/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Iterations of CG + multigrid (GMRES for convection) to 1e-8 with hjacobi and with Chebyshev/Jacobi of the same degree on its levels, on
   problems whose coefficients are hard on the bound of the eigenvalues. Times nothing; a row of CSV a problem and degree.

     bench_iterations -dll_append lib/libhjacobi.so [-cases jump1e4,blocks2d] [-sizes2d 2049] [-sizes3d 129] [-ks 4,8] [-csv file]
     [-commit hash] [-device name] [-budget seconds]

   Options of the solvers have the prefixes hjacobi_ and chebyshev_, for instance -hjacobi_mg_levels_pc_hjacobi_backend cuda
*/
static const char help[] = "Iterations of multigrid with hjacobi and with Chebyshev/Jacobi";

#include "../problem.h"
#include "report.h"

#define MAX_KS 16

typedef enum {
  JUMP,       /* contrast inside 0.3 < x < 0.7, 0.25 < y < 0.6 (3D: and 0.3 < z < 0.7), 1 outside */
  BLOCKS,     /* 16 blocks a direction, log-uniform from 1 to contrast */
  ANISOTROPY, /* contrast in y */
  CONVECTION  /* contrast: Peclet number of a cell */
} Kind;

typedef struct {
  const char *name;
  PetscInt    dim;
  Kind        kind;
  PetscReal   contrast;
} Case;

static const Case cases[] = {
  {"jump1e2", 2, JUMP, 1e2},
  {"jump1e4", 2, JUMP, 1e4},
  {"jump1e6", 2, JUMP, 1e6},
  {"blocks2d", 2, BLOCKS, 1e6},
  {"anisotropy2d", 2, ANISOTROPY, 1e3},
  {"convection2d", 2, CONVECTION, 0.1},
  {"jump1e2_3d", 3, JUMP, 1e2},
  {"jump1e4_3d", 3, JUMP, 1e4},
  {"jump1e6_3d", 3, JUMP, 1e6},
  {"blocks3d", 3, BLOCKS, 1e6},
  {"anisotropy3d", 3, ANISOTROPY, 1e3},
  {"convection3d", 3, CONVECTION, 0.1},
};

#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases))

/* In [0, 1), the same on any number of ranks */
static PetscReal Random(const PetscInt block[3])
{
  unsigned z = (unsigned)(block[0] + 31 * block[1] + 1009 * block[2]) * 2654435761u + 12345u;

  z = (z ^ (z >> 15)) * 2246822519u;
  z = (z ^ (z >> 13)) * 3266489917u;
  return (z >> 8) / 16777216.0;
}

/* Of the face that leads from a point in direction d; x is its middle */
static PetscReal Coefficient(const Case *c, const PetscReal x[3], PetscInt d)
{
  switch (c->kind) {
  case JUMP:
    return x[0] > 0.3 && x[0] < 0.7 && x[1] > 0.25 && x[1] < 0.6 && (c->dim == 2 || (x[2] > 0.3 && x[2] < 0.7)) ? c->contrast : 1;
  case BLOCKS:
    return PetscPowReal(c->contrast, Random((PetscInt[3]){(PetscInt)(16 * x[0]), (PetscInt)(16 * x[1]), (PetscInt)(16 * x[2])}));
  case ANISOTROPY:
    return d == 1 ? c->contrast : 1;
  default:
    return 1;
  }
}

/* Points of the boundary are rows of the diagonal alone and nobody's column */
static PetscErrorCode SetRow(const Case *c, const DMDALocalInfo *info, const PetscInt at[3], Mat A)
{
  const PetscInt n      = info->mx;
  MatStencil     col[7] = {{.i = at[0], .j = at[1], .k = at[2]}};
  PetscScalar    v[7];
  PetscReal      diagonal = 0;
  PetscInt       m        = 1;
  PetscBool      edge     = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < c->dim; d++) edge = (PetscBool)(edge || at[d] == 0 || at[d] == n - 1);
  for (PetscInt o = 0; o < 2 * c->dim; o++) {
    const PetscInt d = o / 2, to = at[d] + (o % 2 ? 1 : -1);
    PetscReal      x[3], a;

    for (PetscInt e = 0; e < 3; e++) x[e] = (at[e] + (e == d ? (o % 2 ? 0.5 : -0.5) : 0)) / (n - 1);
    a = Coefficient(c, x, d);
    if (c->kind == CONVECTION) a *= 1 - (o % 2 ? 0.5 : -0.5) * c->contrast; /* central differences of the flow (1, 1, 1) */
    diagonal += a;
    if (edge || to == 0 || to == n - 1) continue;
    col[m] = (MatStencil){.i = at[0] + (d == 0 ? to - at[0] : 0),
                          .j = at[1] + (d == 1 ? to - at[1] : 0),
                          .k = at[2] + (d == 2 ? to - at[2] : 0)};
    v[m++] = -a;
  }
  v[0] = diagonal;
  PetscCall(MatSetValuesStencil(A, 1, col, m, col, v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateProblem(const Case *c, PetscInt n, DM *da, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, &(Problem){.dim = c->dim, .n = n}, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) PetscCall(SetRow(c, &info, (PetscInt[3]){i, j, k}, *A));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   its and reason of one solve; the options of the levels come from the prefix. Convection has 5 levels: the Peclet number of a cell
   doubles from each to the next, and beyond about 2 the coarse grids help with no smoother
*/
static PetscErrorCode Solve(const Case *c, PetscInt n, DM da, Mat A, const char prefix[], PetscInt *its, KSPConvergedReason *reason)
{
  PetscInt levels = 1;
  KSP      ksp;
  PC       pc;
  Vec      b, x;

  PetscFunctionBegin;
  for (PetscInt m = n; m > (c->dim == 2 ? 17 : 9) && m % 2 && (c->kind != CONVECTION || levels < 5); m = (m - 1) / 2 + 1) levels++;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, c->kind == CONVECTION ? KSPGMRES : KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(const Case *c, PetscInt n, PetscInt nk, const PetscInt k[], Output *out)
{
  DM          da;
  Mat         A;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateProblem(c, n, &da, &A));
  for (PetscInt i = 0; i < nk; i++) {
    PetscInt           its[2];
    KSPConvergedReason reason[2];
    char               options[512], line[256];

    PetscCall(PetscSNPrintf(options, sizeof(options),
                            "-hjacobi_mg_levels_ksp_type richardson -hjacobi_mg_levels_pc_type hjacobi -hjacobi_mg_levels_ksp_max_it 1 "
                            "-hjacobi_mg_levels_pc_hjacobi_k %" PetscInt_FMT " -chebyshev_mg_levels_ksp_type chebyshev "
                            "-chebyshev_mg_levels_pc_type jacobi -chebyshev_mg_levels_ksp_max_it %" PetscInt_FMT,
                            k[i], k[i]));
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(Solve(c, n, da, A, "hjacobi_", &its[0], &reason[0]));
    PetscCall(Solve(c, n, da, A, "chebyshev_", &its[1], &reason[1]));
    PetscCall(PetscSNPrintf(line, sizeof(line), "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%s,%" PetscInt_FMT "\n",
                            c->name, n, k[i], KSPConvergedReasons[reason[0]], its[0], KSPConvergedReasons[reason[1]], its[1]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s", line));
    PetscCall(OutputRow(PETSC_COMM_WORLD, out));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, out->csv, "%d,%s", size, line));
    PetscCall(OutputFlush(out));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    n[4] = {0, 0, 2049, 129}, k[MAX_KS] = {4, 6, 8, 10, 16}, nk = MAX_KS;
  const char *names[NCASES];
  PetscBool   wanted[NCASES], given;
  Output      out;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(OutputOpen("ranks,case,n,k,hjacobi,hjacobi_its,chebyshev,chebyshev_its", &out));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-sizes2d", &n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-sizes3d", &n[3], NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-ks", k, &nk, &given));
  if (!given) nk = 5;
  for (PetscInt c = 0; c < NCASES; c++) names[c] = cases[c].name;
  PetscCall(ReadNames("-cases", NCASES, names, NCASES, wanted));
  for (PetscInt c = 0; c < NCASES; c++) {
    if (wanted[c]) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &out, names[c], &wanted[c]));
    if (wanted[c]) PetscCall(RunCase(&cases[c], n[cases[c].dim], nk, k, &out));
  }
  PetscCall(PetscFClose(PETSC_COMM_WORLD, out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
