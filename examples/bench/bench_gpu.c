/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Speed of hjacobi's cycles on one GPU through the PC, beside PETSc's own smoothers, ratios measured in one run.\n\
  -cases <apply,mg,exact,stale,variable,box,identity,jump,periodic,small,staged>   comma-separated; run in this order\n\
  -dim <2>              of cycles and multigrid, only these grids (default: all)\n\
  -sweeps <1,2,3,4>     of multigrid\n\
  -scale <1>            divides the points in each direction (a quick look: -scale 8)\n\
  -repetitions <7>\n\
  -budget <0>           seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n";

/*
   Decides what is timed, in the order of importance, and which bar it is held against; checks every case against the same subiterations
   through MatMult() before it is timed. Matrices with one row for all points are stencil matrices, the others are made as CSR arrays, since
   MatSetValuesStencil() would take minutes at these sizes.
*/
#include "../problem.h"
#include "report.h"

#define NAMES 11
static const char *const names[NAMES] = {"apply",    "mg",   "exact",    "stale", "variable", "box",
                                         "identity", "jump", "periodic", "small", "staged"};

typedef struct {
  const char *name;
  PetscInt    dim, n;
  /* identity: constant, with identity rows on the domain's boundary; periodic: constant; jump: two materials, rows of the diagonal
     alone on the boundary; arrays: the same with values that vary a little, which no dictionary holds */
  enum { CONSTANT, IDENTITY, PERIODIC, JUMP, ARRAYS, SYMMETRIC, UNSYMMETRIC } kind;
  PetscBool   box;
  const char *options;
  PetscInt    its, k[6];
  PetscReal   bar; /* G updates/s */
} Case;

/* Cases of one matrix follow one another: it is made once */
static const Case cases[] = {{"exact", 2, 16385, CONSTANT, PETSC_FALSE, "", 2, {4, 6, 7, 8, 9, 16}, 1150},
                             {"stale", 2, 16385, CONSTANT, PETSC_FALSE, "-pc_hjacobi_overlap 4 -pc_hjacobi_tile 32", 2, {16}, 800},
                             {"stale", 2, 16385, CONSTANT, PETSC_FALSE, "-pc_hjacobi_overlap 4 -pc_hjacobi_tile 48", 2, {16}, 800},
                             {"stale", 2, 16385, CONSTANT, PETSC_FALSE, "-pc_hjacobi_overlap 4 -pc_hjacobi_tile 64", 2, {16}, 800},
                             {"exact", 3, 513, CONSTANT, PETSC_FALSE, "", 2, {2, 3, 4, 5, 6, 8}, 470},
                             {"variable", 3, 385, SYMMETRIC, PETSC_FALSE, "", 2, {1, 2, 3, 4}, 110},
                             {"variable", 3, 385, UNSYMMETRIC, PETSC_FALSE, "", 2, {1, 2, 3, 4}, 80},
                             {"variable", 2, 8193, SYMMETRIC, PETSC_FALSE, "", 2, {2, 4, 5, 6, 8}, 260},
                             {"variable", 2, 8193, UNSYMMETRIC, PETSC_FALSE, "", 2, {2, 4, 5, 6, 8}, 200},
                             {"box", 3, 385, CONSTANT, PETSC_TRUE, "", 2, {1, 2, 3, 4}, 220},
                             {"box", 2, 8193, CONSTANT, PETSC_TRUE, "", 2, {2, 4, 5, 6, 8}, 450},
                             {"identity", 2, 4097, IDENTITY, PETSC_FALSE, "", 2, {4, 6, 8}, 0},
                             {"identity", 3, 257, IDENTITY, PETSC_FALSE, "", 2, {2, 3, 4}, 0},
                             {"jump", 2, 4097, ARRAYS, PETSC_FALSE, "", 2, {4, 6, 8}, 0},
                             {"jump", 2, 4097, JUMP, PETSC_FALSE, "", 2, {4, 6, 8}, 700},
                             {"periodic", 2, 4096, CONSTANT, PETSC_FALSE, "", 2, {4, 8}, 0},
                             {"periodic", 2, 4096, PERIODIC, PETSC_FALSE, "", 2, {4, 8}, 0},
                             {"periodic", 3, 256, CONSTANT, PETSC_FALSE, "", 2, {2, 4, 8}, 0},
                             {"periodic", 3, 256, PERIODIC, PETSC_FALSE, "", 2, {2, 4, 8}, 0},
                             {"exact", 2, 4097, CONSTANT, PETSC_FALSE, "", 2, {4, 6, 7, 8, 9, 16}, 0},
                             {"exact", 3, 257, CONSTANT, PETSC_FALSE, "", 2, {2, 3, 4, 5, 6, 8}, 0},
                             {"exact", 1, 67108864, CONSTANT, PETSC_FALSE, "", 2, {8, 16, 32, 48, 64}, 2000}};

