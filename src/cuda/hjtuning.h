/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Every number in src/cuda that was found by measurement: from which size of a grid on a kernel is taken, how long passes are, how a grid
   is cut, threads and blocks. Decides nothing else. What follows from the registers of a kernel (its launch bounds) and from the layout of
   its shared memory stands beside it, and limits of a device are asked (device/hjdevice.h).

   A hash is the commit that took the number; git show tells the rest. The device was one H200 (132 multiprocessors, 228 KB of shared
   memory each, 60 MB of L2), unless a line says otherwise. "Not kept": it was tried beside others there, and the times are not to be found
   any more. examples/bench (bench_gpu, bench_mg, bench_slab) measures all of them again.
*/
#pragma once

/*
   Which sweeps go on chip (sweep/onchip), and how
*/

/* Points of the largest grids: on larger ones the streaming families are quicker, both timed (62c7d0d) */
#define HJ_ONCHIP_MAX_POINTS_1D 65536
#define HJ_ONCHIP_MAX_POINTS_2D 200000
#define HJ_ONCHIP_MAX_POINTS_3D 300000
/* The same where a dictionary has several rows, mostly at the ends of the domain: streaming is slow there (62c7d0d) */
#define HJ_ONCHIP_MAX_POINTS_2D_ROWS 600000
/* The same for the arrays of a box, where there are no bricks: tiles that overlap read them many times (906d187) */
#define HJ_ONCHIP_MAX_POINTS_27 20000
/* Points of a 2D grid that one block sweeps in place; on larger ones many tiles and a copy are quicker (da3e99d) */
#define HJ_ONCHIP_ONE_TILE 1200
/* Subiterations of a pass between ranks or of overlapping tiles, at most and best, by dimension (d41b9c9; not kept). In 1D the weights are
   the limit */
#define HJ_ONCHIP_MOST_2D 16
#define HJ_ONCHIP_MOST_3D 8
#define HJ_ONCHIP_BEST_1D 32
#define HJ_ONCHIP_BEST_2D 8
#define HJ_ONCHIP_BEST_3D 4
/* Threads of a block of bricks. Constant coefficients, k = 8 from zero: 33^3 8.4 us where tiles take 11.6, 65^3 17.7 and 26.9, 27 points
   at 65^3 34.4 and 52 (d99803f); arrays (2b9ce73; not kept) */
#define HJ_BRICK_THREADS       512
#define HJ_BRICKARRAYS_THREADS 512
/* Points of a short strip of a thread (92dc02a; not kept) */
#define HJ_BRICK_SHORT 2
/* 1D: adjacent points of a lane, warps of a block, points of a flag (d41b9c9), subiterations of the best pass (e5184e9; not kept) */
#define HJ_LINE_POINTS  16
#define HJ_LINE_WARPS   4
#define HJ_LINE_SEGMENT 256
#define HJ_LINE_BEST    48

/*
   Stale tiles (sweep/stale)
*/

/* In shared memory: points of a strip of a thread, threads of a block, blocks of a cluster at most (e5184e9, 890ec35; not kept). Few
   threads have room for all that a strip loads at once; only star dictionaries leave room for long strips, which let a block hold larger
   tiles */
#define HJ_TILE_SHORT       4
#define HJ_TILE_LONG        6
#define HJ_TILE_FEW         512
#define HJ_TILE_MANY        1024
#define HJ_TILE_MAX_CLUSTER 8
/* Lines in registers: points of a lane, lanes of a tile up to 32 points wide (up to 32 lanes for wider ones), threads of a block (95fd1e7;
   not kept) */
#define HJ_TL_POINTS  8
#define HJ_TL_LEAST   4
#define HJ_TL_THREADS 128
/* 2D tiles in registers: points of a thread, strips of a tile, lanes of tiles up to 32 points wide, twice as many for wider ones (e5184e9,
   95fd1e7; not kept) */
#define HJ_T2_ROWS   8
#define HJ_T2_COLS   4
#define HJ_T2_STRIPS 8
#define HJ_T2_LANES  8

