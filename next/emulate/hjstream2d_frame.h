/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels of 2D exact streaming for dictionaries of a frame (hjstream2d_frame.cu), with a correction and with a restriction */
#pragma once

#include "hjstream2d.cuh"

extern const HJ2DKernel HJ2DFrameCorrectedKernels[], HJ2DFrameRestrictedKernels[];
