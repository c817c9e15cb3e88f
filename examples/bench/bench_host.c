/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Speed of hjacobi beside PETSc's own smoothers, ratios measured in one run.\n\
  -cases <2d,3d,2dmg,3dmg,2dvar,3dvar,2dbox,3dbox>   comma-separated; run in this order\n\
  -n2 <4097> -n3 <257>      points in each direction\n\
  -k <8>                    subiterations a cycle of the smoother cases\n\
  -cycles <4>               cycles a timing\n\
  -repetitions <5>\n\
  -budget <0>               seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
GPU: add -dm_vec_type cuda -dm_mat_type aijcusparse\n";

/*
   Decides what is timed against what, checks that both give the same answer first, and writes a table and CSV. Decides no problem
   (problem.h). One timing ends when the device is done (ProblemTime()).
*/
#include "../problem.h"
#include "report.h"

typedef struct {
  PetscInt    n[4]; /* by dimension */
  PetscInt    k, cycles, repetitions;
  char        vec_type[32];
  PetscMPIInt size;
  Output      out;
} Bench;

/* rate: G updates/s, or iterations of a whole solve; ratio: to the peer of the same case, above 1 is faster */
static PetscErrorCode Report(Bench *b, const char *name, const Problem *p, const char *what, PetscInt k, const Times *t, const char *unit,
                             PetscReal rate, PetscReal ratio)
{
  const PetscReal median = Median(t), spread = Spread(t);

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-6s %5" PetscInt_FMT "^%" PetscInt_FMT "  %-28s %3" PetscInt_FMT "  %10.4f s  +%3.0f%%  %9.4g %-6s  %6.2f\n",
                        name, p->n, p->dim, what, k, (double)median, (double)(100 * spread), (double)rate, unit, (double)ratio));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%d,%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.6g,%.4f,%.6g,%s,%.4f\n",
                         b->size, b->vec_type, name, p->dim, p->n, what, k, t->n, (double)median, (double)spread, (double)rate, unit,
                         (double)ratio));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSmoother(Bench *b, const char *pctype, Mat A, DM da, KSP *ksp)
{
  const PetscInt its = b->k * b->cycles;
  PC             pc;
  PetscBool      hjacobi;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(pctype, "hjacobi", &hjacobi));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, hjacobi ? "hjacobi_" : "jacobi_"));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPRICHARDSON));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(*ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, hjacobi ? b->cycles : its));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeSolve(KSP ksp, Vec rhs, Vec x, PetscReal *seconds)
{
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(VecSet(x, 1.0));
  PetscCall(ProblemTime(x, &t0));
  PetscCall(KSPSolve(ksp, rhs, x));
  PetscCall(ProblemTime(x, &t1));
  *seconds = t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Both apply the same weights, so after the same subiterations they agree to rounding: eps times their number, and 10 for the length of a
   row's sum
*/
static PetscErrorCode CheckSame(Bench *b, Vec x, Vec y)
{
  const PetscReal limit = 10 * PETSC_MACHINE_EPSILON * b->k * b->cycles;
  PetscReal       norm, difference;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &difference));
  PetscCheck(difference <= limit * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "hjacobi and richardson/jacobi differ by %g, more than %g",
             (double)difference, (double)(limit * norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds to fill and assemble the matrix, and of PCSetUp on it */
static PetscErrorCode CreateProblem(const Problem *p, DM *da, Mat *A, Vec *rhs, PetscReal *assembly)
{
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ProblemCreateRHS(p, *da, rhs));
  PetscCall(ProblemTime(*rhs, &t0));
  PetscCall(ProblemFillMatrix(p, *da, *A));
  PetscCall(ProblemTime(*rhs, &t1));
  *assembly = t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchSmoother(Bench *b, const char *name, Problem p)
{
  DM             da;
  Mat            A;
  Vec            rhs, x, y;
  KSP            peer, ours;
  PetscLogDouble t0 = 0, t1 = 0;
  PetscReal      points, updates;
  Times          tp = {.n = b->repetitions}, to = {.n = b->repetitions}, tassembly = {.n = 1}, tsetup = {.n = 1};

  PetscFunctionBegin;
  points  = PetscPowRealInt((PetscReal)p.n, (int)p.dim);
  updates = points * b->k * b->cycles / 1e9;
  PetscCall(CreateProblem(&p, &da, &A, &rhs, &tassembly.s[0]));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(VecDuplicate(rhs, &y));
  PetscCall(CreateSmoother(b, PCJACOBI, A, da, &peer));
  PetscCall(KSPSetUp(peer));
  PetscCall(CreateSmoother(b, "hjacobi", A, da, &ours));
  PetscCall(ProblemTime(rhs, &t0));
  PetscCall(KSPSetUp(ours));
  PetscCall(ProblemTime(rhs, &t1));
  tsetup.s[0] = t1 - t0;
  PetscCall(TimeSolve(peer, rhs, x, &tp.s[0]));
  PetscCall(TimeSolve(ours, rhs, y, &to.s[0]));
  PetscCall(CheckSame(b, x, y));
  for (PetscInt r = 0; r < b->repetitions; r++) {
    PetscCall(TimeSolve(peer, rhs, x, &tp.s[r]));
    PetscCall(TimeSolve(ours, rhs, y, &to.s[r]));
  }
  PetscCall(Report(b, name, &p, "richardson/jacobi", 1, &tp, "Gup/s", updates / Median(&tp), 1));
  PetscCall(Report(b, name, &p, "richardson/hjacobi", b->k, &to, "Gup/s", updates / Median(&to), Median(&tp) / Median(&to)));
  PetscCall(Report(b, name, &p, "fill and assemble", 0, &tassembly, "Mrow/s", points / 1e6 / tassembly.s[0], 1));
  PetscCall(Report(b, name, &p, "hjacobi set-up", b->k, &tsetup, "Mrow/s", points / 1e6 / tsetup.s[0], tassembly.s[0] / tsetup.s[0]));
  PetscCall(KSPDestroy(&peer));
  PetscCall(KSPDestroy(&ours));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&rhs));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name, *options;
  PetscInt    sweeps[6], per_iteration; /* sweeps of one iteration: SOR's symmetric one does 2 */
} LevelSmoother;

