/* SPDX-License-Identifier: BSD-2-Clause */
/*
   PETSc glue: what a stencil matrix remembers. Products and their halo are the operator's; which entry has which place is decided here.

   base/: hjlayout.c knows which column is which offset, hjstorage.c which storage is taken, hjmemory.c whether the matrix lies on the
   host or the GPU and which copy is valid, hjcomponent.c has components of vectors. fill/: hjassembly.c has values, assembly and other
   ranks' rows, hjcoo.c COO, hjsetvalues.c arrays and one row, hjinside.c a part of the grid, hjonecomponent.c one component. ops/ is what
   the matrix does itself: hjops.c products and sums, hjzero.c zeroed rows, hjsor.c SOR. aij/ is what it has AIJ do: hjcsr.c submatrices,
   colouring, other products, hjfactor.c factors, hjinverse.c their inverse on a GPU, hjconvert.c conversion.
   transfer/: hjmatinterpolation.c decides where DMCreateInterpolation() makes a matrix without entries, hjmattransfer.c is that matrix,
   hjtransferrows.c has its rows, hjmatgalerkin.c P^T A P as a MatProduct.
*/
#pragma once

#include <petsc/private/matimpl.h>
#include "pchjacobi.h"
#include "operator/hjoperator.h"
#include "operator/hjproducts.h"
#include "operator/hjgalerkins.h"
#include "core/hjarrays.h"
#include "core/hjreader.h"

/* How a DMDA numbers its points: rank by rank, x fastest inside and among ranks. Rows and columns are numbers of points times dof, and a
   component's */
typedef struct {
  PetscInt    dim, dof, N[3], nranks[3], lo[3], offset[3]; /* lo: this rank's first point; offset: see HJCut */
  PetscBool   periodic[3];
  PetscInt   *first[3];   /* [nranks + 1] first point of each rank in a direction, and N */
  PetscInt    start, end; /* points of this rank */
  PetscInt   *ranges;     /* [size + 1] first point of each rank */
  PetscMPIInt size;
} HJLayout;

