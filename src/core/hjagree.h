/* SPDX-License-Identifier: BSD-2-Clause */
/* What ranks agree on. Collective */
#pragma once

#include "hjcompat.h"

/* Becomes whether it is so on all ranks; on any rank */
PETSC_INTERN PetscErrorCode HJOnAllRanks(MPI_Comm, PetscBool *);
PETSC_INTERN PetscErrorCode HJOnAnyRank(MPI_Comm, PetscBool *);
