/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "The experiments of the papers that hjacobi's method comes from, run again (README.md beside this file).\n\
  -cases <islam1d,islam2d,large,schedules,giles,dense,kochurov>\n\
  -dm_vec_type cuda                on the GPU\n\
  -n <1024> -n3 <256>              points in each direction of the cases of Islam & Wang, and of Giles; smaller on a CPU\n\
  -n_large <8192>                  of the case large, whose arrays no cache holds\n\
  -n_slab <400> -memory <500M>     of the case kochurov, and how much memory of the GPU its slabs may take\n\
  -sizes <4096,8192,16384,32768>   of the dense matrices\n\
  -k <4,8,16,32,64,128> -overlaps <0,2,...,30>; larger ones are left out once a k takes three times its least\n\
  -counts <file>                   cycles that are known, lines of: dimension,n,k,overlap,cycles; others are counted\n\
  -count_only                      counts cycles of islam1d and islam2d, prints such lines, and measures nothing\n\
  -csv <file> -commit <id> -device <name> -budget <seconds>\n\
Progress goes to standard error.\n";

/* Decides what is measured and in which order. The baselines are those of classic.h; all else is plain PETSc with hjacobi's options, but
   for single sweeps, which look inside the PC */
#include "../problem.h"
#include "../bench/report.h"
#include "classic.h"
#include "pc/hjpc.h"

#define MAX_SETTINGS 32

enum { ISLAM1D, ISLAM2D, LARGE, SCHEDULES, GILES, DENSE, KOCHUROV, NCASES };
static const char *const cases[NCASES] = {"islam1d", "islam2d", "large", "schedules", "giles", "dense", "kochurov"};

#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  #define HAVE_GPU 1
#endif

typedef struct {
  Output    out;
  PetscBool gpu, count_only;
  PetscInt  n, n3, n_large, n_slab, nk, noverlaps, nsizes, k[MAX_SETTINGS], overlap[MAX_SETTINGS], size[MAX_SETTINGS];
  char      counts[PETSC_MAX_PATH_LEN], memory[32];
} Paper;

