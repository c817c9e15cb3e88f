/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Work on coefficient arrays in one memory, for the host and for a device: what a stencil matrix is filled, scaled and added with.
   Decides nothing.
*/
#pragma once

#include "hjdistinct.h"

/*
   Entries of a COO list by the places that they go to: those of place[m] are entry[first[m]] to entry[first[m + 1] - 1], in their order.
   Or, where no two go to one place, and many places have one: the entry of each place, -1 where there is none, at HJCOOTurn()
*/
typedef struct {
  PetscInt    n;
  PetscCount *place; /* [n] */
  PetscInt   *first; /* [n + 1] */
  PetscInt   *entry;
  PetscInt    nslots;
  PetscCount  npoints;
  PetscInt   *which; /* [HJCOOTurns()], or NULL */
} HJCOOList;

/* Points whose places come slot after slot: entries of a row mostly come together, and so both they and the arrays are met in order */
#define HJ_COO_RUN 32

static inline HJ_HOST_DEVICE PetscCount HJCOOTurn(PetscInt nslots, PetscInt slot, PetscCount point)
{
  return (point / HJ_COO_RUN * nslots + slot) * HJ_COO_RUN + point % HJ_COO_RUN;
}

static inline PetscCount HJCOOTurns(PetscInt nslots, PetscCount npoints)
{
  return (npoints + HJ_COO_RUN - 1) / HJ_COO_RUN * HJ_COO_RUN * nslots;
}

/* Of a grid */
#define HJ_MAX_SIDES 6

/* What the slot of an entry follows from where row and column are this rank's */
typedef struct {
  PetscInt start, end;      /* rows of this rank */
  PetscInt dim, n[3], N[3]; /* points of this rank and of all; of a direction that is not periodic N is 0 */
  HJShape  shape;
  PetscInt nslots;
} HJCOOGrid;

/* What the array of a slot holds */
typedef struct {
  PetscBool   nonzero;      /* a number that is not 0 */
  PetscBool   inside, same; /* it leads inside the domain at some point, and is one number where it does */
  PetscScalar number;       /* that of the first such point, else 0 */
} HJSlotHolds;

/* A yes or no that is found in some memory, and that the host reads when it needs it */
typedef struct {
  PetscScalar *yes; /* on the host: not 0 */
  void        *found;
} HJAnswer;