typedef struct {
  PetscInt    repetitions, scale, dim, sweeps[8], nsweeps;
  PetscBool   wanted[NAMES];
  Output      out;
  const Case *made; /* whose matrix A is, NULL for none */
  DM          da;
  Mat         A;
  PetscReal   rate[6]; /* of the last case, for each of its k */
} Bench;

/* ratio: to the bar or to the peer; 0 where there is none */
static PetscErrorCode Report(Bench *b, const char *name, PetscInt dim, PetscInt n, const char *what, PetscInt k, const Times *t,
                             PetscReal value, const char *unit, PetscReal bar, PetscReal ratio)
{
  const PetscReal median = Median(t), spread = Spread(t);

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-9s %9" PetscInt_FMT "^%" PetscInt_FMT "  %-44s %3" PetscInt_FMT " %10.4f ms +%3.0f%% %9.4g %-9s", name, n, dim,
                        what, k, 1e3 * (double)median, 100 * (double)spread, (double)value, unit));
  if (bar > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  bar %g: %.2f", (double)bar, (double)ratio));
  else if (ratio > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  ratio %.2f", (double)ratio));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",\"%s\",%" PetscInt_FMT ",%" PetscInt_FMT ",%.6g,%.4f,%.6g,%s,%g,%.4f\n",
                         name, dim, n, what, k, t->n, (double)median, (double)spread, (double)value, unit, (double)bar, (double)ratio));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coupling of the points at and at + off, the same from both sides; unsymmetric: more along than against x */
static inline PetscReal Coupling(const Case *c, PetscInt n, const PetscInt at[3], const PetscInt off[3])
{
  const PetscInt far = PetscAbsInt(off[0]) + PetscAbsInt(off[1]) + PetscAbsInt(off[2]);
  PetscReal      a   = 1.0 / far;

  if (c->kind == JUMP || c->kind == ARRAYS) {
    const PetscReal x = (at[0] + 0.5 * off[0]) / (n - 1), y = (at[1] + 0.5 * off[1]) / (n - 1);
    if (x > 0.3 && x < 0.7 && y > 0.25 && y < 0.6) a *= 1e4;
  }
  if (c->kind >= ARRAYS) a *= 1 + 1e-3 * ((2 * at[0] + off[0] + 3 * (2 * at[1] + off[1]) + 5 * (2 * at[2] + off[2])) % 997);
  return c->kind == UNSYMMETRIC ? a * (1 + 0.1 * off[0]) : a;
}

