/* Dictionaries of 2D grids whose points inside have one row, those on each side another one, and each corner its own */
#pragma once

#include "cuda/kernels/hjkernel.h"

/* row: of first, inner and last line by first, inner and last column, where it is one */
typedef struct {
  bool          is;
  unsigned char row[9];
} HJFrame2D;

/* Found once for each set of values, which waits: a first call while launches are recorded gives NULL, as does an error */
const HJFrame2D *HJFrame2DGet(HJ_CUDA *);