/*
   2D streaming (sweep/plane)
*/

/* Patches in place of the stream on grids of so many points. Inside cycles the stream takes 68 us at 2049^2 for 8 subiterations from zero
   with the restriction and 84 for those after the correction, patches 67 and 67; at 1025^2 51 and 60 beside 18 and 20 (24a213a) */
#define HJ_PATCH_MAX_POINTS 5000000
/* The smaller patches, which spread a grid of few points over all multiprocessors: points of the largest grid for each, timed from 65^2 to
   2049^2 (24a213a) */
#define HJ_PATCH_POINTS_SMALL  20000
#define HJ_PATCH_POINTS_MIDDLE 100000
/* Lanes, rows of a thread and warps of a patch, from small to large (24a213a) */
#define HJ_PATCH_SMALL  8, 2, 4
#define HJ_PATCH_MIDDLE 16, 4, 4
#define HJ_PATCH_LARGE  16, 8, 4
/* Adjacent points of a lane (24a213a; not kept) */
#define HJ_PATCH_COLS 4
/* Subiterations of the best pass of a 9-point dictionary: 6 levels gain nothing over 5 */
#define HJ2D_BOX_BEST 5
/* The same with several rows of 5 points: passes of 7 or 8, which one in place cost more than they saved (3f6bf9d) */
#define HJ2D_ROWS_BEST 7
/* What a row of points costs in a strip, estimated from counts of instructions: with the base row; where some points differ from it in the
   inverse diagonal; take rows of their own from registers; look them up. Chunks cut by these give 765 G updates/s where equal costs give
   724 (15 rows, 4097^2, 6 levels; 11e9ef2) */
#define HJ2D_COST_BASE   16
#define HJ2D_COST_SCALED 17
#define HJ2D_COST_OWN    20
#define HJ2D_COST_LOOK   48
/* In chunks of fewer rows, steps of their own for few points cost more to fetch than they save (e1f8d3e, 11e9ef2) */
#define HJ2D_SHORT 24
/* The cost of a chunk is at most such a share above the least (11e9ef2; not kept) */
#define HJ2D_CUT_SHARE 64
/* Chunks are tried from the fewest waves of blocks on, so many more; long ones cost more by their rows over a number, as neighbouring
   warps drift apart and fetch what they share twice (not kept) */
#define HJ2D_WAVES 12
#define HJ2D_DRIFT 20000.

/* Kernels of 2D streaming, by their levels: rows in flight, blocks on a multiprocessor, KB of its shared memory that they take */
/* 5 points. 789, 765 and 581 G updates/s at 6, 8 and 10 levels with the rows of the interior and the identity on the boundary, 765 and 660
   at 6 and 8 with 15 rows (4097^2; b74a0bc, 11e9ef2) */
#define HJ2D_STAR_1  4, 12, 140
#define HJ2D_STAR_2  4, 8, 132
#define HJ2D_STAR_3  3, 12, 132
#define HJ2D_STAR_4  4, 8, 132
#define HJ2D_STAR_5  4, 8, 132
#define HJ2D_STAR_6  4, 8, 132
#define HJ2D_STAR_7  4, 8, 132
#define HJ2D_STAR_8  4, 8, 132
#define HJ2D_STAR_9  3, 8, 132
#define HJ2D_STAR_10 3, 8, 132
/* 9 points (not kept) */
#define HJ2D_BOX_1 4, 8, 132
#define HJ2D_BOX_2 4, 8, 132
#define HJ2D_BOX_3 4, 8, 132
#define HJ2D_BOX_4 4, 8, 132
#define HJ2D_BOX_5 4, 8, 132
#define HJ2D_BOX_6 4, 8, 132
/* 5 points, with the correction from the coarser grid added: as many rows in flight, more shared memory (24a213a and before; not kept) */
#define HJ2D_CORRECTED_STAR_4 4, 8, 148
#define HJ2D_CORRECTED_STAR_6 4, 8, 148
#define HJ2D_CORRECTED_STAR_8 4, 8, 148
/* 5 points, with the residual restricted (not kept) */
#define HJ2D_RESTRICTED_STAR_3 4, 8, 132
#define HJ2D_RESTRICTED_STAR_5 4, 8, 132
#define HJ2D_RESTRICTED_STAR_7 4, 8, 140
/* 5 points, all arrays (not kept) */
#define HJ2D_VARIABLE_1 3, 4, 164
#define HJ2D_VARIABLE_2 3, 4, 164
#define HJ2D_VARIABLE_3 4, 3, 164
#define HJ2D_VARIABLE_4 4, 3, 164
#define HJ2D_VARIABLE_5 3, 3, 196
#define HJ2D_VARIABLE_6 3, 3, 196
/* 5 points, half the arrays (not kept). With 5 levels and more a fifth block costs time: the scheduler that has two of its warps is waited
   for */