static inline PetscBool OnBoundary(const Case *c, PetscInt n, const PetscInt at[3])
{
  for (PetscInt d = 0; d < c->dim; d++)
    if (at[d] == 0 || at[d] == n - 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Row of one point, columns ascending; zero Dirichlet values outside. With a jump the boundary's columns are eliminated, so that the
   matrix is symmetric */
static PetscInt Row(const Case *c, PetscInt n, const PetscInt at[3], PetscInt row, PetscInt col[], PetscScalar v[])
{
  const PetscBool jump = (PetscBool)(c->kind == JUMP || c->kind == ARRAYS), boundary = OnBoundary(c, n, at);
  PetscReal       diagonal = 0;
  PetscInt        count = 0, centre = 0;

  if (c->kind == IDENTITY && boundary) {
    col[0] = row;
    v[0]   = 1;
    return 1;
  }
  for (PetscInt z = c->dim > 2 ? -1 : 0; z <= (c->dim > 2); z++)
    for (PetscInt y = c->dim > 1 ? -1 : 0; y <= (c->dim > 1); y++)
      for (PetscInt x = -1; x <= 1; x++) {
        const PetscInt off[3] = {x, y, z}, far = PetscAbsInt(x) + PetscAbsInt(y) + PetscAbsInt(z);
        PetscInt       to[3];
        PetscBool      outside = PETSC_FALSE;
        PetscReal      a;

        if (far > 1 && !c->box) continue;
        for (PetscInt d = 0; d < 3; d++) {
          to[d]   = at[d] + off[d];
          outside = (PetscBool)(outside || (off[d] && (to[d] < 0 || to[d] >= n)));
          to[d]   = (to[d] + n) % n;
        }
        if (!far) {
          centre       = count;
          col[count++] = row;
          continue;
        }
        a = Coupling(c, n, at, off);
        diagonal += a;
        if ((outside && c->kind != PERIODIC) || (jump && (boundary || OnBoundary(c, n, to)))) continue;
        col[count] = to[0] + n * (to[1] + n * to[2]);
        v[count++] = -a;
      }
  v[centre] = diagonal;
  if (c->kind == PERIODIC) PetscCallAbort(PETSC_COMM_SELF, PetscSortIntWithScalarArray(count, col, v));
  return count;
}

static PetscErrorCode CreateGrid(const Case *c, const PetscInt size[3], DM *da)
{
  const DMBoundaryType side = c->kind == PERIODIC ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;

  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, size[0], size[1], size[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetBoundaryType(*da, side, c->dim > 1 ? side : DM_BOUNDARY_NONE, c->dim > 2 ? side : DM_BOUNDARY_NONE));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, c->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetVecType(*da, VECCUDA));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of the middle of 3 points in each direction, for all points */
static PetscErrorCode CreateStencilMatrix(const Case *c, DM da, Mat *A)
{
  const PetscInt middle[3] = {1, c->dim > 1, c->dim > 2};
  PetscInt       col[27], n;
  PetscScalar    v[27];
  MatStencil     offset[27];
  PetscErrorCode (*set)(Mat, PetscInt, const MatStencil[], const PetscScalar[]);

  PetscFunctionBegin;
  PetscCall(DMSetMatType(da, "hjstencil"));
  PetscCall(DMCreateMatrix(da, A));
  n = Row(c, 3, middle, middle[0] + 3 * (middle[1] + 3 * middle[2]), col, v);
  for (PetscInt e = 0; e < n; e++)
    offset[e] = (MatStencil){.i = col[e] % 3 - middle[0], .j = col[e] / 3 % 3 - middle[1], .k = col[e] / 9 - middle[2]};
  PetscCall(PetscObjectQueryFunction((PetscObject)*A, "MatHJStencilSetRow_C", &set));
  PetscCall((*set)(*A, n, offset, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCSR(const Case *c, PetscInt n, const PetscInt size[3], Mat *A)
{
  const PetscInt rows = size[0] * size[1] * size[2], width = c->box ? (c->dim == 3 ? 27 : 9) : 2 * c->dim + 1;
  PetscInt      *ia, *ja, row = 0;
  PetscScalar   *va;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(rows + 1, &ia));
  PetscCall(PetscMalloc1((PetscCount)rows * width, &ja));
  PetscCall(PetscMalloc1((PetscCount)rows * width, &va));
  ia[0] = 0;
  for (PetscInt k = 0; k < size[2]; k++)
    for (PetscInt j = 0; j < size[1]; j++)
      for (PetscInt i = 0; i < size[0]; i++, row++)
        ia[row + 1] = ia[row] + Row(c, n, (PetscInt[3]){i, j, k}, row, ja + ia[row], va + ia[row]);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, rows, rows, rows, rows));
  PetscCall(MatSetType(*A, MATSEQAIJCUSPARSE));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, ia, ja, va));
  PetscCall(PetscFree(ia));
  PetscCall(PetscFree(ja));
  PetscCall(PetscFree(va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* csr: for a peer that needs it */
static PetscErrorCode CreateMatrix(const Case *c, PetscInt n, PetscBool csr, DM *da, Mat *A)
{
  const PetscInt size[3] = {n, c->dim > 1 ? n : 1, c->dim > 2 ? n : 1};

  PetscFunctionBegin;
  PetscCall(CreateGrid(c, size, da));
  if (csr || (c->kind != CONSTANT && c->kind != PERIODIC)) PetscCall(CreateCSR(c, n, size, A));
  else PetscCall(CreateStencilMatrix(c, *da, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a case, which stays until another one is needed */
static PetscErrorCode GetMatrix(Bench *b, const Case *c, PetscInt n)
{
  const Case *old = b->made;

  PetscFunctionBegin;
  if (old && c && old->dim == c->dim && old->n == c->n && old->kind == c->kind && old->box == c->box) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(&b->A));
  PetscCall(DMDestroy(&b->da));
  if (c) PetscCall(CreateMatrix(c, n, PETSC_FALSE, &b->da, &b->A));
  b->made = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, DM da, PetscInt k, const char *options, PC *pc)
{
  char own[128];

  PetscFunctionBegin;
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_overlap"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_tile"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_operator"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_eigenvalues"));
  PetscCall(PetscSNPrintf(own, sizeof(own), "-pc_hjacobi_k %" PetscInt_FMT, k));
  PetscCall(PetscOptionsInsertString(NULL, own));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetType(*pc, "hjacobi"));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Cycles(PC pc, Vec b, Vec x, Vec w, PetscInt its, PetscReal *seconds)
{
  PetscLogDouble              t0 = 0, t1 = 0;
  PetscInt                    done;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemTime(x, &t0));
  PetscCall(PCApplyRichardson(pc, b, x, w, 0, 0, 0, its, PETSC_FALSE, &done, &reason));
  PetscCall(ProblemTime(x, &t1));
  *seconds = t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounding grows with the square of the subiterations at most; y is lost */
static PetscErrorCode CheckSame(const char name[], PetscInt dim, PetscInt subiterations, Vec x, Vec y)
{
  const PetscReal limit = 64 * PETSC_MACHINE_EPSILON * PetscSqr(subiterations);
  PetscReal       norm, difference;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &difference));
  PetscCheck(difference <= limit * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s %" PetscInt_FMT "D, %" PetscInt_FMT " subiterations: two ways differ by %g of %g", name, dim, subiterations,
             (double)difference, (double)norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact cycles equal those through MatMult(), which get the same bound: to find it again would take compressed rows */
static PetscErrorCode Check(const Case *c, Mat A, DM da, PetscInt k, PC pc, Vec b, Vec x, Vec w)
{
  PetscReal seconds, emax, emin;
  PC        slow;
  Vec       y;
  char      options[128];
  PetscErrorCode (*get)(PC, PetscReal *, PetscReal *);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCHJacobiGetEigenvalues_C", &get));
  PetscCall((*get)(pc, &emax, &emin));
  PetscCall(
    PetscSNPrintf(options, sizeof(options), "-pc_hjacobi_operator matrix -pc_hjacobi_eigenvalues %.17g,%.17g", (double)emin, (double)emax));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecSet(y, 1.0));
  PetscCall(Cycles(pc, b, x, w, c->its, &seconds));
  PetscCall(CreatePC(A, da, k, options, &slow));
  PetscCall(Cycles(slow, b, y, w, c->its, &seconds));
  PetscCall(PCDestroy(&slow));
  PetscCall(CheckSame(c->name, c->dim, c->its * k, x, y));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCycles(Bench *b, const Case *c)
{
  const PetscInt n = c->dim == 1 || c->n % 2 == 0 ? c->n / b->scale : (c->n - 1) / b->scale + 1;
  char           what[128];
  Vec            rhs, x, w;
  PC             pc;
  Times          t = {.n = b->repetitions};

  PetscFunctionBegin;
  PetscCall(GetMatrix(b, c, n));
  PetscCall(MatCreateVecs(b->A, &x, &rhs));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecSetRandom(rhs, NULL));
  for (PetscInt i = 0; i < 6 && c->k[i]; i++) {
    const PetscReal updates = PetscPowRealInt((PetscReal)n, (int)c->dim) * c->its * c->k[i] / 1e9;
    PetscReal       bar     = b->scale == 1 ? c->bar : 0;

    if (c->kind == PERIODIC) bar = 0.85 * b->rate[i]; /* the case before is the same without periodicity */
    PetscCall(CreatePC(b->A, b->da, c->k[i], c->options, &pc));
    if (!c->options[0] && (PetscReal)c->k[i] * n <= 2e9) PetscCall(Check(c, b->A, b->da, c->k[i], pc, rhs, x, w));
    PetscCall(VecSet(x, 1.0));
    PetscCall(Cycles(pc, rhs, x, w, c->its, &t.s[0]));
    for (PetscInt r = 0; r < b->repetitions; r++) PetscCall(Cycles(pc, rhs, x, w, c->its, &t.s[r]));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s%s %s",
                            c->kind == CONSTANT    ? "constant"
                            : c->kind == IDENTITY  ? "constant, identity rows"
                            : c->kind == PERIODIC  ? "periodic"
                            : c->kind == JUMP      ? "jump, dictionary"
                            : c->kind == ARRAYS    ? "jump, arrays"
                            : c->kind == SYMMETRIC ? "symmetric"
                                                   : "unsymmetric",
                            c->box ? " box" : "", c->options));
    b->rate[i] = updates / Median(&t);
    PetscCall(Report(b, c->name, c->dim, n, what, c->k[i], &t, b->rate[i], "Gup/s", bar, bar > 0 ? b->rate[i] / bar : 0));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One PCApply() of k = 4 against 4 sweeps of richardson/jacobi from a zero guess */
static PetscErrorCode RunApply(Bench *b, PetscInt dim, PetscInt n, PetscReal bar)
{
  const Case     c = {"apply", dim, n, CONSTANT, PETSC_FALSE, "", 1, {4}, bar};
  DM             da;
  Mat            A;
  Vec            rhs, x, y;
  PC             pc, inner;
  KSP            ksp;
  Times          ours = {.n = b->repetitions}, peer = {.n = b->repetitions};
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(&c, n, PETSC_TRUE, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &rhs));
  PetscCall(VecSetRandom(rhs, NULL));
  PetscCall(CreatePC(A, da, 4, "-pc_hjacobi_operator matrix", &pc));
  PetscCall(PCApply(pc, rhs, x));
  PetscCall(PCDestroy(&pc));
  PetscCall(CreatePC(A, da, 4, "", &pc));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(PCApply(pc, rhs, y));
  PetscCall(CheckSame("apply", dim, 4, x, y));
  PetscCall(VecDestroy(&y));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "peer_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPGetPC(ksp, &inner));
  PetscCall(PCSetType(inner, PCJACOBI));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 4));
  for (PetscInt r = -2; r < b->repetitions; r++) {
    const PetscInt inner_reps = 10, at = PetscMax(r, 0); /* short: time ten */

    PetscCall(ProblemTime(x, &t0));
    for (PetscInt i = 0; i < inner_reps; i++) PetscCall(PCApply(pc, rhs, x));
    PetscCall(ProblemTime(x, &t1));
    ours.s[at] = (t1 - t0) / inner_reps;
    PetscCall(ProblemTime(x, &t0));
    for (PetscInt i = 0; i < inner_reps; i++) PetscCall(KSPSolve(ksp, rhs, x));
    PetscCall(ProblemTime(x, &t1));
    peer.s[at] = (t1 - t0) / inner_reps;
  }
  PetscCall(Report(b, "apply", dim, n, "richardson/jacobi, 4 sweeps", 4, &peer, 1e3 * Median(&peer), "ms", 0, 0));
  PetscCall(
    Report(b, "apply", dim, n, "PCApply, hjacobi", 4, &ours, Median(&peer) / Median(&ours), "x", bar, Median(&peer) / Median(&ours) / bar));
  PetscCall(PCDestroy(&pc));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One PCApply() with the matrix and the vectors on the host: copied to the GPU and back, and by a core of the host */