/* One line of the CSV and of the screen. seconds: of count cycles or iterations; value: what follows from it */
static PetscErrorCode Report(Paper *p, const char *name, PetscInt n, const char *what, PetscInt k, PetscInt overlap, PetscInt count,
                             PetscReal seconds, PetscReal value, const char *unit)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-8s %6" PetscInt_FMT "  %-28s k %3" PetscInt_FMT " o %2" PetscInt_FMT " %8" PetscInt_FMT
                        " in %10.4f s  %9.4g %s\n",
                        name, n, what, k, overlap, count, (double)seconds, (double)value, unit));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &p->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, p->out.csv,
                         "%s,%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%.6g,%.6g,%s\n", name, n, what, k,
                         overlap, count, (double)seconds, (double)value, unit));
  PetscCall(OutputFlush(&p->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stencil matrix of one row: 2 dim on the diagonal and -1 beside it in the first dim directions, times scale. host: stays on the host */
static PetscErrorCode CreateLaplace(PetscInt dim, const PetscInt N[3], PetscReal scale, PetscBool host, DM *da, Mat *A, Vec *x, Vec *b)
{
  const DMBoundaryType  none   = DM_BOUNDARY_NONE;
  const DMDAStencilType star   = DMDA_STENCIL_STAR;
  const MatStencil      col[7] = {{.i = 0}, {.i = -1}, {.i = 1}, {.j = -1}, {.j = 1}, {.k = -1}, {.k = 1}};
  PetscScalar           row[7];

  PetscFunctionBegin;
  if (N[2] > 1) PetscCall(DMDACreate3d(PETSC_COMM_WORLD, none, none, none, star, N[0], N[1], N[2], 1, 1, 1, 1, 1, NULL, NULL, NULL, da));
  else PetscCall(DMDACreate2d(PETSC_COMM_WORLD, none, none, star, N[0], N[1], 1, 1, 1, 1, NULL, NULL, da));
  PetscCall(DMSetMatType(*da, MATHJSTENCIL));
  PetscCall(DMSetFromOptions(*da));
  if (host) PetscCall(DMSetVecType(*da, VECSTANDARD));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  for (PetscInt i = 0; i <= 2 * dim; i++) row[i] = i ? -scale : 2.0 * dim * scale;
  PetscCall(MatHJStencilSetRow(*A, 1 + 2 * dim, col, row));
  PetscCall(DMCreateGlobalVector(*da, x));
  PetscCall(VecDuplicate(*x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPRICHARDSON with hjacobi, undamped. overlap PETSC_DECIDE: exact. norm NONE: its cycles without a look */
static PetscErrorCode CreateSolver(Mat A, DM da, PetscInt k, PetscInt overlap, PetscInt tile_y, KSPNormType norm, PetscInt its, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(*ksp, norm));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, PETSC_TRUE));
  if (norm == KSP_NORM_NONE) {
    PetscCall(KSPSetConvergenceTest(*ksp, KSPConvergedSkip, NULL, NULL));
  } else {
    PetscCall(KSPConvergedDefaultSetUIRNorm(*ksp));
  }
  PetscCall(KSPSetTolerances(*ksp, 1e-4, 0.0, 1e10, its));
  PetscCall(KSPGetPC(*ksp, &pc));
  if (da) PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCHJacobiSetOverlap(pc, overlap));
  PetscCall(PCHJacobiSetTile(pc, 32, tile_y, 1));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCHJacobiSetOmega(pc, 1.0));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns when the work on the vector is done */
static PetscErrorCode Wait(Vec x)
{
  PetscScalar sum;

  PetscFunctionBegin;
  PetscCall(VecSum(x, &sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of a solve from x = 1, the least of three; of fewer where they take more than a third of a second */
static PetscErrorCode TimeSolve(KSP ksp, Vec b, Vec x, PetscReal *seconds)
{
  PetscFunctionBegin;
  *seconds = PETSC_MAX_REAL;
  for (int i = 0; i < 3 && i * (i ? *seconds : 0) < 0.3; i++) {
    double start;

    PetscCall(VecSet(x, 1.0));
    PetscCall(Wait(x));
    start = MPI_Wtime();
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(x));
    *seconds = PetscMin(*seconds, MPI_Wtime() - start);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles that reduce the residual by 1e-4 */
static PetscErrorCode CountCycles(Mat A, DM da, PetscInt k, PetscInt overlap, PetscInt tile_y, Vec b, Vec x, PetscInt *cycles)
{
  KSP                ksp;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, da, k, overlap, tile_y, KSP_NORM_UNPRECONDITIONED, 1000000, &ksp));
  PetscCall(VecSet(x, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, cycles));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "k = %" PetscInt_FMT ", overlap %" PetscInt_FMT ": %s", k, overlap,
             KSPConvergedReasons[reason]);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cycles that the file of -counts has for a case; 0: none. overlap PETSC_DECIDE: exact */
static PetscErrorCode KnownCycles(const Paper *p, PetscInt dim, PetscInt n, PetscInt k, PetscInt overlap, PetscInt *cycles)
{
  FILE *file;
  char  line[128];

  PetscFunctionBegin;
  *cycles = 0;
  if (!p->counts[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFOpen(PETSC_COMM_SELF, p->counts, "r", &file));
  while (!*cycles && fgets(line, sizeof(line), file)) {
    int v[5];

    if (sscanf(line, "%d,%d,%d,%d,%d", &v[0], &v[1], &v[2], &v[3], &v[4]) != 5) continue;
    if (v[0] == dim && v[1] == n && v[2] == k && v[3] == PetscMax(overlap, -1)) *cycles = v[4];
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles of dim directions of n points, as the papers find them: ahead of the time that is measured. Copies of a line take as many as one
   of them, which the host counts in less time. With an overlap of 2 (k - 1) a cycle is k iterations of the classic method */
static PetscErrorCode GetCycles(Paper *p, PetscInt dim, PetscInt n, PetscInt k, PetscInt overlap, PetscInt *cycles)
{
  const PetscInt N[3] = {n, dim == 1 ? 1 : n, 1};
  DM             da;
  Mat            A;
  Vec            x, b;

  PetscFunctionBegin;
  PetscCall(KnownCycles(p, dim, n, k, overlap, cycles));
  if (*cycles) PetscFunctionReturn(PETSC_SUCCESS);
  if (overlap >= 2 * (k - 1)) {
    PetscCall(GetCycles(p, dim, n, 1, PETSC_DECIDE, cycles));
    *cycles = (*cycles + k - 1) / k;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CreateLaplace(dim, N, PetscSqr(n + 1.0), (PetscBool)(dim == 1), &da, &A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CountCycles(A, da, k, overlap, dim == 1 ? 1 : 32, b, x, cycles));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "# counted: %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "\n", dim, n, k,
                        PetscMax(overlap, -1), *cycles));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All cycles of a case of Islam & Wang */
static PetscErrorCode CountAll(Paper *p, PetscInt dim)
{
  PetscInt cycles;

  PetscFunctionBegin;
  PetscCall(GetCycles(p, dim, p->n, 1, PETSC_DECIDE, &cycles));
  for (PetscInt i = 0; i < p->nk; i++)
    for (PetscInt j = 0; j < p->noverlaps; j++) PetscCall(GetCycles(p, dim, p->n, p->k[i], p->overlap[j], &cycles));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error unless x has a residual of 1e-4 of that of 1, to some digits */
static PetscErrorCode CheckReduction(Mat A, Vec b, Vec x)
{
  Vec       r, one;
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &one));
  PetscCall(VecSet(one, 1.0));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatMult(A, i ? x : one, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &norm[i]));
  }
  PetscCheck(norm[1] < 1.001e-4 * norm[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The residual was reduced by %g: the file of -counts is wrong",
             (double)(norm[1] / norm[0]));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ClassicHost(int dim, int n, int copies, double h2, const PetscScalar *b, PetscScalar *x, PetscScalar *y, int its,
                           double *seconds)
{
  const int    rows = dim == 1 ? copies : n;
  PetscScalar *from = x, *to = y;
  double       start = MPI_Wtime();

  PetscFunctionBegin;
  for (int it = 0; it < its; it++) {
    PetscScalar *swap = from;

    for (int j = 0; j < rows; j++) {
      const PetscScalar *line = from + (size_t)j * n, *south = dim == 2 && j ? line - n : NULL,
                        *north = dim == 2 && j < rows - 1 ? line + n : NULL;

      for (int i = 0; i < n; i++) {
        double sum = h2 * b[(size_t)j * n + i];

        if (i) sum += line[i - 1];
        if (i < n - 1) sum += line[i + 1];
        if (south) sum += south[i];
        if (north) sum += north[i];
        to[(size_t)j * n + i] = sum / (2 * dim);
      }
    }
    from = to;
    to   = swap;
  }
  *seconds = MPI_Wtime() - start;
  if (from != x) PetscCall(PetscArraycpy(x, from, (size_t)n * rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of one plain iteration, the best block taken; checked against one cycle of hjacobi's with k = 1 */
static PetscErrorCode TimeClassic(Paper *p, const char name[], PetscInt dim, PetscInt n, PetscInt its, PetscReal h2, Mat A, DM da, Vec b,
                                  Vec x, PetscReal *best)
{
  const int          blocks[2][5] = {{32, 64, 128, 256, 512}, {4, 8, 16, 32, 0}};
  const PetscScalar *d_b;
  PetscScalar       *d_x, *d_y;
  PetscReal          error;
  Vec                y, check;
  KSP                ksp;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &check));
  *best = PETSC_MAX_REAL;
  for (int i = 0; i < 5 && blocks[dim - 1][i]; i++) {
    const int block[2] = {dim == 1 ? blocks[0][i] : 32, dim == 1 ? 1 : blocks[1][i]};
    double    seconds  = 0;
    char      what[64];

    PetscCall(VecSet(x, 1.0));
    PetscCall(VecSet(y, 0.0));
    PetscCall(VecGetArrayReadAndMemType(b, &d_b, NULL));
    PetscCall(VecGetArrayAndMemType(x, &d_x, NULL));
    PetscCall(VecGetArrayAndMemType(y, &d_y, NULL));
#if defined(HAVE_GPU)
    if (p->gpu) PetscCall(ClassicGPU((int)dim, (int)n, (int)n, block, h2, d_b, d_x, d_y, its, &seconds));
#endif
    if (!p->gpu) PetscCall(ClassicHost((int)dim, (int)n, (int)n, h2, d_b, d_x, d_y, its, &seconds));
    PetscCall(VecRestoreArrayAndMemType(y, &d_y));
    PetscCall(VecRestoreArrayAndMemType(x, &d_x));
    PetscCall(VecRestoreArrayReadAndMemType(b, &d_b));
    PetscCall(PetscSNPrintf(what, sizeof(what), p->gpu ? "classic %d x %d" : "classic", block[0], block[1]));
    PetscCall(Report(p, name, n, what, 1, 0, its, seconds, 1e6 * seconds / its, "us an iteration"));
    *best = PetscMin(*best, seconds / its);
    if (!p->gpu) break;
  }
  PetscCall(CreateSolver(A, da, 1, PETSC_DECIDE, 32, KSP_NORM_NONE, its, &ksp));
  PetscCall(VecSet(check, 1.0));
  PetscCall(KSPSolve(ksp, b, check));
  PetscCall(VecAXPY(check, -1.0, x));
  PetscCall(VecNorm(check, NORM_INFINITY, &error));
  PetscCheck(error < 1e-12, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The plain iteration is another one: the answers differ by %g",
             (double)error);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&check));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds that b and x take to the GPU, and the answer back; 0 on a CPU */
static PetscErrorCode TimeTransfers(Paper *p, Vec x, Vec y, PetscReal *seconds)
{
  Vec    vecs[2] = {x, y};
  double start   = 0;

  PetscFunctionBegin;
  *seconds = 0;
  if (!p->gpu) PetscFunctionReturn(PETSC_SUCCESS);
  for (int trial = 0; trial < 2; trial++) { /* the first one allocates */
    const PetscScalar *read;

    for (int i = 0; i < 2; i++) {
      PetscScalar *a;

      PetscCall(VecGetArray(vecs[i], &a));
      PetscCall(VecRestoreArray(vecs[i], &a));
    }
    start = MPI_Wtime();
    for (int i = 0; i < 2; i++) {
      PetscCall(VecGetArrayReadAndMemType(vecs[i], &read, NULL));
      PetscCall(VecRestoreArrayReadAndMemType(vecs[i], &read));
    }
    PetscCall(VecScale(x, 1.0 + PETSC_MACHINE_EPSILON));
    PetscCall(VecGetArrayRead(x, &read));
    PetscCall(VecRestoreArrayRead(x, &read));
    *seconds = MPI_Wtime() - start;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Tables 1 to 4 and Figures 7, 9, 12, 13 of Islam & Wang: tiles of 32 points, the residual reduced by 1e-4 from x = 1. In 1D n copies of a
   line of n points are a 2D grid that is coupled in x alone, with tiles of one line
*/
static PetscErrorCode RunIslam(Paper *p, PetscInt dim)
{
  const PetscInt  N[3] = {p->n, p->n, 1}, tile_y = dim == 1 ? 1 : 32;
  const PetscReal scale     = PetscSqr(p->n + 1.0);
  const char     *name      = dim == 1 ? "islam1d" : "islam2d";
  PetscReal       iteration = 0, seconds = 0, transfers = 0, best;
  PetscInt        cycles, exact;
  PetscBool       go = PETSC_TRUE;
  DM              da;
  Mat             A;
  Vec             x, b;
  KSP             ksp;

  PetscFunctionBegin;
  PetscCall(CreateLaplace(dim, N, scale, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(TimeTransfers(p, x, b, &transfers));
  PetscCall(Report(p, name, p->n, "transfers", 0, 0, 3, transfers, 1e3 * transfers, "ms"));
  PetscCall(VecSet(b, 1.0));
  PetscCall(TimeClassic(p, name, dim, p->n, p->gpu ? 2000 : 20, 1 / scale, A, da, b, x, &iteration));
  PetscCall(GetCycles(p, dim, p->n, 1, PETSC_DECIDE, &exact));
  iteration *= exact;
  PetscCall(Report(p, name, p->n, "classic", 1, 0, exact, iteration, 1, "times as fast"));
  for (PetscInt i = 0; i < p->nk; i++) {
    /* Exact cycles of as many subiterations: those of the classic method */
    PetscCall(CreateSolver(A, da, p->k[i], PETSC_DECIDE, 32, KSP_NORM_NONE, (exact + p->k[i] - 1) / p->k[i], &ksp));
    PetscCall(TimeSolve(ksp, b, x, &seconds));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Report(p, name, p->n, "exact", p->k[i], 0, (exact + p->k[i] - 1) / p->k[i], seconds, iteration / seconds, "times as fast"));
    best = PETSC_MAX_REAL;
    for (PetscInt j = 0; j < p->noverlaps && (!j || seconds < 3 * best); j++) {
      PetscCall(OutputHasTime(PETSC_COMM_WORLD, &p->out, name, &go));
      if (!go) break;
      PetscCall(GetCycles(p, dim, p->n, p->k[i], p->overlap[j], &cycles));
      PetscCall(CreateSolver(A, da, p->k[i], p->overlap[j], tile_y, KSP_NORM_NONE, cycles, &ksp));
      PetscCall(TimeSolve(ksp, b, x, &seconds));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(CheckReduction(A, b, x));
      best = PetscMin(best, seconds);
      PetscCall(Report(p, name, p->n, "stale", p->k[i], p->overlap[j], cycles, seconds, iteration / seconds, "times as fast"));
      PetscCall(Report(p, name, p->n, "stale with transfers", p->k[i], p->overlap[j], cycles, seconds + transfers,
                       (iteration + transfers) / (seconds + transfers), "times as fast"));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   2D arrays that no cache holds: seconds of an iteration of the classic kernel beside those of an exact cycle's subiteration, which does
   the same; then stale cycles, whose worth is taken from the counts of a grid of 512 points
*/
static PetscErrorCode RunLarge(Paper *p)
{
  const PetscInt N[3] = {p->n_large, p->n_large, 1}, small = 512, its = p->gpu ? 64 : 4, ks[] = {8, 16, 32},
                 stale[][2] = {{16, 2}, {16, 4}, {32, 4}};
  const PetscReal scale     = PetscSqr(p->n_large + 1.0);
  PetscReal       iteration = 0, seconds = 0;
  PetscInt        classic, cycles;
  DM              da;
  Mat             A;
  Vec             x, b;
  KSP             ksp;

  PetscFunctionBegin;
  PetscCall(CreateLaplace(2, N, scale, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(TimeClassic(p, "large", 2, p->n_large, its, 1 / scale, A, da, b, x, &iteration));
  PetscCall(Report(p, "large", p->n_large, "classic", 1, 0, 1, iteration, 1, "times as fast"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ks); i++) {
    PetscCall(CreateSolver(A, da, ks[i], PETSC_DECIDE, 32, KSP_NORM_NONE, 256 / ks[i], &ksp));
    PetscCall(TimeSolve(ksp, b, x, &seconds));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Report(p, "large", p->n_large, "exact", ks[i], 0, 256 / ks[i], seconds, 256 * iteration / seconds, "times as fast"));
  }
  PetscCall(GetCycles(p, 2, small, 1, PETSC_DECIDE, &classic));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(stale); i++) {
    const PetscInt k = stale[i][0], overlap = stale[i][1], n = 256 / k;

    PetscCall(GetCycles(p, 2, small, k, overlap, &cycles));
    PetscCall(CreateSolver(A, da, k, overlap, 32, KSP_NORM_NONE, n, &ksp));
    PetscCall(TimeSolve(ksp, b, x, &seconds));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Report(p, "large", p->n_large, "stale", k, overlap, n, seconds, (PetscReal)classic / cycles * n * iteration / seconds,
                     "times as fast"));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The problem of islam2d by exact cycles of Chebyshev polynomials that fit its eigenvalues; with the norm after each cycle */
static PetscErrorCode RunSchedules(Paper *p)
{
  const PetscInt  N[3] = {p->n, p->n, 1}, ks[] = {64, 256, 512, 1024};
  const PetscReal scale = PetscSqr(p->n + 1.0), c = PetscCosReal(PETSC_PI / (p->n + 1));
  PetscReal       iteration = 0, seconds = 0;
  PetscInt        classic, cycles;
  DM              da;
  Mat             A;
  Vec             x, b;
  PC              pc;
  KSP             ksp;

  PetscFunctionBegin;
  PetscCall(CreateLaplace(2, N, scale, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(TimeClassic(p, "schedules", 2, p->n, p->gpu ? 2000 : 20, 1 / scale, A, da, b, x, &iteration));
  PetscCall(GetCycles(p, 2, p->n, 1, PETSC_DECIDE, &classic));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ks); i++) {
    PetscCall(CreateSolver(A, da, ks[i], PETSC_DECIDE, 32, KSP_NORM_UNPRECONDITIONED, 100000, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CHEBYSHEV));
    PetscCall(PCHJacobiSetEigenvalues(pc, 1 + c, 1 - c));
    PetscCall(KSPSetUp(ksp));
    PetscCall(TimeSolve(ksp, b, x, &seconds));
    PetscCall(KSPGetIterationNumber(ksp, &cycles));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(CheckReduction(A, b, x));
    PetscCall(Report(p, "schedules", p->n, "chebyshev", ks[i], 0, cycles, seconds, classic * iteration / seconds, "times as fast"));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kochurov et al.: 3D Laplace in the host's memory, swept by a GPU of less memory in slabs. The sizes of their Table 1 are bench_slab's */
static PetscErrorCode RunKochurov(Paper *p)
{
  const PetscInt  N[3] = {p->n_slab, p->n_slab, p->n_slab}, its = 400;
  const PetscReal points = (PetscReal)p->n_slab * p->n_slab * p->n_slab;
  PetscReal       seconds;
  DM              da;
  Mat             A;
  Vec             x, b;
  KSP             ksp;
  char            option[64];

  PetscFunctionBegin;
  if (!p->gpu) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# kochurov is left out: it needs a GPU\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSNPrintf(option, sizeof(option), "-pc_hjacobi_device_memory %s -pc_hjacobi_backend cuda", p->memory));
  PetscCall(PetscOptionsInsertString(NULL, option));
  PetscCall(CreateLaplace(3, N, 1, PETSC_TRUE, &da, &A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateSolver(A, da, 4, PETSC_DECIDE, 32, KSP_NORM_NONE, its / 4, &ksp));
  PetscCall(TimeSolve(ksp, b, x, &seconds));
  PetscCall(Report(p, "kochurov", p->n_slab, "slabs", 4, 0, its, seconds, 1e-9 * points * its / seconds, "G updates/s"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_device_memory"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_backend"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of its sweeps of the solver's operator from one array to another and back, as programs that swap pointers do them */
static PetscErrorCode TimeSweeps(KSP ksp, Vec b, Vec x, PetscInt its, PetscReal *seconds)
{
  const PetscReal    w[1] = {1.0};
  const PetscScalar *ba;
  PetscScalar       *xa, *ya;
  HJOperator        *op;
  Vec                y;
  PC                 pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  op = ((PC_HJacobi *)pc->data)->op;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecSet(y, 1.0));
  PetscCall(VecGetArrayReadAndMemType(b, &ba, NULL));
  PetscCall(VecGetArrayAndMemType(x, &xa, NULL));
  PetscCall(VecGetArrayAndMemType(y, &ya, NULL));
  *seconds = PETSC_MAX_REAL;
  for (int trial = 0; trial < 4; trial++) {
    const HJBox box   = op->grid.owned;
    HJSweep     first = {.write = box, .box = box, .ybox = box, .count = 1, .w = w, .overlap = -1, .x = xa, .b = ba, .y = ya}, s[2];
    PetscScalar one;
    double      start;

    s[0] = s[1] = first;
    s[1].x      = ya;
    s[1].y      = xa;
    PetscCall(op->ops->copy(op->backend, &one, xa, 1)); /* waits */
    start = MPI_Wtime();
    for (PetscInt i = 0; i < its; i++) PetscCall(op->ops->sweep(op->backend, 1, &s[i % 2]));
    PetscCall(op->ops->copy(op->backend, &one, xa, 1));
    *seconds = PetscMin(*seconds, MPI_Wtime() - start);
  }
  PetscCall(VecRestoreArrayAndMemType(y, &ya));
  PetscCall(VecRestoreArrayAndMemType(x, &xa));
  PetscCall(VecRestoreArrayReadAndMemType(b, &ba));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One sweep at a time on one core of the host, which Giles' paper compares with */
static PetscErrorCode RunGilesHost(Paper *p, const PetscInt N[3])
{
  const PetscReal points = (PetscReal)N[0] * N[1] * N[2];
  const PetscInt  its    = 4;
  PetscReal       seconds;
  DM              da;
  Mat             A;
  Vec             x, b;
  KSP             ksp;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-pc_hjacobi_backend host"));
  PetscCall(CreateLaplace(3, N, 1, PETSC_TRUE, &da, &A, &x, &b));
  PetscCall(VecSet(b, 0.0));
  PetscCall(CreateSolver(A, da, 1, PETSC_DECIDE, 32, KSP_NORM_NONE, 1, &ksp));
  PetscCall(TimeSweeps(ksp, b, x, its, &seconds));
  PetscCall(Report(p, "giles", N[0], "one sweep on the host", 1, 0, its, seconds, 24e-9 * points * its / seconds, "GB/s"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_backend"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Giles: sweeps of 3D Laplace. One at a time beside the rate of a copy, then many cycles of k, which passes of any length do */
static PetscErrorCode RunGiles(Paper *p)
{
  const PetscInt  N[3] = {p->n3, p->n3, p->n3}, its = p->gpu ? 100 : 4, ks[] = {4, 8};
  const PetscReal points = (PetscReal)p->n3 * p->n3 * p->n3;
  PetscReal       seconds, copy = PETSC_MAX_REAL;
  DM              da;
  Mat             A;
  Vec             x, b;
  KSP             ksp;
  double          start;

  PetscFunctionBegin;
  PetscCall(CreateLaplace(3, N, 1, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(VecSet(b, 0.0));
  for (int i = 0; i < 5; i++) {
    PetscCall(Wait(x));
    start = MPI_Wtime();
    for (int j = 0; j < its; j++) PetscCall(VecCopy(b, x));
    PetscCall(Wait(x));
    copy = PetscMin(copy, (MPI_Wtime() - start) / its);
  }
  PetscCall(Report(p, "giles", p->n3, "VecCopy", 0, 0, its, copy * its, 16e-9 * points / copy, "GB/s"));
  PetscCall(CreateSolver(A, da, 1, PETSC_DECIDE, 32, KSP_NORM_NONE, 1, &ksp));
  PetscCall(TimeSweeps(ksp, b, x, its, &seconds));
  PetscCall(Report(p, "giles", p->n3, "one sweep", 1, 0, its, seconds, 24e-9 * points * its / seconds, "GB/s"));
  PetscCall(TimeSolve(ksp, b, x, &seconds));
  PetscCall(Wait(x));
  start = MPI_Wtime();
  for (int j = 0; j < its; j++) PetscCall(KSPSolve(ksp, b, x)); /* each of one sweep, whose result is copied to x */
  PetscCall(Wait(x));
  seconds = MPI_Wtime() - start;
  PetscCall(Report(p, "giles", p->n3, "a solve of one sweep", 1, 0, its, seconds, 40e-9 * points * its / seconds, "GB/s"));
  PetscCall(KSPDestroy(&ksp));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ks); i++) {
    PetscCall(CreateSolver(A, da, ks[i], PETSC_DECIDE, 32, KSP_NORM_NONE, its, &ksp));
    PetscCall(TimeSolve(ksp, b, x, &seconds));
    PetscCall(Report(p, "giles", p->n3, "exact", ks[i], 0, its, seconds, 1e-9 * points * its * ks[i] / seconds, "G updates/s"));
    PetscCall(KSPDestroy(&ksp));
  }
  if (p->gpu) PetscCall(RunGilesHost(p, N));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonally dominant, entries between 0 and 1 / n from a hash of their place */
static PetscErrorCode CreateDense(Paper *p, PetscInt n, Mat *A, Vec *x, Vec *b)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, p->gpu ? MATSEQDENSECUDA : MATSEQDENSE));
  PetscCall(MatSetUp(*A));
#if defined(HAVE_GPU)
  if (p->gpu) {
    PetscCall(MatDenseCUDAGetArrayWrite(*A, &a));
    PetscCall(FillDenseGPU((int)n, a));
    PetscCall(MatDenseCUDARestoreArrayWrite(*A, &a));
  }
#endif
  if (!p->gpu) {
    PetscCall(MatDenseGetArrayWrite(*A, &a));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++) a[(size_t)j * n + i] = DenseEntry((int)n, (int)i, (int)j);
    PetscCall(MatDenseRestoreArrayWrite(*A, &a));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plain kernel, where the program has it */
static PetscErrorCode RunDenseClassic(Paper *p, PetscInt n, Mat A, Vec b, Vec x, PetscInt its, PetscInt count)
{
#if defined(HAVE_GPU)
  const PetscScalar *d_A, *d_b;
  PetscScalar       *d_x, *d_y;
  Vec                y;
  double             plain = 0;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(MatDenseCUDAGetArrayRead(A, &d_A));
  PetscCall(VecGetArrayReadAndMemType(b, &d_b, NULL));
  PetscCall(VecGetArrayAndMemType(x, &d_x, NULL));
  PetscCall(VecGetArrayAndMemType(y, &d_y, NULL));
  PetscCall(ClassicDenseGPU((int)n, d_A, d_b, d_x, d_y, (int)its, &plain));
  PetscCall(VecRestoreArrayAndMemType(y, &d_y));
  PetscCall(VecRestoreArrayAndMemType(x, &d_x));
  PetscCall(VecRestoreArrayReadAndMemType(b, &d_b));
  PetscCall(MatDenseCUDARestoreArrayRead(A, &d_A));
  PetscCall(Report(p, "dense", n, "classic by columns", 1, 0, count, plain / its * count, 8e-9 * n * n * its / plain, "GB/s"));
  PetscCall(VecDestroy(&y));
#else
  PetscFunctionBegin;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dense Jacobi by the matrix operator, until the update's 2-norm is below 1e-10; then a fixed number of iterations beside the plain kernel,
   and the rate at which so many numbers can be read */
static PetscErrorCode RunDense(Paper *p, PetscInt n)
{
  const PetscInt its = p->gpu ? 50 : 5;
  PetscReal      seconds, read = PETSC_MAX_REAL;
  PetscScalar    sum;
  PetscInt       count;
  Mat            A;
  Vec            x, b, all;
  KSP            ksp;

  PetscFunctionBegin;
  PetscCall(CreateDense(p, n, &A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateSolver(A, NULL, 1, PETSC_DECIDE, 32, KSP_NORM_PRECONDITIONED, 1000, &ksp));
  PetscCall(KSPSetTolerances(ksp, 0.0, 1e-10, 1e10, 1000));
  PetscCall(VecSet(x, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &count));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateSolver(A, NULL, 1, PETSC_DECIDE, 32, KSP_NORM_NONE, its, &ksp));
  PetscCall(TimeSolve(ksp, b, x, &seconds));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Report(p, "dense", n, "hjacobi", 1, 0, count, seconds / its * count, 8e-9 * n * n * its / seconds, "GB/s"));
  if (p->gpu) PetscCall(RunDenseClassic(p, n, A, b, x, its, count));
  PetscCall(VecCreate(PETSC_COMM_SELF, &all));
  PetscCall(VecSetSizes(all, n * n, n * n));
  PetscCall(VecSetType(all, p->gpu ? VECSEQCUDA : VECSEQ));
  PetscCall(VecSet(all, 1.0));
  for (int i = 0; i < 5; i++) {
    const double start = MPI_Wtime();

    PetscCall(VecDot(all, all, &sum));
    read = PetscMin(read, MPI_Wtime() - start);
  }
  PetscCall(Report(p, "dense", n, "VecDot of as many numbers", 0, 0, 1, read, 8e-9 * n * n / read, "GB/s"));
  PetscCall(VecDestroy(&all));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of an option, or those of a list */
static PetscErrorCode GetNumbers(const char option[], PetscInt n, const PetscInt defaults[], PetscInt *count, PetscInt values[])
{
  PetscBool given;

  PetscFunctionBegin;
  *count = MAX_SETTINGS;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, option, values, count, &given));
  if (given) PetscFunctionReturn(PETSC_SUCCESS);
  *count = n;
  PetscCall(PetscArraycpy(values, defaults, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Paper *p)
{
  const PetscInt k[] = {4, 8, 16, 32, 64, 128}, overlaps[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
                 sizes[] = {4096, 8192, 16384, 32768}, small[] = {4096, 8192, 16384};
  char type[64] = "";

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, VECCUDA, &p->gpu));
  p->n       = p->gpu ? 1024 : 128;
  p->n3      = p->gpu ? 256 : 128;
  p->n_large = p->gpu ? 8192 : 1024;
  p->n_slab  = 400;
  PetscCall(PetscStrncpy(p->memory, "500M", sizeof(p->memory)));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p->n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n_large", &p->n_large, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n_slab", &p->n_slab, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-memory", p->memory, sizeof(p->memory), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-count_only", &p->count_only, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-counts", p->counts, sizeof(p->counts), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &p->n3, NULL));
  PetscCall(GetNumbers("-k", (PetscInt)PETSC_STATIC_ARRAY_LENGTH(k), k, &p->nk, p->k));
  PetscCall(GetNumbers("-overlaps", (PetscInt)PETSC_STATIC_ARRAY_LENGTH(overlaps), overlaps, &p->noverlaps, p->overlap));
  PetscCall(GetNumbers("-sizes", p->gpu ? 4 : 3, p->gpu ? sizes : small, &p->nsizes, p->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Paper     p = {.n = 0};
  PetscBool wanted[NCASES];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ReadOptions(&p));
  PetscCall(OutputOpen("case,n,what,k,overlap,count,seconds,value,unit", &p.out));
  PetscCall(ReadNames("-cases", NCASES, cases, NCASES, wanted));
  for (int dim = 1; dim <= 2; dim++)
    if (wanted[dim == 1 ? ISLAM1D : ISLAM2D]) PetscCall(p.count_only ? CountAll(&p, dim) : RunIslam(&p, dim));
  if (wanted[LARGE]) PetscCall(RunLarge(&p));
  if (wanted[SCHEDULES]) PetscCall(RunSchedules(&p));
  if (wanted[GILES]) PetscCall(RunGiles(&p));
  for (PetscInt i = 0; i < p.nsizes && wanted[DENSE]; i++) PetscCall(RunDense(&p, p.size[i]));
  if (wanted[KOCHUROV]) PetscCall(RunKochurov(&p));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, p.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