#define HJ2D_SYMMETRIC_1 3, 6, 196
#define HJ2D_SYMMETRIC_2 3, 6, 196
#define HJ2D_SYMMETRIC_3 3, 5, 196
#define HJ2D_SYMMETRIC_4 3, 5, 196
#define HJ2D_SYMMETRIC_5 3, 4, 196
#define HJ2D_SYMMETRIC_6 3, 4, 196
#define HJ2D_SYMMETRIC_7 3, 4, 196
#define HJ2D_SYMMETRIC_8 3, 4, 228
/* 9 points, half the arrays (906d187; not kept) */
#define HJ2D_SYMMETRIC_BOX_1 3, 4, 164
#define HJ2D_SYMMETRIC_BOX_2 3, 4, 164
#define HJ2D_SYMMETRIC_BOX_3 3, 4, 196
#define HJ2D_SYMMETRIC_BOX_4 3, 3, 164
#define HJ2D_SYMMETRIC_BOX_5 3, 3, 196
#define HJ2D_SYMMETRIC_BOX_6 3, 3, 196
/* ... with the correction (not kept): of 5 points */
#define HJ2D_SYMMETRIC_CORRECTED_4 3, 5, 196
#define HJ2D_SYMMETRIC_CORRECTED_6 3, 4, 196
#define HJ2D_SYMMETRIC_CORRECTED_8 3, 4, 228
/* ... with the residual restricted: of 5 points */
#define HJ2D_SYMMETRIC_RESTRICTED_3 3, 5, 196
#define HJ2D_SYMMETRIC_RESTRICTED_5 3, 4, 196
#define HJ2D_SYMMETRIC_RESTRICTED_7 3, 4, 228
/* ... with the correction: of 9 points */
#define HJ2D_BOX_CORRECTED_4 3, 3, 168
#define HJ2D_BOX_CORRECTED_6 3, 3, 204
/* ... with the residual restricted: of 9 points */
#define HJ2D_BOX_RESTRICTED_3 3, 3, 164
#define HJ2D_BOX_RESTRICTED_5 3, 3, 196

/*
   3D streaming (sweep/space)
*/

/* Star: planes of a part of a column for which the constant kernel is worth it (4febe74) */
#define HJ3_LEAST_PLANES 400
/* Star: passes of 2 are quickest on grids of fewer points, where all have one row, and where rows differ (4febe74) */
#define HJ3_SMALL      3500000
#define HJ3_SMALL_ROWS 30000000
#define HJ3_SMALL_BEST 2
/* An exchange between GPUs of one host takes as long as a pass over so many points (4cfa64e) */
#define HJ3_EXCHANGE 500000
/* Planes after which blocks that run side by side fetch twice what they share (4febe74) */
#define HJ3_DRIFT 500.0
/* Star: a plane of a tile takes as long as its rows and so many more (8a0391d) */
#define HJ3_STEP 16
/* Waves of blocks that thin slabs are cut for, at most (bdf4359) */
#define HJ3_WAVES 4
/* Star by blocks that hold levels in registers: levels, rows of a warp, warps. 549 G updates/s at 513^3, 373 at 257^3 with k = 4, 228 with
   boundary rows; the lower ones are for less shared memory */