static PetscErrorCode RunStaged(Bench *b, PetscInt dim, PetscInt n)
{
  const Problem  p   = {.dim = dim, .n = n};
  const PetscInt k[] = {4, 8, 16};
  DM             da;
  Mat            A;
  Vec            rhs, x[2];
  Times          t[2] = {{.n = b->repetitions}, {.n = b->repetitions}};
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-dm_vec_type standard -dm_mat_type aij"));
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, &p, &da));
  PetscCall(PetscOptionsInsertString(NULL, "-dm_vec_type cuda -dm_mat_type aijcusparse"));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFillMatrix(&p, da, A));
  PetscCall(MatCreateVecs(A, &x[0], &rhs));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecSetRandom(rhs, NULL));
  for (int i = 0; i < 3; i++) {
    for (int host = 0; host < 2; host++) {
      PC pc;

      PetscCall(CreatePC(A, da, k[i], host ? "-pc_hjacobi_backend host" : "-pc_hjacobi_backend cuda", &pc));
      for (PetscInt r = -1; r < b->repetitions; r++) {
        PetscCall(PetscTime(&t0));
        PetscCall(PCApply(pc, rhs, x[host]));
        PetscCall(PetscTime(&t1));
        t[host].s[PetscMax(r, 0)] = t1 - t0;
      }
      PetscCall(PCDestroy(&pc));
    }
    PetscCall(CheckSame("staged", dim, k[i], x[1], x[0]));
    PetscCall(Report(b, "staged", dim, n, "host vectors, a core of the host", k[i], &t[1], 1e3 * Median(&t[1]), "ms", 0, 0));
    PetscCall(Report(b, "staged", dim, n, "host vectors, copied to the GPU", k[i], &t[0], Median(&t[1]) / Median(&t[0]), "x", 0, 0));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_backend"));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wall time of one of 1000 PCApply() of k = 8 back to back */
static PetscErrorCode RunSmall(Bench *b, PetscInt dim, PetscInt n, PetscBool box, PetscReal bar)
{
  const Case     c = {"small", dim, n, CONSTANT, box, "", 1, {8}, bar};
  DM             da;
  Mat            A;
  Vec            rhs, x, w;
  PC             pc;
  Times          t  = {.n = b->repetitions};
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(&c, n, PETSC_FALSE, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &rhs));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecSetRandom(rhs, NULL));
  PetscCall(CreatePC(A, da, 8, "", &pc));
  PetscCall(Check(&c, A, da, 8, pc, rhs, x, w));
  for (PetscInt r = -1; r < b->repetitions; r++) {
    PetscCall(ProblemTime(x, &t0));
    for (PetscInt i = 0; i < 1000; i++) PetscCall(PCApply(pc, rhs, x));
    PetscCall(ProblemTime(x, &t1));
    t.s[PetscMax(r, 0)] = (t1 - t0) / 1000;
  }
  PetscCall(Report(b, "small", dim, n, box ? "PCApply, box" : "PCApply", 8, &t, 1e6 * Median(&t), "us", bar, bar / (1e6 * Median(&t))));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time of one PCApply() of PCMG. leave_out: so many coarsest levels are left out, and hjacobi solves the coarsest grid */
