/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Arrays of coefficients of which most are symmetric, as where rows beside known points alone keep their columns: finds the lines whose
   coefficients of slots that lead to earlier points are, bit for bit, those of the opposite slots there. Sweeps then read fewer arrays.
*/
#include "hjhostsweep.h"

/* Points that are compared at a time */
#define HJ_MIRROR_SOME 32
/* On shorter lines it takes as long to do points again as it takes to read another array */
#define HJ_MIRROR_LEAST 64

/* First point from one on at which numbers differ in a bit; n: none */
static PetscInt HJMirrorDiffer(const PetscScalar *a, const PetscScalar *b, PetscInt from, PetscInt n)
{
  while (from + HJ_MIRROR_SOME <= n && !memcmp(a + from, b + from, HJ_MIRROR_SOME * sizeof(*a))) from += HJ_MIRROR_SOME;
  while (from < n && !memcmp(a + from, b + from, sizeof(*a))) from++;
  return from;
}

/* Whether a slot's coefficients at n points lie elsewhere too, but for those points that are left to be done again */
static PetscBool HJMirrorSlot(PetscInt n, const PetscScalar *own, const PetscScalar *other, PetscInt most, HJLineMirror *m)
{
  PetscInt found = 0;

  for (PetscInt i = HJMirrorDiffer(own, other, 0, n); i < n; i = HJMirrorDiffer(own, other, i + 1, n)) {
    if (found == most) return PETSC_FALSE;
    m->except[found]  = i;
    m->value[found++] = own[i];
  }
  m->nexcept += found;
  return PETSC_TRUE;
}

static void HJMirrorLine(const HJHost *h, PetscCount at, PetscInt n, HJLineMirror *m)
{
  *m = (HJLineMirror){.slots = 0};
  for (PetscInt o = 1; o < h->st.nslots; o++) {
    const PetscCount there = at + h->mirror_shift[o];
    const PetscInt   most  = o == h->mirror_along && n >= HJ_MIRROR_LEAST ? HJ_MIRROR_EXCEPT : 0;

    if (HJShapeIsUpper(h->st.dim, h->st.shape, o)) continue;
    if (there < 0 || there + n > HJBoxSize(&h->st.box)) continue; /* where planes have one line a slot may lead on */
    if (HJMirrorSlot(n, h->array[o] + at, h->mirror[o] + there, most, m)) m->slots |= 1u << o;
  }
}

PetscErrorCode HJHostFindMirrors(HJHost *h)
{
  const HJBox     *box   = &h->st.box;
  const PetscInt   n     = HJBoxWidth(box, 0);
  const PetscCount lines = HJBoxSize(box) / PetscMax(n, 1);

  PetscFunctionBegin;
  if (h->st.storage != HJ_VARIABLE || h->st.dof > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt o = 1; o < h->st.nslots; o++) {
    PetscInt off[3];

    HJShapeOffset(h->st.dim, h->st.shape, o, off);
    h->mirror_shift[o] = ((PetscCount)off[2] * HJBoxWidth(box, 1) + off[1]) * n + off[0];
    h->mirror[o]       = h->array[HJShapeOpposite(h->st.dim, h->st.shape, o)];
    if (h->mirror_shift[o] == -1) h->mirror_along = o;
  }
  if (!h->mirrors) PetscCall(PetscMalloc1(lines, &h->mirrors));
  for (PetscCount l = 0; l < lines; l++) HJMirrorLine(h, l * n, n, &h->mirrors[l]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
