#include <mpi.h>
#include <cstdio>
typedef int PetscErrorCode; typedef double PetscReal; typedef void *cudaStream_t; typedef long PetscInt64;
#define PetscFunctionBegin
#define PetscFunctionReturn(x) return x
#define PETSC_SUCCESS 0
#define PetscCall(x) do { if (x) return 1; } while (0)
struct HJHalo_IPC { PetscInt64 cycle, outer; int turn[2]; bool written; double buffer[2]; };
static PetscInt64 hj_cycle, hj_cycles; static bool capturing; static int fences;
static PetscErrorCode HJIPCFence(HJHalo_IPC *, PetscReal, cudaStream_t) { if (!capturing) { MPI_Barrier(MPI_COMM_WORLD); fences++; } return 0; }
#include "turns.inc"
static int rank, size;
static double Exchange(HJHalo_IPC *h, double own) {
  HJIPCTakeTurns(h, 0, 0); h->turn[0] ^= 1;
  if (capturing) return 0;
  double out[2] = {(double)h->turn[0], own}, in[2]; /* the peer writes the buffer whose turn it is there */
  MPI_Sendrecv(out, 2, MPI_DOUBLE, (rank + size - 1) % size, 0, in, 2, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  h->buffer[(int)in[0]] = in[1];
  return h->buffer[h->turn[0]];
}
static void Cycle(HJHalo_IPC *h, double own, bool recorded) { capturing = recorded; PetscInt64 outer = hj_cycle; hj_cycle = ++hj_cycles; if (!capturing) MPI_Barrier(MPI_COMM_WORLD); Exchange(h, own); hj_cycle = outer; capturing = false; }
/* a replay: the host counts nothing; the first buffer of a cycle is 1 */
static void Replay(HJHalo_IPC *h, double own) { double in; MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + size - 1) % size, 1, &in, 1, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); h->buffer[1] = in; }
int main(int c, char **v) { MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
  int bad = 0, all;
  { HJHalo_IPC h = {}; for (int i = 0; i < 6; i++) { if (!i) Cycle(&h, 10 * i + rank, false); else if (i % 2 && !rank) Cycle(&h, 10 * i + rank, true); if (Exchange(&h, 10 * i + rank) != 10 * i + (rank + 1) % size) bad++; } }
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); if (!rank) printf("the new test: %d wrong\n", all);
  /* test 53: set-up launches, records, launches and records; multiplies; then rank 0 records and replays, rank 1 replays; each followed by an exchange outside */
  bad = 0; { HJHalo_IPC h = {}; Cycle(&h, -1, false); Cycle(&h, -1, true); Replay(&h, -1); Cycle(&h, -1, false); Cycle(&h, -1, false); Cycle(&h, -1, true); Replay(&h, -1); Exchange(&h, -2);
    for (int i = 0; i < 5; i++) { if (!rank && i < 2) Cycle(&h, -3, true); Replay(&h, -100 - i); double got = Exchange(&h, 10 * i + rank); bool w = got != 10 * i + (rank + 1) % size; bad += w; if (w) printf("rank %d, iteration %d: got %g\n", rank, i, got); } }
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); if (!rank) printf("as in test 53: %d wrong\n", all);
  MPI_Finalize(); }