static PetscErrorCode TimeMultigrid(Bench *b, const Problem *p, const Hierarchy *h, const char *prefix, const char *smoother,
                                    PetscInt sweeps, PetscInt leave_out, Times *t)
{
  char           options[512];
  KSP            ksp;
  PC             pc;
  PetscLogDouble t0 = 0, t1 = 0;
  PetscReal      residual;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), smoother, sweeps));
  PetscCall(PetscOptionsPrefixPush(NULL, prefix));
  PetscCall(PetscOptionsInsertString(NULL, options));
  if (leave_out) PetscCall(ProblemSolveCoarsest(p->dim, (PetscInt[3]){p->n, p->n, p->n}, h->n - leave_out - 1, 0));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(HierarchyCreateSolver(h, leave_out, prefix, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, h->rhs, h->x));
  PetscCall(ProblemTrueResidual(ksp, &residual));
  PetscCheck(residual < 1.01e-8, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s%" PetscInt_FMT " sweeps: true residual %g", prefix, sweeps,
             (double)residual);
  PetscCall(KSPGetPC(ksp, &pc));
  for (PetscInt r = -2; r < b->repetitions; r++) {
    PetscCall(ProblemTime(h->x, &t0));
    for (PetscInt i = 0; i < 5; i++) PetscCall(PCApply(pc, h->rhs, h->x));
    PetscCall(ProblemTime(h->x, &t1));
    t->s[PetscMax(r, 0)] = (t1 - t0) / 5;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMultigrid(Bench *b, PetscInt dim, PetscInt n)
{
  const PetscInt *sweeps   = b->sweeps;
  Problem         p        = {.dim = dim, .n = n};
  const PetscInt leave_out = PetscMin(ProblemLevels(&p) - 2, dim == 2 ? 4 : 3); /* 33^2 and 17^3 are the coarsest of the usual grids then */
  Times          peer = {.n = b->repetitions}, ours = peer, coarsest = peer;
  PetscReal      ratio;
  Hierarchy      h = {0};
  DM             da;

  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, &p, &da));
  PetscCall(HierarchyCreate(&p, da, ProblemLevels(&p), ProblemFillMatrix, &h));
  PetscCall(DMDestroy(&da));
  PetscCall(VecSetRandom(h.rhs, NULL));
  for (PetscInt i = 0; i < b->nsweeps; i++) {
    const PetscReal bar = sweeps[i] == 2 ? 3.0 : sweeps[i] == 4 ? 4.5 : 0;

    PetscCall(TimeMultigrid(b, &p, &h, "peer_", PROBLEM_CHEBYSHEV, sweeps[i], 0, &peer));
    PetscCall(TimeMultigrid(b, &p, &h, "our_", PROBLEM_HJACOBI, sweeps[i], 0, &ours));
    PetscCall(TimeMultigrid(b, &p, &h, "coarsest_", PROBLEM_HJACOBI, sweeps[i], leave_out, &coarsest));
    ratio = Median(&peer) / Median(&ours);
    PetscCall(Report(b, "mg", dim, n, "PCApply of PCMG, chebyshev/jacobi", sweeps[i], &peer, 1e3 * Median(&peer), "ms", 0, 0));
    PetscCall(Report(b, "mg", dim, n, "PCApply of PCMG, richardson/hjacobi", sweeps[i], &ours, ratio, "x", bar, bar > 0 ? ratio / bar : 0));
    PetscCall(
      Report(b, "mg", dim, n, "the same, coarsest grid by hjacobi", sweeps[i], &coarsest, Median(&peer) / Median(&coarsest), "x", 0, 0));
  }
  PetscCall(HierarchyDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSmallGrids(Bench *b)
{
  const PetscInt n2[] = {33, 65, 129, 257}, n3[] = {17, 33, 65};

  PetscFunctionBegin;
  for (int i = 0; i < 8; i++) PetscCall(RunSmall(b, 2, n2[i % 4], (PetscBool)(i > 3), n2[i % 4] < 257 ? 8 : 12));
  for (int i = 0; i < 6; i++) PetscCall(RunSmall(b, 3, n3[i % 3], (PetscBool)(i > 2), n3[i % 3] < 65 ? 8 : 12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A case that is wanted, if there is time; dim 0: one of all dimensions */
static PetscErrorCode Wanted(const Bench *b, const char *name, PetscInt dim, PetscBool *wanted)
{
  PetscInt  i    = 0;
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  for (; i < NAMES && !same; i++) PetscCall(PetscStrcmp(name, names[i], &same));
  *wanted = (PetscBool)(same && b->wanted[i - 1] && (!b->dim || !dim || b->dim == dim));
  if (*wanted) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b->out, name, wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunAll(Bench *b)
{
  PetscBool go = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; dim++) {
    PetscCall(Wanted(b, "apply", dim, &go));
    if (go) PetscCall(RunApply(b, dim, (dim == 2 ? 4096 : 256) / b->scale + 1, dim == 2 ? 30 : 18));
  }
  for (PetscInt dim = 2; dim <= 3; dim++) {
    PetscCall(Wanted(b, "mg", dim, &go));
    if (go) PetscCall(RunMultigrid(b, dim, (dim == 2 ? 4096 : 256) / b->scale + 1));
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    PetscCall(Wanted(b, cases[i].name, cases[i].dim, &go));
    if (go) PetscCall(RunCycles(b, &cases[i]));
  }
  PetscCall(GetMatrix(b, NULL, 0));
  PetscCall(Wanted(b, "small", 0, &go));
  if (go) PetscCall(RunSmallGrids(b));
  for (PetscInt dim = 2; dim <= 3; dim++) {
    PetscCall(Wanted(b, "staged", dim, &go));
    if (go) PetscCall(RunStaged(b, dim, (dim == 2 ? 1024 : 128) / b->scale + 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     b = {.repetitions = 7, .scale = 1, .sweeps = {1, 2, 3, 4}, .nsweeps = 8};
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsInsertString(NULL, "-dm_vec_type cuda -dm_mat_type aijcusparse"));
  PetscCall(GetRepetitions(&b.repetitions));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &b.scale, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &b.dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-sweeps", b.sweeps, &b.nsweeps, &given));
  if (!given) b.nsweeps = 4;
  PetscCall(OutputOpen("case,dim,n,what,k,repetitions,median_s,spread,value,unit,bar,ratio", &b.out));
  PetscCall(ReadNames("-cases", NAMES, names, NAMES, b.wanted));
  PetscCall(RunAll(&b));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}