#define HJ3_STAR_4      4, 5, 8
#define HJ3_STAR_3      3, 5, 8
#define HJ3_STAR_3_ZERO 3, 6, 8
#define HJ3_TABLE_4     4, 4, 8
#define HJ3_STAR_4_LOW  4, 4, 8
#define HJ3_TABLE_4_LOW 4, 3, 8
/* Star by warps that march alone: levels, rows of a lane, warps of a block in x and y, blocks on a multiprocessor (4febe74 and later; not
   kept) */
#define HJ3_MARCH_2            2, 7, 1, 2, 6
#define HJ3_MARCH_2_ZERO       2, 5, 2, 2, 4
#define HJ3_MARCH_1            1, 5, 2, 2, 5
#define HJ3_MARCH_1_ZERO       1, 6, 2, 2, 5
#define HJ3_MARCH_TABLE_3      3, 4, 1, 2, 4
#define HJ3_MARCH_TABLE_2      2, 8, 1, 2, 4
#define HJ3_MARCH_TABLE_1      1, 5, 2, 2, 4
#define HJ3_MARCH_TABLE_3_ZERO 3, 5, 1, 2, 4
#define HJ3_MARCH_TABLE_2_ZERO 2, 8, 1, 2, 4
#define HJ3_MARCH_TABLE_1_ZERO 1, 7, 2, 2, 3
/* Arrays of a star by clusters: warps, columns of a lane; with all arrays 125 G updates/s, with half of them 156 (144cc01) */
#define HJ3_VARIABLE_WARPS    18
#define HJ3_VARIABLE_COLUMNS  2
#define HJ3_SYMMETRIC_WARPS   6
#define HJ3_SYMMETRIC_COLUMNS 3
/* Arrays of a star without clusters: warps of a block (4febe74; not kept) */
#define HJ3_ARRAYS_WARPS 16
/* Pairs and triples of subiterations with arrays, in points of the grid. Star: clusters are as good or better on larger ones, and with
   half the arrays on grids of HJ3_PAIR_HALF points or more (d634d74, 144cc01, d0519b0). Box: on smaller ones, whose arrays the L2 cache
   holds, single subiterations are (de91e2d) */
#define HJ3_PAIR_STAR 10000000
#define HJ3_PAIR_HALF 3500000
#define HJ3_PAIR_BOX  1000000
/* Points in x of a tile, where there are as many (ddf7eba, de91e2d; not kept) */
#define HJ3_PAIR_LEAST 16
/* Threads of a block; of a pair of a star, blocks on a multiprocessor (fda684f, ddf7eba, de91e2d; not kept) */
#define HJ3_PAIR_STAR_THREADS 640
#define HJ3_PAIR_STAR_BLOCKS  1
#define HJ3_TRIPLE_THREADS    512
#define HJ3_PAIR_BOX_THREADS  384
/* Planes that are fetched into the L2 cache ahead of the one that is read: star (3766839); box: 128 us at 129^3, 136 with 2 (6680983) */
#define HJ3_PAIR_AHEAD     2
#define HJ3_PAIR_BOX_AHEAD 1
/* A subiteration with 27 arrays: threads of a block, blocks on a multiprocessor, points in x of a block at most (1f8e59b; not kept) */
#define HJ_BOXARRAYS_THREADS 256
#define HJ_BOXARRAYS_BLOCKS  2
#define HJ_BOXARRAYS_WIDTH   40
/* The first subiteration from zero: threads of a block, points of a thread (6680983; not kept) */
#define HJ_PLAIN_FIRST_THREADS 256
#define HJ_PLAIN_FIRST_POINTS  4

/*
   Products, transfers, set-up (operator, transfer, setup)
*/

/* Products: warps of a block at most; points of a thread in y and z, warps in y and z, blocks on a multiprocessor are HJProductShape's.
   196 G points/s at 257^3 for one row of 7 points in blocks as thick in z as in y, 184 in flat ones (6980435); symmetric arrays of a star
   (6680983) */
