/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   A stale cycle is restricted additive Schwarz: PCASM with the tiles as subdomains and Richardson/Jacobi inside gives the same numbers.
*/
#include "hjproblem.h"

/* Sorted global indices of the points [lo, hi) (coordinates of the whole grid) from the ghosted numbering of da */
static PetscErrorCode BoxIS(DM da, const PetscInt lo[3], const PetscInt hi[3], IS *is)
{
  ISLocalToGlobalMapping map;
  const PetscInt        *global;
  PetscInt               g[3], w[3], n = 0, *idx;

  PetscFunctionBegin;
  PetscCall(DMDAGetGhostCorners(da, &g[0], &g[1], &g[2], &w[0], &w[1], &w[2]));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &global));
  PetscCall(PetscMalloc1((hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]), &idx));
  for (PetscInt k = lo[2]; k < hi[2]; k++)
    for (PetscInt j = lo[1]; j < hi[1]; j++)
      for (PetscInt i = lo[0]; i < hi[0]; i++) idx[n++] = global[((k - g[2]) * w[1] + j - g[1]) * w[0] + i - g[0]];
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &global));
  PetscCall(PetscSortInt(n, idx));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, idx, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles of this rank in one direction (DESIGN.md, The method) */
static PetscInt Tiles(PetscInt s, PetscInt n, PetscInt N, PetscInt T, PetscInt o, PetscInt lo[], PetscInt hi[], PetscInt own_lo[],
                      PetscInt own_hi[])
{
  const PetscInt e_lo = s > 0 ? o / 2 : 0, e_hi = s + n < N ? o / 2 : 0;

  for (PetscInt t = 0;; t++) {
    lo[t]     = s + t * (T - o) - e_lo;
    hi[t]     = PetscMin(lo[t] + T, s + n + e_hi);
    own_lo[t] = t ? lo[t] + o / 2 : s;
    own_hi[t] = hi[t] == s + n + e_hi ? s + n : hi[t] - o / 2;
    if (hi[t] == s + n + e_hi) return t + 1;
  }
}

static PetscErrorCode CreateASM(const Problem *p, DM wide, Mat A, PetscInt k, PetscInt T, PetscInt o, PetscReal omega, PC *pc)
{
  PetscInt s[3], n[3], count[3] = {1, 1, 1}, lo[3][64], hi[3][64], own_lo[3][64], own_hi[3][64], total = 0;
  IS      *tile, *own;
  KSP     *sub;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(wide, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  for (PetscInt d = 0; d < 3; d++) {
    lo[d][0] = own_lo[d][0] = 0;
    hi[d][0] = own_hi[d][0] = 1;
    if (d < p->dim) count[d] = Tiles(s[d], n[d], p->n[d], T, o, lo[d], hi[d], own_lo[d], own_hi[d]);
  }
  PetscCall(PetscMalloc2(count[0] * count[1] * count[2], &tile, count[0] * count[1] * count[2], &own));
  for (PetscInt c = 0; c < count[2]; c++)
    for (PetscInt b = 0; b < count[1]; b++)
      for (PetscInt a = 0; a < count[0]; a++) {
        PetscCall(BoxIS(wide, (PetscInt[3]){lo[0][a], lo[1][b], lo[2][c]}, (PetscInt[3]){hi[0][a], hi[1][b], hi[2][c]}, &tile[total]));
        PetscCall(BoxIS(wide, (PetscInt[3]){own_lo[0][a], own_lo[1][b], own_lo[2][c]},
                        (PetscInt[3]){own_hi[0][a], own_hi[1][b], own_hi[2][c]}, &own[total]));
        total++;
      }
  PetscCall(ProblemPC(NULL, A, PCASM, pc));
  PetscCall(PCASMSetType(*pc, PC_ASM_RESTRICT));
  PetscCall(PCASMSetOverlap(*pc, 0));
  PetscCall(PCASMSetLocalSubdomains(*pc, total, tile, own));
  PetscCall(PCSetUp(*pc));
  PetscCall(PCASMGetSubKSP(*pc, NULL, NULL, &sub));
  for (PetscInt i = 0; i < total; i++) {
    PC inner;

    PetscCall(KSPSetType(sub[i], KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(sub[i], omega));
    PetscCall(KSPSetNormType(sub[i], KSP_NORM_NONE));
    PetscCall(KSPSetConvergenceTest(sub[i], KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetTolerances(sub[i], PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, k));
    PetscCall(KSPGetPC(sub[i], &inner));
    PetscCall(PCSetType(inner, PCJACOBI));
    PetscCall(ISDestroy(&tile[i]));
    PetscCall(ISDestroy(&own[i]));
  }
  PetscCall(PetscFree2(tile, own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestASM(PetscInt dim, PetscInt N, Coefficient coefficient, PetscInt k, PetscInt T, PetscInt o)
{
  Problem         p     = {dim, {N, dim > 1 ? N - 3 : 1, dim > 2 ? N + 2 : 1}, DIRICHLET, coefficient, PETSC_FALSE};
  const PetscReal omega = 0.9;
  DM              da, wide;
  Mat             A;
  PC              oracle, pc;
  Vec             b, x, y;
  PetscBool       agree = PETSC_FALSE;
  PetscReal       diff;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &wide));
  PetscCall(DMSetDimension(wide, dim));
  PetscCall(DMDASetSizes(wide, p.n[0], p.n[1], p.n[2]));
  PetscCall(DMDASetDof(wide, 1));
  PetscCall(DMDASetStencilWidth(wide, PetscMax(o / 2, 1)));
  PetscCall(DMDASetStencilType(wide, DMDA_STENCIL_BOX));
  PetscCall(DMSetUp(wide));
  PetscCall(CreateASM(&p, wide, A, k, T, o, omega, &oracle));
  PetscCall(ProblemPC(da, A, PCHJACOBI, &pc));
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCHJacobiSetOverlap(pc, o));
  PetscCall(PCHJacobiSetTile(pc, T, T, T));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCHJacobiSetOmega(pc, omega));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(oracle, b, y));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecsAgree(x, y, 16 * PETSC_MACHINE_EPSILON * k * k, &agree, &diff));
  PetscCall(HJTestOK(agree, "%dD %s, k = %d, tile %d, overlap %d: one cycle equals PCASM (%g)", (int)dim, CoefficientNames()[coefficient],
                     (int)k, (int)T, (int)o, (double)diff));
  PetscCall(HJTestDestroy(&oracle, &pc, &x, &y, &b, &A, &da, &wide));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(TestASM(1, 100, CONSTANT, 9, 12, 0));
  PetscCall(TestASM(1, 100, JUMP, 16, 12, 4));
  PetscCall(TestASM(2, 61, CONSTANT, 8, 16, 4));
  PetscCall(TestASM(2, 61, VARYING, 5, 10, 2));
  PetscCall(TestASM(2, 61, CONVECTION, 7, 16, 6));
  PetscCall(TestASM(3, 23, CONSTANT, 6, 8, 2));
  PetscCall(TestASM(3, 23, VARYING, 4, 9, 4));
  return HJTestEnd();
}