static const LevelSmoother level_smoothers[] =
  {{"chebyshev/jacobi", PROBLEM_CHEBYSHEV, {1, 2, 3, 4}, 1},
   {"richardson/sor", "-mg_levels_ksp_type richardson -mg_levels_pc_type sor -mg_levels_ksp_max_it %" PetscInt_FMT, {2, 4, 6, 8}, 2},
   {"richardson/hjacobi", PROBLEM_HJACOBI, {1, 2, 3, 4, 6, 8}, 1}};

static PetscErrorCode SolveMultigrid(const Hierarchy *h, const LevelSmoother *s, PetscInt sweeps, Times *t, PetscInt *its)
{
  char               options[512];
  KSP                ksp;
  PetscLogDouble     t0 = 0, t1 = 0;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), s->options, sweeps / s->per_iteration));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(HierarchyCreateSolver(h, 0, NULL, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, h->rhs, h->x));
  PetscCall(ProblemTrueResidual(ksp, &residual));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0 && residual < 1.01e-8, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED,
             "%s, %" PetscInt_FMT " sweeps: reason %d, true residual %g", s->name, sweeps, (int)reason, (double)residual);
  for (PetscInt r = 0; r < t->n; r++) {
    PetscCall(ProblemTime(h->x, &t0));
    PetscCall(KSPSolve(ksp, h->rhs, h->x));
    PetscCall(ProblemTime(h->x, &t1));
    t->s[r] = t1 - t0;
  }
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every smoother at every number of sweeps; then the best of each peer against our best */
static PetscErrorCode BenchMultigrid(Bench *b, const char *name, Problem p)
{
  DM        da;
  Hierarchy h    = {0};
  PetscReal base = 0, best[3];
  PetscInt  its;
  Times     t = {.n = PetscMax(b->repetitions / 2, 2)};

  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, &p, &da));
  PetscCall(HierarchyCreate(&p, da, ProblemLevels(&p), ProblemFillMatrix, &h));
  PetscCall(DMDestroy(&da));
  for (int i = 0; i < 3; i++) {
    const LevelSmoother *s = &level_smoothers[i];

    best[i] = PETSC_MAX_REAL;
    for (int j = 0; j < 6 && s->sweeps[j]; j++) {
      PetscCall(SolveMultigrid(&h, s, s->sweeps[j], &t, &its));
      best[i] = PetscMin(best[i], Median(&t));
      if (base == 0) base = best[i];
      PetscCall(Report(b, name, &p, s->name, s->sweeps[j], &t, "its", its, base / Median(&t)));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-6s best of each: hjacobi %.2f times as fast as chebyshev/jacobi, %.2f times as fast as sor\n",
                        name, (double)(best[0] / best[2]), (double)(best[1] / best[2])));
  PetscCall(HierarchyDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *b, const char *name)
{
  Problem   p = {.dim = name[0] - '0'};
  PetscBool mg, go = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b->out, name, &go));
  if (!go) PetscFunctionReturn(PETSC_SUCCESS);
  p.n = b->n[p.dim];
  PetscCall(PetscStrcmp(name + 1, "dvar", &p.variable));
  PetscCall(PetscStrcmp(name + 1, "dbox", &p.box));
  PetscCall(PetscStrcmp(name + 1, "dmg", &mg));
  if (mg) PetscCall(BenchMultigrid(b, name, p));
  else PetscCall(BenchSmoother(b, name, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Bench *b)
{
  char options[256];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &b->size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &b->n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &b->n[3], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-k", &b->k, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &b->cycles, NULL));
  PetscCall(GetRepetitions(&b->repetitions));
  /* Weights of 0.8, so that both do the same arithmetic */
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-jacobi_ksp_richardson_scale 0.8 -hjacobi_pc_hjacobi_schedule jacobi -hjacobi_pc_hjacobi_omega 0.8 "
                          "-hjacobi_pc_hjacobi_k %" PetscInt_FMT,
                          b->k));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", b->vec_type, sizeof(b->vec_type), NULL));
  PetscCall(OutputOpen("ranks,vectors,case,dim,n,what,k,repetitions,median_s,spread,rate,unit,ratio", &b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b       = {.n = {0, 0, 4097, 257}, .k = 8, .cycles = 4, .repetitions = 5, .vec_type = "cpu"};
  const char *cases[] = {"2d", "3d", "2dmg", "3dmg", "2dvar", "3dvar", "2dbox", "3dbox"};
  PetscBool   wanted[8];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ReadOptions(&b));
  PetscCall(ReadNames("-cases", 8, cases, 8, wanted));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "case    points  what                           k    median      spread       rate         ratio\n"));
  for (PetscInt i = 0; i < 8; i++)
    if (wanted[i]) PetscCall(RunCase(&b, cases[i]));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