#define HJ_PRODUCT_WARPS             8
#define HJ_PRODUCT_LINES_2D          4
#define HJ_PRODUCT_LINES_3D          2
#define HJ_PRODUCT_PLANES            2
#define HJ_PRODUCT_PLANES_DICTIONARY 4
/* Percent of the points that must be in no layer of other rows, for these to be looked for in tiles at the ends alone (not measured) */
#define HJ_PRODUCT_FRAMED_SHARE     50
#define HJ_PRODUCT_THICK            2
#define HJ_PRODUCT_BLOCKS_THICK     8
#define HJ_PRODUCT_BLOCKS_HALVES    4
#define HJ_PRODUCT_BLOCKS_ARRAYS_3D 2
#define HJ_PRODUCT_BLOCKS_ARRAYS    3
#define HJ_PRODUCT_BLOCKS_ROW       5
#define HJ_PRODUCT_BLOCKS           4
/* Points with several unknowns: threads of a block; of a block in 3D, planes; blocks of a sweep on a multiprocessor, and unknowns. On an
   H100, where a copy of 67 MB moves 2.6 TB/s, products of arrays move 2.6 (1025^2, 2 unknowns), 2.1 (4) and 1.9 (97^3, 3), and 4 sweeps 2.7
   (1025^2, 2) (ebdbd3c, e285d93) */
#define HJ_SYSTEM_THREADS 256
#define HJ_SYSTEM_PLANES  2
#define HJ_SYSTEM_BLOCKS  7
/* ... of a dictionary: percent of the points that must have one row, for these to be a launch of their own, and all points.
   Elasticity at 65^3: 162 us for 394, a solve 11.6 ms for 15.8 (H200, 3008f61); no other share was tried */
#define HJ_SYSTEM_INNER_SHARE  50
#define HJ_SYSTEM_INNER_POINTS 16384
/* ... points that a row must serve in the mean, for products to read few rows in place of the arrays (not tried with others) */
#define HJ_SYSTEM_FEW 8
/* ... warps that do points together, where a launch has at most so many points and would else wait for one neighbour after another. With a
   thread a point 17^3 points took 39 us, 9^3 38 (elasticity, H200, fe362b8); a solve at 65^3 takes 6.8 ms for 11.6 (db0b1d8) */
#define HJ_SYSTEM_TEAM        8
#define HJ_SYSTEM_TEAM_POINTS 50000
/* ... one row in a plane, tiles with their margin: points in x, bytes of shared memory, subiterations at most. 4 at 2049^2 with 2 unknowns:
   125 us on an H100, where single ones at the rate of a copy would take 280 (e285d93); other sizes not tried */
#define HJ_SYSTEM_TILE_WIDTH 64
#define HJ_SYSTEM_TILE_BYTES ((size_t)112 << 10)
#define HJ_SYSTEM_TILE_COUNT 4
/* Residual and restriction in one: fine points from which on blocks march, both timed (906d187) */
#define HJ_RESTRICT_MANY 100000
/* Threads of a block that does tiles, and of one that marches (85184b9; not kept) */
#define HJ_RESTRICT_TILE_THREADS 512
#define HJ_RESTRICT_THREADS      256
/* Two columns a lane: warps of a block (906d187; 0.80 of the rate of a copy) */
#define HJ_PAIRS_WARPS_2D 4
#define HJ_PAIRS_WARPS_3D 8
/* Interpolation: threads of a block, threads that fill a large GPU, from which on one does more than one point (36e6c74; not kept) */
#define HJ_TRANSFER_THREADS 256
#define HJ_TRANSFER_MANY    300000
/* Its transpose: threads of a block, and coarse points that one does, at most (6980435) */
#define HJ_GATHER_THREADS 128
#define HJ_GATHER_MARCH   4
/* Interpolation that is added in place: threads of a block in x and y, fine lines of a thread in 2D (2eede3c; 0.95 of a copy's rate) */
#define HJ_ADD_X  64
#define HJ_ADD_Y  4
#define HJ_ADD_2D 4
/* Interpolation by coefficients, and their set-up: threads of a block (8c0f84d; not kept) */
#define HJ_INTERPOLATION_THREADS 256
#define HJ_SETUP_THREADS         128
/* Jumps of arrays: threads of a block, coarse points in x of a tile, blocks on a multiprocessor (a58b9db; not kept) */
#define HJ_JUMP_THREADS 256
#define HJ_JUMP_WIDTH   32
#define HJ_JUMP_BLOCKS  8
/* Threads of a block: Galerkin products (5c4bb0b), couplings, with their blocks at most (643ca5b), products with |D^-1 A| (12f7c93; not
   kept) */
