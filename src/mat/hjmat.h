/*
   PETSc glue: what a stencil matrix remembers. Products and their halo are the operator's; which entry has which place is decided here.
*/
#pragma once

#include <petsc/private/matimpl.h>
#include "../../include/pchjacobi.h"
#include "../operator/hjoperator.h"
#include "../operator/hjproduct.h"
#include "../core/hjreader.h"

/* How a DMDA numbers its points: rank by rank, x fastest inside and among ranks */
typedef struct {
  PetscInt        dim, N[3], nranks[3], lo[3]; /* lo: this rank's first point */
  PetscBool       periodic[3];
  PetscInt       *first[3]; /* [nranks + 1] first point of each rank in a direction, and N */
  PetscInt        start, end;
  const PetscInt *ranges; /* first row of each rank, of the matrix's layout */
  PetscMPIInt     size;
} HJLayout;

/* What a column of the COO format becomes: places in value[] of this rank, and of others through an SF whose leaves are the listed
   entries */
typedef struct {
  PetscCount  n, nremote;
  PetscCount *place;  /* [n] -1: ignored, or another rank's */
  PetscCount *remote; /* [nremote] */
  PetscSF     sf;     /* NULL where no rank has entries of another */
} HJCOO;

typedef struct {
  DM             da;
  HJGrid         grid;
  HJLayout       layout;
  HJCoefficients c;
  HJProducts    *products;
  PetscInt       slot[HJ_MAX_CODES]; /* of each code, x fastest, 27 in any dimension; -1: the shape has none */
  PetscBool      changed;            /* by this rank since the storage was chosen */
  /* doors in */
  PetscBool              column_oriented, drop_unfit, drop_others;
  ISLocalToGlobalMapping ltog;                /* of the DMDA */
  PetscInt               glo[3], gwidth[3];   /* its ghosted points, from this rank's first point */
  HJBox                  simple;              /* points all of whose neighbours are in the domain and at one place only */
  PetscInt               delta[HJ_MAX_SLOTS]; /* ghosted local number of a simple point's neighbour less its own */
  PetscInt               hint[HJ_MAX_SLOTS];  /* slot of the last call's column of that place: programs repeat their order */
  PetscSegBuffer         travellers;          /* entries of other ranks' rows */
  PetscInt               ntravellers;
  HJCOO                  coo;
  Vec                    array[HJ_MAX_SLOTS]; /* arrays that the user has */
  unsigned int           touched;             /* bit per slot whose array the user had since the last assembly */
  /* doors out */
  Mat              aij; /* made when something needs rows as CSR; follows this matrix */
  PetscObjectState aij_state;
  PetscInt         row_columns[HJ_MAX_SLOTS];
  PetscScalar      row_values[HJ_MAX_SLOTS];
  PetscErrorCode (*view_da)(Mat, PetscViewer); /* DMDA's view of a parallel matrix in the natural order */
} Mat_HJStencil;

static inline PetscInt HJOffsetCode(const PetscInt off[3])
{
  return (off[0] + 1) + 3 * (off[1] + 1) + 9 * (off[2] + 1);
}

/* hjlayout.c */
PETSC_INTERN PetscErrorCode HJLayoutSet(DM, const HJGrid *, PetscLayout, HJLayout *);
PETSC_INTERN PetscErrorCode HJLayoutFree(HJLayout *);
/* Grid point of a row, and who owns it */
PETSC_INTERN PetscMPIInt HJLayoutLocate(const HJLayout *, PetscInt row, PetscInt at[3]);
/* Row of a grid point that may lie one point outside; -1 where no point is there */
PETSC_INTERN PetscInt HJLayoutRow(const HJLayout *, const PetscInt at[3]);
/* Code of the neighbour that one point is to another, -1: more than one point away. On grids of one or two periodic points each column
   has one code */
PETSC_INTERN PetscInt HJLayoutCode(const HJLayout *, const PetscInt row[3], const PetscInt column[3]);
/* Whether entries of an offset exist: false where another offset leads to the same points */
PETSC_INTERN PetscBool HJLayoutIsOwnCode(const HJLayout *, const PetscInt off[3]);

