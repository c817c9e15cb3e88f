/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "The stencil matrix (hjstencil) beside AIJ, ratios measured in one run: products, transfers, CG + multigrid, set-up, memory.\n\
  -cases <mult2d,mult3d,transfer2d,transfer3d,mg2d,mg3d,small2d,small3d,jump2d,variable3d,whole3d,setup2d,setup3d,refresh2d,refresh3d>\n\
                       comma-separated; run in this order\n\
  -n2 <n> -n3 <n>      points in each direction, in place of those of the case (m 2^l + 1)\n\
  -k <list>            sweeps of hjacobi that are tried (default: a few), on GPUs by CG with weights of both kinds and -ksp_knoll\n\
  -below <list>        those on all grids but the finest, tried with factors and hjmg, 0: as many as there, hjmg its own numbers\n\
                       (default: 0, on GPUs also 3, 5 and 8)\n\
  -leave_out <list>    how many of the coarsest grids are left out, the next one then solved by hjacobi (default: 0, on GPUs 0 and some;\n\
                        where there are several, also as many as leave factors of at most 1152 points, and all but the finest,\n\
                        the next one then by a cycle of hjmg)\n\
  -peer_k <list> -peer_leave_out <list> -peer_below <list>   the same on AIJ (default: those without peer_)\n\
  -peer <1>            0: without AIJ, for a quick look\n\
  -attempts            a line for each solver that is tried\n\
  -cpu_time            the processor's time in place of the clock's, on a CPU that others use too; one rank\n\
  -repetitions <5>\n\
  -fillings <values,arrays,row,coo>   by which the cases setup2d and setup3d fill hjstencil; COO of AIJ goes with coo\n\
  -budget <0>          seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
GPU: add -dm_vec_type cuda; AIJ is then aijcusparse\n";

/*
   Decides what is timed, how it is checked first, and which bar it is held against. Decides no problem (problem.h) and no way of filling
   a matrix (fillings.h). A timing ends when the device is done (MachineTime()).
*/
#include "matproducts.h"
#include "matsetup.h"
#include "matsolves.h"

/*
   In the order of importance; points in each direction on a CPU and on a GPU.
   mult: MatMult(), MatResidual() with constant coefficients, then arrays, on a CPU also a dictionary (a jump). On a GPU arrays are measured
   as a part of the rate of VecCopy(), counting the bytes that must move: half of the arrays of a symmetric matrix.
   transfer: restriction, and interpolation that is added, counted in the same way.
   mg, small: CG + multigrid to 1e-8, hjacobi on both matrices and chebyshev/jacobi on AIJ, each at its best of the numbers of sweeps in -k
   and of coarsest grids in -leave_out; on a GPU also with factors of the largest grid of at most 1152 points ("factors"), with a cycle of
   hjmg in place of all grids below the finest ("hjmg"), with these also with other numbers of sweeps below (-below), by schedules of the
   first kind ("first kind") and from a cycle's result ("knoll"); there also the copies between host and GPU in one KSPSolve().
   jump, variable: the same with Galerkin's matrices, of a coefficient that jumps by 10,000, of one that varies.
   whole: a program that fills by MatSetValuesStencil(), sets up and solves once; on a CPU beside hypre's pfmg if PETSc has it.
   refresh: new values (MatSetValuesCOO(), on a GPU from its memory) to a Galerkin hierarchy that is ready.
   setup: from nothing to the end of the first V-cycle by each way of filling; apart from it PETSc's own set-up of grids, as its log has it,
   and the program's own work, measured apart. The median of three set-ups, of AIJ one; then memory of matrices and GPU, and the same
   without the vectors that PETSc makes whatever the matrix is. A whole run on a GPU needs 15 GB of host memory.
*/
static const struct {
  const char *name;
  PetscErrorCode (*run)(Bench *, const char *, Problem);
  PetscInt dim, n[2];
} cases[] = {{"mult2d", RunMultBoth, 2, {2049, 4097}},     {"mult3d", RunMultBoth, 3, {161, 257}},
             {"transfer2d", RunTransfer, 2, {2049, 4097}}, {"transfer3d", RunTransfer, 3, {161, 257}},
             {"mg2d", RunMultigrid, 2, {1025, 4097}},      {"mg3d", RunMultigrid, 3, {97, 257}},
             {"small2d", RunSmall, 2, {257, 257}},         {"small3d", RunSmall, 3, {65, 65}},
             {"jump2d", RunGalerkin, 2, {1025, 2049}},     {"variable3d", RunGalerkin, 3, {65, 129}},
             {"whole3d", RunWhole, 3, {129, 129}},         {"refresh2d", RunRefresh, 2, {1025, 4097}},
             {"refresh3d", RunRefresh, 3, {65, 257}},      {"setup2d", RunSetUp, 2, {1025, 4097}},
             {"setup3d", RunSetUp, 3, {97, 257}}};

#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases))

/* What is not given stays */
static PetscErrorCode ReadTries(const char k[], const char leave_out[], const char below[], Tries *t)
{
  PetscInt  n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(t->k), nleave = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(t->leave_out);
  PetscInt  nbelow = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(t->below);
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, k, t->k, &n, &given));
  if (given) t->nk = n;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, leave_out, t->leave_out, &nleave, &given));
  if (given) t->nleave = nleave;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, below, t->below, &nbelow, &given));
  if (given) t->nbelow = nbelow;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Bench *b)
{
  const Tries tries[2] = {{{2, 3, 4, 6}, 4, {0}, 1, {0}, 1},
                          {{4, 6, 7, 8, 10}, 5, {0, 2, 3, 4}, 4, {0, 3, 5, 8}, 4}}; /* on a CPU, on a GPU */

  PetscFunctionBegin;
  PetscCall(GetRepetitions(&b->repetitions));
  PetscCall(ReadNames("-fillings", FILLINGS, our_filling_names, FILLINGS, b->fillings));
  PetscCall(MachineOpen(&b->machine));
  b->aij = b->machine.cuda ? "aijcusparse" : MATAIJ;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &b->size));
  b->aij_filling = b->size > 1 ? FILLING_VALUES : FILLING_CSR;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &b->n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &b->n[3], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peer", &b->peer, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-attempts", &b->attempts, NULL));
  b->tries[0] = tries[b->machine.cuda];
  PetscCall(ReadTries("-k", "-leave_out", "-below", &b->tries[0]));
  b->tries[1] = b->tries[0];
  PetscCall(ReadTries("-peer_k", "-peer_leave_out", "-peer_below", &b->tries[1]));
  PetscCall(OutputOpen("case,dim,n,what,matrix,repetitions,k,median_s,spread,value,unit,times_aij,bar,reached", &b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b = {.repetitions = 5, .peer = PETSC_TRUE};
  const char *names[NCASES];
  PetscBool   wanted[NCASES];
  double      start;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ReadOptions(&b));
  for (PetscInt c = 0; c < NCASES; c++) names[c] = cases[c].name;
  PetscCall(ReadNames("-cases", NCASES, names, NCASES, wanted));
  for (PetscInt c = 0; c < NCASES; c++) {
    const Problem p = {.dim = cases[c].dim, .n = b.n[cases[c].dim] ? b.n[cases[c].dim] : cases[c].n[b.machine.cuda]};

    if (wanted[c]) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b.out, names[c], &wanted[c]));
    if (!wanted[c]) continue;
    start = MPI_Wtime();
    PetscCall(cases[c].run(&b, names[c], p));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s took %.0f s\n", names[c], MPI_Wtime() - start));
  }
  PetscCall(MachineClose(&b.machine));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