/* Whether a neighbour may lie on both sides, so that two offsets lead to one column */
static inline PetscBool HJLayoutIsThin(const HJLayout *l)
{
  for (PetscInt d = 0; d < l->dim; d++) {
    if (l->periodic[d] && l->N[d] < 3) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* What the entries of the COO format become: places in value[] of this rank, and of others through an SF whose leaves are the entries
   remote[] */
typedef struct {
  PetscCount        n, nlocal, nremote; /* entries, those of this rank's rows and of others' */
  const HJArrayOps *ops;                /* in whose memory the following lie */
  HJCOOList         list;
  PetscCount       *remote; /* [nremote] */
  PetscScalar      *send;   /* [nremote] */
  PetscSF           sf;     /* NULL where no rank has entries of another */
  PetscInt          refct;  /* matrices that have it: copies share it */
} HJCOO;

/* Who has the array of a slot */
typedef struct {
  Vec       vec;         /* what the user's array is in; NULL: the user has none */
  PetscBool checked_out; /* the user has it where the matrix lives */
  PetscBool touched;     /* the user had it since the last assembly */
} HJSlotUse;

typedef struct {
  DM       da;
  HJGrid   grid;
  HJLayout layout;
  /*
     Coefficients on the host, and on the device where the matrix may lie there. Shape, storage and rows of both are those of c; index and
     value are NULL where they are not valid. valid says where they are: at both places where the storage is one row
  */
  HJCoefficients    c, d;
  HJEntry          *entry; /* what c's are; NULL: one unknown a point */
  PetscInt         *place;
  PetscOffloadMask  valid;
  PetscBool3        symmetric;                  /* as found, of values that were said to be: HJCoefficients' */
  const HJArrayOps *device;                     /* NULL: there is none */
  PetscBool         host_only;                  /* some rank has so few points that its vectors are bound to the CPU */
  HJProducts       *products, *device_products; /* the latter is made when it is used first */
  PetscBool         changed;                    /* by this rank since the storage was chosen */
  /* how values come in */
  PetscBool              column_oriented, drop_unfit, drop_others;
  ISLocalToGlobalMapping ltog;                /* of the DMDA */
  PetscInt               glo[3], gwidth[3];   /* its ghosted points, from this rank's first point */
  HJBox                  simple;              /* points all of whose neighbours are in the domain and at one place only */
  PetscInt               delta[HJ_MAX_SLOTS]; /* by offset: ghosted local number of a simple point's neighbour less its own */
  PetscInt               hint[HJ_MAX_SLOTS];  /* offset of the last call's column of that place: programs repeat their order */
  PetscSegBuffer         stash;               /* entries of other ranks' rows */
  PetscInt               nstash;
  HJCOO                 *coo;      /* NULL: there is none */
  HJSlotUse             *use;      /* [nslots] */
  HJGalerkins           *galerkin; /* of the product P^T A P that the matrix is, else NULL */
  /* how values go out */
  Mat              aij; /* made when something needs rows as CSR; follows this matrix */
  PetscObjectState aij_state;
  Mat              stored;      /* values of MatStoreValues(), else NULL */
  PetscInt        *row_columns; /* [offsets][dof] */
  PetscScalar     *row_values;
  PetscErrorCode (*view_da)(Mat, PetscViewer); /* DMDA's view of a parallel matrix in the natural order */
  PetscErrorCode (*view)(Mat, PetscViewer);    /* the type's own, see HJMatTakeView() */
  PetscErrorCode (*load)(Mat, PetscViewer);
} Mat_HJStencil;

/* hjlayout.c */
PETSC_INTERN PetscErrorCode HJLayoutSet(DM, const HJGrid *, PetscLayout, HJLayout *);
PETSC_INTERN PetscErrorCode HJLayoutFree(HJLayout *);
/* Grid point of a number, and who owns it */
PETSC_INTERN PetscMPIInt HJLayoutLocate(const HJLayout *, PetscInt point, PetscInt at[3]);
/* Number of a grid point that may lie one point outside; -1 where no point is there */
PETSC_INTERN PetscInt HJLayoutPoint(const HJLayout *, const PetscInt at[3]);
/* How far a point lies from another; false: more than one point away. On grids of one or two periodic points each column has one offset */
PETSC_INTERN PetscBool HJLayoutOffset(const HJLayout *, const PetscInt from[3], const PetscInt to[3], PetscInt off[3]);
/* Whether entries of an offset exist: false where another offset leads to the same points */
PETSC_INTERN PetscBool HJLayoutIsOwnOffset(const HJLayout *, const PetscInt off[3]);

/* hjcomponent.c */
/* Room for one component of so many points of a vector; NULL: the vector has but one, which is used as it is */
PETSC_INTERN PetscErrorCode HJComponentAlloc(const HJArrayOps *, const HJCoefficients *, PetscCount n, PetscScalar **work);
PETSC_INTERN PetscErrorCode HJComponentFree(const HJArrayOps *, PetscScalar **work);
/* Component l of n points of a vector; where it has several, in work */
PETSC_INTERN PetscErrorCode HJComponentGet(const HJArrayOps *, PetscInt dof, PetscInt l, PetscCount n, const PetscScalar *v,
                                           PetscScalar *work, const PetscScalar **component);
/* ... and into a vector, where it is not that itself */
PETSC_INTERN PetscErrorCode HJComponentPut(const HJArrayOps *, PetscInt dof, PetscInt l, PetscCount n, const PetscScalar *from,
                                           PetscScalar *v);

/* hjcheck.c */
/* What users may have written to arrays has been looked at, or overwritten */
PETSC_INTERN void HJMatForgetTouched(Mat);
/* Gives the second, on the first's grid, what MatSetValuesLocal() and MatSetValuesStencil() need */
PETSC_INTERN PetscErrorCode HJMatSetNumbering(Mat, Mat);
/* An error where MatSetUp() was not called, which PETSc only looks for when it was built for debugging */
PETSC_INTERN PetscErrorCode HJMatCheckSetUp(Mat);
/* Collective. What MatGetInfo() says of a matrix with so many entries and bytes on this rank, and the AIJ copy aij, which may be NULL */
PETSC_INTERN PetscErrorCode HJMatSumInfo(Mat, MatInfoType, PetscLogDouble entries, PetscLogDouble bytes, Mat aij, MatInfo *);
/* An error where the user has an array; one that was given where the matrix lives; one from MatHJStencilGetArray() */
PETSC_INTERN PetscErrorCode HJMatCheckArrays(Mat);
PETSC_INTERN PetscErrorCode HJMatCheckCheckedOut(Mat);
PETSC_INTERN PetscErrorCode HJMatCheckGiven(Mat);
/* DMCreateMatrix() puts DMDA's view there, which shows no storage: it is kept for views of all entries. Its load makes another type */
PETSC_INTERN PetscErrorCode HJMatTakeView(Mat);

/* hjmemory.c: which copy of the coefficients is valid */
/* Whether vectors of a type lie on the device, and whether one does and is not bound to the CPU */
PETSC_INTERN PetscErrorCode HJVecTypeOnDevice(VecType, PetscBool *);
PETSC_INTERN PetscErrorCode HJVecOnDevice(Vec, PetscBool *);
/* Whether the matrix lives on the device: its vectors do, and it is not bound to the CPU. The same on all ranks */
PETSC_INTERN PetscErrorCode HJMatOnDevice(Mat, PetscBool *);
/* Who works on arrays where the matrix lives, if these vectors, each of which may be NULL, are there as well; else the host */
PETSC_INTERN PetscErrorCode HJMatFindOps(Mat, PetscInt n, const Vec[], const HJArrayOps **);
/* From now on ->c is valid on the host, with its index or arrays, or ->d on the device */
PETSC_INTERN PetscErrorCode HJMatGetHost(Mat);
PETSC_INTERN PetscErrorCode HJMatGetDevice(Mat);
/* Only the copy that these work on is valid from now on; the other's memory is given back */
PETSC_INTERN PetscErrorCode HJMatTouched(Mat, const HJArrayOps *);
/* The storage is arrays in that memory alone, not initialised where there were none; the storage is chosen again by HJMatChoose() */
PETSC_INTERN PetscErrorCode HJMatAllocArrays(Mat, PetscMemType, PetscBool half);
/* Index or arrays of one copy from another, allocated by ops where there are none; copy reaches the memory of both */
PETSC_INTERN PetscErrorCode HJArraysTransfer(const HJArrayOps *copy, const HJArrayOps *ops, const HJCoefficients *from, HJCoefficients *to);
/* No coefficient at all, in any memory */
PETSC_INTERN PetscErrorCode HJMatFree(Mat);
/* Coefficients where the matrix lives, valid there, and who works on their arrays; they may be changed, then call HJMatTouched() */
PETSC_INTERN PetscErrorCode HJMatGetHome(Mat, const HJArrayOps **, HJCoefficients **);
/* Valid in the memory of ops */
PETSC_INTERN PetscErrorCode HJMatGetIn(Mat, const HJArrayOps *, HJCoefficients **);
/* Collective. How the halos of matrices on a DMDA travel in the memory of a backend: its options, see MATHJSTENCIL */
PETSC_INTERN PetscErrorCode HJMatChooseExchange(DM, const HJBackendOps *, HJExchange *);
/* Valid in the memory of ops, with what is known of their symmetry. look: a claim (MAT_SYMMETRIC, MAT_SPD) is looked at once for given
   values, unless who read them has found it true; one that is false is ignored */
PETSC_INTERN PetscErrorCode HJMatGetKnown(Mat, const HJArrayOps *, PetscBool look, HJCoefficients **c);
/* Products in that memory; or where the matrix and all vectors lie, b may be NULL, and the coefficients valid there */
PETSC_INTERN PetscErrorCode HJMatGetProducts(Mat, const HJArrayOps *, HJProducts **);
PETSC_INTERN PetscErrorCode HJMatChooseProducts(Mat, Vec x, Vec b, Vec y, HJProducts **, HJCoefficients **);
PETSC_INTERN size_t         HJMatBytes(const Mat_HJStencil *);
/* Nothing is left in it, but for who refers to it */
PETSC_INTERN PetscErrorCode HJCOOReset(HJCOO *);
/* Gives up one matrix's part in it, and sets it NULL */
PETSC_INTERN PetscErrorCode HJCOODestroy(HJCOO **);
PETSC_INTERN size_t         HJCOOBytes(const HJCOO *);

/* hjstorage.c */
/* Star or box: slots, all that there can be, and what filling and reading need to know of them. All coefficients are 0 afterwards */
PETSC_INTERN PetscErrorCode HJMatSetShape(Mat, HJShape);
/* Several unknowns a point: all slots of a box of the pairs of components that another matrix has */
PETSC_INTERN PetscErrorCode HJMatSetPairsLike(Mat, Mat);
/* From now on every entry has a slot */
PETSC_INTERN PetscErrorCode HJMatAddSlots(Mat);
/* Entries of all offsets of the shape as the row of all points */
PETSC_INTERN PetscErrorCode HJMatSetOneRow(Mat, const PetscScalar[]);
/* Arrays on the host, whatever the storage was, to be changed there */
PETSC_INTERN PetscErrorCode HJMatExpand(Mat);
/* The same in the memory of ops */
PETSC_INTERN PetscErrorCode HJMatExpandIn(Mat, const HJArrayOps *);
/* The same with another shape, which must hold all that is not zero */
PETSC_INTERN PetscErrorCode HJMatReshape(Mat, HJShape);
/* Collective. The smallest storage that holds the coefficients */
PETSC_INTERN PetscErrorCode HJMatChoose(Mat);
/* The same of coefficients that any rank has changed. merges: all are new, and rows of a dictionary that differ only where they lead
   outside the domain become one */
PETSC_INTERN PetscErrorCode HJMatChooseStorage(Mat, PetscBool merges);
/* Coefficients of one slot at the owned points, 0 where they lead outside the domain, in the memory of ops */
PETSC_INTERN PetscErrorCode HJMatGetSlot(Mat, const HJArrayOps *, PetscInt slot, PetscScalar array[]);
PETSC_INTERN PetscBool      HJMatIsFinite(PetscInt, const PetscScalar[]);
/* No coefficient: a row of zeros */
PETSC_INTERN PetscErrorCode HJMatSetZero(Mat);
/* The coefficients of another matrix of the same shape and grid, wherever they are valid */
PETSC_INTERN PetscErrorCode HJMatCopyCoefficients(Mat from, Mat to);

/* hjassembly.c, hjcoo.c, hjsetvalues.c */
PETSC_INTERN PetscErrorCode MatSetValues_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[],
                                                   InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesLocal_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[],
                                                        InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesBlockedLocal_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[],
                                                               const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatGetValues_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], PetscScalar[]);