/* Calls for a device are launched on PETSc's current stream and do not wait, but for those that fill memory of the host */
typedef struct {
  const HJBackendOps *backend;
  PetscErrorCode (*alloc)(size_t bytes, void *address);             /* not initialised */
  PetscErrorCode (*free)(void *address);                            /* sets what it points to to NULL */
  PetscErrorCode (*copy)(void *to, const void *from, size_t bytes); /* between host and this memory in any direction, or inside */
  PetscErrorCode (*zero)(void *, size_t bytes);
  /* y = a x + b y; x NULL stands for 1 everywhere; y is not read where b is 0 */
  PetscErrorCode (*combine)(PetscCount, PetscScalar a, const PetscScalar *x, PetscScalar b, PetscScalar *y);
  PetscErrorCode (*multiply)(PetscCount, const PetscScalar *x, PetscScalar *y); /* y = x y, each by each */
  PetscErrorCode (*nonzero)(PetscCount, const PetscScalar *x, PetscBool *all);  /* whether none is zero */
  /* Coefficients of one slot at n points, 0 outside the box keep */
  PetscErrorCode (*slot)(const HJCoefficients *, PetscInt slot, const PetscInt n[3], const HJBox *keep, PetscScalar *);
  /* Arrays, not of a half, or a dictionary: whether each coefficient that leads to an earlier one of n points is that of the opposite
     offset there, as HJIsSame() says */
  PetscErrorCode (*symmetric)(const HJCoefficients *, const PetscInt n[3], PetscReal slack, PetscBool *);
  /* Values at the points that an offset leads to, of an array over the owned points and its ghosts */
  PetscErrorCode (*shifted)(const HJShell *, const PetscInt off[3], const PetscScalar *x, const PetscScalar *ghost, PetscScalar *);
  /* to[i] = from[which[i]] */
  PetscErrorCode (*gather)(PetscCount, const PetscCount *which, const PetscScalar *from, PetscScalar *to);
  /* to[which[i]] = from[i], no place twice */
  PetscErrorCode (*scatter)(PetscCount, const PetscCount *which, const PetscScalar *from, PetscScalar *to);
  /* Elements of so many bytes, 1 or those of a number, at the points of a box, from an array over one box of points to one over another */
  PetscErrorCode (*part)(size_t size, const HJBox *part, const HJBox *over, const void *from, const HJBox *onto, void *to);
  /*
     Of each of n <= HJ_MAX_SIDES boxes of owned points: whether a row there has an entry beside its diagonal that leads to a point of the
     domain which is inside the box to, or no diagonal; or, not in, an entry that leads to a point of the domain outside the box to
  */
  PetscErrorCode (*couples)(const HJCoefficients *, const HJGrid *, PetscInt n, const HJBox points[], const HJBox *to, PetscBool in,
                            PetscBool couple[]);
  /* Adds the entries of a list, which lies in this memory too, to value[], one after another at each place */
  PetscErrorCode (*add)(const HJCOOList *, const PetscScalar *entries, PetscScalar *value);
  /* Of a list with which[]: sets the values of all places, to 0 where there is no entry, or adds to them */
  PetscErrorCode (*put)(const HJCOOList *, const PetscScalar *entries, PetscBool add, PetscScalar *value);
  /*
     Entries (i[e], j[e]), negative ones left out, to which[], which is -1 elsewhere. Those whose row or column is another rank's
     or that have no slot go to the host's others[max], in their order; *nothers is their number, -1: there are more. *twice: some place got
     two. NULL: the backend has no such thing
  */
  PetscErrorCode (*find)(const HJCOOGrid *, PetscCount, const PetscInt i[], const PetscInt j[], PetscInt which[], PetscInt max,
                         PetscInt others[], PetscInt *nothers, PetscBool *twice);
  /* which[turn[m]] = entry[m], of arrays on the host */
  PetscErrorCode (*find_more)(PetscInt, const PetscCount turn[], const PetscInt entry[], PetscInt which[], PetscBool *twice);
  /* As HJDistinctScan(), of coefficients in this memory; which row each point has is in *ids */
  PetscErrorCode (*scan)(const HJCoefficients *, const HJGrid *, PetscInt *n, HJDistinctRow **, void **ids);
  /* index[] = map[] of each point's row, and frees the ids; index NULL: only frees them */
  PetscErrorCode (*number)(PetscCount, void **ids, PetscInt n, const unsigned char map[], unsigned char *index);
  PetscErrorCode (*alloc_zeros)(size_t bytes, void *address); /* as alloc and zero */
  /* One of dof components that follow one another at each of n points, to or from an array of its own */
  PetscErrorCode (*spread)(PetscInt dof, PetscInt component, PetscCount n, const PetscScalar *v, PetscScalar *to);
  PetscErrorCode (*join)(PetscInt dof, PetscInt component, PetscCount n, const PetscScalar *from, PetscScalar *v);
  /* All of them, to or from arrays that begin so many places one after another */
  PetscErrorCode (*spread_all)(PetscInt dof, PetscCount n, const PetscScalar *v, PetscCount apart, PetscScalar *to);
  PetscErrorCode (*join_all)(PetscInt dof, PetscCount n, PetscCount apart, const PetscScalar *from, PetscScalar *v);
  PetscErrorCode (*holds)(const HJCoefficients *, const HJGrid *, HJSlotHolds[]); /* arrays, not of a half: each slot's */
  PetscErrorCode (*frame)(const HJCoefficients *, const HJGrid *, HJFrame *);     /* layers is 1 at least. NULL: the backend has none */
  PetscErrorCode (*few)(const HJCoefficients *, const HJGrid *, HJFewRows *);     /* but sought. NULL: the backend has none */
  /* Several unknowns a point: 0 for the unknowns of points whose rows have nothing of other points, else 1; whether there are such */
  PetscErrorCode (*known)(const HJCoefficients *, PetscScalar *mask, PetscBool *any);
  /* to[which[i]] = p factor[i] from[which[i]] + q base[which[i]], no place twice; from and base are not read where p or q is 0 */
  PetscErrorCode (*mix_at)(PetscCount, const PetscCount *which, PetscScalar p, const PetscScalar *factor, const PetscScalar *from,
                           PetscScalar q, const PetscScalar *base, PetscScalar *to);
  /* Asks whether x, or y unless it is NULL, is not 0 at some of these places; NaN is not 0. answer_wait() waits for this alone, not for
     what was started after it */
  PetscErrorCode (*ask_some)(PetscCount, const PetscCount *which, const PetscScalar *x, const PetscScalar *y, HJAnswer *);
  PetscErrorCode (*answer_create)(HJAnswer *);
  PetscErrorCode (*answer_wait)(const HJAnswer *, PetscBool *yes);
  PetscErrorCode (*answer_destroy)(HJAnswer *);
} HJArrayOps;