#define HJ_GALERKIN_THREADS 128
/* A block of lines that are solved: lines side by side at most, segments of long ones; threads at most, as many as lines side by side
   should give at most, and those in x at least; blocks a multiprocessor that are enough, for which no fewer lines are side by side than a
   sector of memory has; points of a line up to which segments have 4, and 12 (not measured) */
#define HJ_LINES_BESIDE     16
#define HJ_LINES_SEGMENTS   32
#define HJ_LINES_THREADS    512
#define HJ_LINES_ENOUGH     288
#define HJ_LINES_FEWEST     128
#define HJ_LINES_BLOCKS     2
#define HJ_LINES_SECTOR     4
#define HJ_LINES_SHORT      192
#define HJ_LINES_MIDDLE     768
#define HJ_MEASURE_THREADS  256
#define HJ_MEASURE_BLOCKS   512
#define HJ_ABSOLUTE_THREADS 256
/* Sums of squares: threads of a block, blocks at most; products with the inverse of the coarsest grid: threads of a block (6d648bc; not
   kept) */
#define HJ_SUM_THREADS 512
#define HJ_SUM_BLOCKS  1024
#define HJ_ROW_THREADS 128
/* That inverse: pivots of a step (8a31697), threads of a block in y. In two kernels a step: with the inverse of the next pivots inside,
   9^3 points take 17% longer, 33^2 11% less (a3d337e) */
#define HJ_PIVOTS  32
#define HJ_PIVOT_Y 8

/*
   Backend, copies, exchange
*/

/* Points of a tile of the streaming families in a direction, by dimension: how thick regions at the sides of a rank are made that wait for
   the halo (d41b9c9; not kept) */
#define HJ_STREAM_TILE_X 512, 128, 64
#define HJ_STREAM_TILE_Y 1, 1, 40
/* Entries of COO lists whose indices are on the device at a time; threads of a block (87b971d; not kept) */
#define HJ_COO_CHUNK   ((PetscCount)1 << 22)
#define HJ_COO_THREADS 256
/* Threads of a block: work on arrays (afebb49), reading of rows, filling of arrays (87b971d); norms of slabs, with their blocks (a2df026;
   not kept) */
#define HJ_ARRAYS_THREADS 256
#define HJ_PART_THREADS   64 /* of these along a line of a box that is copied */
#define HJ_THREADS        128
#define HJ_FILL_THREADS   256
#define HJ_SLAB_THREADS   256
#define HJ_SLAB_BLOCKS    512
/* A pinned buffer for copies of pageable memory: long enough for the full rate of PCIe, short enough to start early (5d4de57) */
#define HJ_STAGE_BYTES ((size_t)8 << 20)
/* Bytes that the pool of scratch memory does not give back (2c5f132, 14f49d2; not kept) */
#define HJ_SCRATCH_KEPT ((unsigned long long)256 << 20)
/* Exchanges: threads of a block that packs, of one that copies to a peer, loads of a thread in flight (5c4f9bd); looks at a flag between
   two looks at the clock (4febe74). Between H200s of one host; not kept */
#define HJGATHER_THREADS 256
#define HJIPC_THREADS    256
#define HJIPC_UNROLL     4
#define HJIPC_SPINS      1024