/* hjstorage.c */
/* Star or box: slots, and what the doors need to know of them. There must be no coefficient yet */
PETSC_INTERN PetscErrorCode HJMatSetShape(Mat, HJShape);
/* Arrays, whatever the storage was */
PETSC_INTERN PetscErrorCode HJMatExpand(Mat);
/* The same with another shape, which must hold all that is not zero */
PETSC_INTERN PetscErrorCode HJMatReshape(Mat, HJShape);
/* Collective. The smallest storage that holds the coefficients */
PETSC_INTERN PetscErrorCode HJMatChoose(Mat);
/* Coefficients of one slot at the owned points, 0 where they lead outside the domain */
PETSC_INTERN PetscErrorCode HJMatGetSlot(Mat, PetscInt slot, PetscScalar array[]);
/* No coefficient: a row of zeros */
PETSC_INTERN PetscErrorCode HJMatSetZero(Mat);
PETSC_INTERN PetscErrorCode HJCoefficientsFree(HJCoefficients *);
PETSC_INTERN PetscErrorCode HJCoefficientsCopy(const HJCoefficients *, HJCoefficients *);
PETSC_INTERN size_t         HJCoefficientsBytes(const HJCoefficients *);

/* hjassembly.c, hjcoo.c, hjdoors.c */
PETSC_INTERN PetscErrorCode MatSetValues_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[],
                                                   InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesLocal_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[],
                                                        InsertMode);
PETSC_INTERN PetscErrorCode MatGetValues_HJStencil(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], PetscScalar[]);
PETSC_INTERN PetscErrorCode MatAssemblyEnd_HJStencil(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_HJStencil(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_HJStencil(Mat, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode HJCOOReset(HJCOO *);
/* Place of an entry in value[] of the row's owner; an error that names the cure where no offset holds it and v is not zero. -1: to be
   ignored */
PETSC_INTERN PetscErrorCode HJMatFindPlace(Mat, PetscInt row, PetscInt column, PetscBool zero, PetscMPIInt *owner, PetscInt *point,
                                           PetscInt *slot);
PETSC_INTERN PetscErrorCode HJMatComposeDoors(Mat, PetscBool);
/* An error where the user has an array */
PETSC_INTERN PetscErrorCode HJMatCheckArrays(Mat);
PETSC_INTERN PetscErrorCode MatView_HJStencil(Mat, PetscViewer);
/* DMCreateMatrix() puts DMDA's view there, which shows no storage: it is kept for views of all entries */
PETSC_INTERN PetscErrorCode HJMatTakeView(Mat);

/* hjops.c, hjzero.c, hjsor.c */
PETSC_INTERN PetscErrorCode HJMatSetOps(Mat);
PETSC_INTERN PetscErrorCode MatZeroRows_HJStencil(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_HJStencil(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatSOR_HJStencil(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec);
PETSC_INTERN PetscErrorCode MatDuplicate_HJStencil(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode MatCopy_HJStencil(Mat, Mat, MatStructure);
/* Sets every entry of every row in a matrix of any type that is zero or new, and assembles it */
PETSC_INTERN PetscErrorCode HJMatCopyRows(Mat, Mat);
PETSC_INTERN PetscErrorCode MatTranspose_HJStencil(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatGetRow_HJStencil(Mat, PetscInt, PetscInt *, PetscInt *[], PetscScalar *[]);
PETSC_INTERN PetscErrorCode MatRestoreRow_HJStencil(Mat, PetscInt, PetscInt *, PetscInt *[], PetscScalar *[]);

/* hjconvert.c, hjfactor.c, hjcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_HJStencil(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_HJStencil(Mat, MatType, MatReuse, Mat *);
/* Collective. The matrix as AIJ, which belongs to it and is the same object in later calls */
PETSC_INTERN PetscErrorCode HJMatGetAIJ(Mat, Mat *);
PETSC_INTERN PetscErrorCode HJMatSetOpsCSR(Mat);
PETSC_INTERN PetscErrorCode HJMatSetOpsFactor(Mat);
PETSC_INTERN PetscErrorCode HJMatRegisterFactors(void);
/* A product's; of its factors those that are of this room get AIJ copies */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_HJStencil(Mat);

/* hjtransfer.c */
PETSC_INTERN PetscErrorCode HJTransferRegister(void);
/* From now on interpolation from this DMDA, and from those that are coarsened or refined from it, is MATHJTRANSFER where it can be */
PETSC_INTERN PetscErrorCode HJTransferSetInterpolation(DM);
/* Collective. The interpolation as AIJ, which belongs to it and is the same object in later calls */
PETSC_INTERN PetscErrorCode HJTransferGetAIJ(Mat, Mat *);