PETSC_INTERN PetscErrorCode MatAssemblyEnd_HJStencil(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_HJStencil(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_HJStencil(Mat, const PetscScalar[], InsertMode);
/* Place of an entry in value[] of the row's owner; an error that names the cure where no offset holds it and v is not zero. -1: to be
   ignored */
PETSC_INTERN PetscErrorCode HJMatFindPlace(Mat, PetscInt row, PetscInt column, PetscBool zero, PetscMPIInt *owner, PetscInt *point,
                                           PetscInt *slot);
PETSC_INTERN PetscErrorCode HJMatComposeSetValues(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatLoad_HJStencil(Mat, PetscViewer);

/* hjops.c, hjzero.c, hjsor.c */
PETSC_INTERN PetscErrorCode HJMatSetOps(Mat);
/* What MatIsTranspose() asks for */
PETSC_INTERN PetscErrorCode HJMatComposeTranspose(Mat, PetscBool);
/* MatStoreValues(), MatRetrieveValues() and MatResetPreallocation() */
PETSC_INTERN PetscErrorCode HJMatComposeStored(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatZeroRows_HJStencil(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_HJStencil(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatSOR_HJStencil(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec);
PETSC_INTERN PetscErrorCode MatRestoreRow_HJStencil(Mat, PetscInt, PetscInt *, PetscInt *[], PetscScalar *[]);

/* hjconvert.c, hjfactor.c, hjcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_HJStencil(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_HJStencil(Mat, MatType, MatReuse, Mat *);
/* Collective. The matrix as AIJ, which belongs to it and is the same object in later calls */
PETSC_INTERN PetscErrorCode HJMatGetAIJ(Mat, Mat *);
PETSC_INTERN PetscErrorCode HJMatSetOpsCSR(Mat);
/* What is done otherwise where a point has several unknowns */
PETSC_INTERN PetscErrorCode HJMatSetOpsSystem(Mat);
PETSC_INTERN PetscErrorCode HJMatSetOpsFactor(Mat);
PETSC_INTERN PetscErrorCode HJMatRegisterFactors(void);
/* After the numeric phase: solves on the GPU where A lives there and is small */
PETSC_INTERN PetscErrorCode HJMatFactorInvert(Mat F, Mat A, Mat aij);
/* A product's; of its factors those that are of this room get AIJ copies */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_HJStencil(Mat);

/* hjmattransfer.c */
PETSC_INTERN PetscErrorCode HJTransferRegister(void);
/* From now on interpolation from this DMDA, and from those that are coarsened or refined from it, is MATHJTRANSFER where it can be */
PETSC_INTERN PetscErrorCode HJTransferSetInterpolation(DM);
/* Collective. The interpolation as AIJ, which belongs to it and is the same object in later calls */
PETSC_INTERN PetscErrorCode HJTransferGetAIJ(Mat, Mat *);
/* Collective. Whether the stencil matrix A lies on the grid that P interpolates to */
PETSC_INTERN PetscErrorCode HJTransferIsOnGrid(Mat P, Mat A, PetscBool *is);
PETSC_INTERN PetscErrorCode HJTransferHasCoefficients(Mat, PetscBool *);
/* Collective. Its weights in the memory of ops; NULL where it is bilinear */
PETSC_INTERN PetscErrorCode HJTransferGetVariable(Mat, const HJArrayOps *, HJTransfers **);

/* hjmatgalerkin.c */
#define HJ_PRODUCT_WITH_TRANSFER "MatProductSetFromOptions_" MATHJSTENCIL "_" MATHJTRANSFER "_C"
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_HJStencil_HJTransfer(Mat);
