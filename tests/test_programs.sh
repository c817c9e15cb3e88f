#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unmodified PETSc tutorials with the plugin loaded by -dll_append: multigrid with hjacobi on the levels against Chebyshev/Jacobi at equal
# sweeps must converge in no more outer iterations; with -dm_mat_type hjstencil they take the iterations of aij; with -pc_type hjmg alone
# they take few. Then what a user meets on the way: -help, -options_left, -log_view, -malloc_dump, -ksp_view. long: 1. The long run has 4 sweeps at a tolerance of
# 1e-10, the other 2 sweeps and the rest. The tutorials come from PETSC_EXAMPLES (a folder with ksp/ and snes/ in it), PETSc's own folder, or the distribution's examples package.
set -u
BUILD=${BUILD:-build} LIB=${LIB:-$PWD/lib/libhjacobi.so} CC=${CC:-mpicc} MPIEXEC=${MPIEXEC:-mpiexec}
dir=$BUILD/tests/programs
mkdir -p "$dir"
count=0 failed=0 long=${1:-} gpu=
if [ "${PETSC_CUDA:-0}" = 1 ] && nvidia-smi -L >/dev/null 2>&1; then gpu=cuda; fi

ok()
{
  count=$((count + 1))
  if [ "$1" = yes ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}

find_examples()
{
  prefix=$(pkg-config --variable=prefix PETSc) version=$(pkg-config --modversion PETSc)
  for examples in "${PETSC_EXAMPLES:-}" "$prefix/share/petsc/examples/src" "/usr/share/petsc/${version%.*}/share/petsc/examples/src" \
    "${PETSC_DIR:-}/src"; do
    if [ -f "$examples/ksp/ksp/tutorials/ex45.c" ]; then return; fi
  done
  examples=
}

# Whether a program was compiled; an installation of PETSc may come without the tutorials of some parts
there()
{
  if [ -f "$dir/$1" ]; then return; fi
  count=$((count + 1))
  echo "ok $count # SKIP $1 is not among the tutorials here"
  return 1
}

compile()
{
  $CC -w -O1 $PETSC_CFLAGS "$examples/$1.c" -o "$dir/$2" $PETSC_LIBS -lm
}

# Iterations of all linear solves of a run, or nothing where one did not converge
iterations()
{
  ranks=$1
  shift
  timeout 120 "$MPIEXEC" -n "$ranks" "$@" -ksp_converged_reason >"$dir/out" 2>&1 || { sed 's/^/# /' "$dir/out" >&2; return; }
  grep -qi 'did not converge' "$dir/out" && return
  sed -n 's/.*Linear .*converged due to.* iterations \([0-9]*\).*/\1/p' "$dir/out" | awk '{n += $1} END {print n}'
}

compare()
{
  program=$1 sweeps=$2
  shift 2
  for ranks in 1 4; do
    peer=$(iterations $ranks "$dir/$program" "$@" -pc_type mg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi \
      -mg_levels_ksp_max_it "$sweeps")
    ours=$(iterations $ranks "$dir/$program" "$@" -dll_append "$LIB" -pc_type mg -mg_levels_ksp_type richardson -mg_levels_pc_type hjacobi \
      -mg_levels_ksp_max_it 1 -mg_levels_pc_hjacobi_k "$sweeps")
    if [ -n "$peer" ] && [ -n "$ours" ] && [ "$ours" -le "$peer" ]; then result=yes; else result=no; fi
    ok $result "$program, $ranks ranks, $sweeps sweeps: ${ours:-failed} iterations, chebyshev/jacobi ${peer:-failed}"
  done
}

compare_all()
{
  sweeps=$1
  shift
  compare ex45 "$sweeps" -da_grid_x 5 -da_grid_y 5 -da_grid_z 5 -da_refine 3 -pc_mg_levels 4 "$@"
  compare ex50 "$sweeps" -da_grid_x 4 -da_grid_y 4 -da_refine 5 -pc_mg_levels 6 "$@"
  compare ex25 "$sweeps" -da_refine 5 -pc_mg_levels 4 "$@"
  compare snes-ex5 "$sweeps" -da_refine 4 -pc_mg_levels 4 "$@"
}

# Option files, as they are: the coarsest grid by sweeps takes no more iterations than its factors
coarsest()
{
  set -- "$dir/ex45" -da_grid_x 5 -da_grid_y 5 -da_grid_z 5 -da_refine 3 -pc_mg_levels 2 -dll_append "$LIB" \
    -options_file config/options/mg-poisson.opts -ksp_rtol 1e-10
  for ranks in 1 4; do
    factors=$(iterations $ranks "$@")
    sweeps=$(iterations $ranks "$@" -options_file config/options/coarse-sweeps.opts)
    ok "$([ -n "$factors" ] && [ -n "$sweeps" ] && [ "$sweeps" -le "$factors" ] && echo yes)" \
      "ex45, $ranks ranks: ${sweeps:-failed} iterations with the coarsest grid by sweeps, ${factors:-failed} by factors"
  done
}

# The same program with -dm_mat_type hjstencil takes the iterations of aij, on 1 and 4 ranks; then with its vectors on the GPU, where there is one
same_as_aij()
{
  program=$1
  there "$program" || return 0
  shift
  for vectors in standard $gpu; do
    if [ "$vectors" = cuda ]; then peer=aijcusparse; else peer=aij; fi
    for ranks in 1 4; do
      aij=$(iterations $ranks "$dir/$program" "$@" -dll_append "$LIB" -dm_vec_type $vectors -dm_mat_type $peer)
      ours=$(iterations $ranks "$dir/$program" "$@" -dll_append "$LIB" -dm_vec_type $vectors -dm_mat_type hjstencil)
      if [ -n "$aij" ] && [ "$ours" = "$aij" ]; then result=yes; else result=no; fi
      ok $result "$program $*, $ranks ranks, vectors $vectors: ${ours:-failed} iterations with hjstencil, $peer ${aij:-failed}"
    done
  done
}

matrix_type()
{
  hjacobi='-mg_levels_ksp_type richardson -mg_levels_pc_type hjacobi -mg_levels_ksp_max_it 1'
  same_as_aij ex45 -da_refine 2 -pc_type mg -pc_mg_levels 3
  same_as_aij ex45 -da_refine 2 -pc_type mg -pc_mg_levels 3 $hjacobi
  same_as_aij ex45 -pc_type asm
  same_as_aij ex45 -da_refine 2 -pc_type gamg
  same_as_aij ex50 -da_grid_x 4 -da_grid_y 4 -da_refine 4 -pc_type mg -pc_mg_levels 5 $hjacobi
  same_as_aij ex50 -da_grid_x 4 -da_grid_y 4 -da_refine 3 -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both
  same_as_aij ex25 -da_refine 4 -pc_type mg -pc_mg_levels 3 $hjacobi
  same_as_aij snes-ex5 -da_refine 3 -pc_type mg -pc_mg_levels 3 $hjacobi
  same_as_aij snes-ex5 -da_refine 2 -snes_fd_color
  same_as_aij snes-ex5 -pc_type bjacobi -sub_pc_type ilu
  same_as_aij snes-ex5 -da_refine 3 -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both
  same_as_aij ts-ex7 -ts_max_steps 2
  same_as_aij ts-ex13 -ts_max_steps 5 -ts_type beuler
  same_as_aij ts-ex15 -ts_max_steps 3
  same_as_aij ts-ex15 -ts_max_steps 3 -pc_type hjacobi
  same_as_aij snes-ex19
  same_as_aij snes-ex19 -da_refine 2 -pc_type pbjacobi
}

# The whole multigrid by -pc_type hjmg and nothing else: a few iterations of each linear solve, as many on 4 ranks; on the GPU too
alone()
{
  program=$1 most=$2
  there "$program" || return 0
  shift 2
  for vectors in standard $gpu; do
    if [ "$vectors" = cuda ]; then type=aijcusparse; else type=aij; fi
    one=$(iterations 1 "$dir/$program" "$@" -dll_append "$LIB" -pc_type hjmg -dm_vec_type $vectors -dm_mat_type $type)
    four=$(iterations 4 "$dir/$program" "$@" -dll_append "$LIB" -pc_type hjmg -dm_vec_type $vectors -dm_mat_type $type)
    if [ -n "$one" ] && [ "$one" -le "$most" ] && [ "$four" = "$one" ]; then result=yes; else result=no; fi
    ok $result "$program $* -pc_type hjmg, vectors $vectors: ${one:-failed} iterations, at most $most, 4 ranks ${four:-failed}"
  done
}

multigrid()
{
  alone ex25 3 -da_refine 5
  alone ex29 3 -da_refine 5
  alone ex29 3 -da_refine 5 -bc_type neumann
  alone ex45 3 -da_refine 3
  alone ex50 2 -da_grid_x 5 -da_grid_y 5 -da_refine 5
  alone snes-ex5 9 -da_refine 5
  alone snes-ex14 9 -da_refine 3
  alone ex34 4 -da_refine 3
  timeout 120 "$MPIEXEC" -n 2 "$dir/ex45" -da_refine 3 -dll_append "$LIB" -pc_type hjmg -pc_hjmg_log -log_view >"$dir/out" 2>&1 </dev/null
  ok "$(grep -q '^HJMGSetUp 1' "$dir/out" && grep -q '^HJMGCycle 0' "$dir/out" && grep -q '^HJMGCycle 1' "$dir/out" && echo yes)" \
    'ex45 -pc_hjmg_log: -log_view has events of levels'
  for type in aij hjstencil; do
    timeout 120 "$MPIEXEC" -n 1 "$dir/snes-ex19" -da_refine 3 -dll_append "$LIB" -pc_type hjmg -snes_converged_reason -ksp_converged_reason -dm_mat_type $type >"$dir/out" 2>&1 </dev/null
    ok "$(grep -q 'Nonlinear solve converged' "$dir/out" && ! grep -q 'Linear solve did not\|iterations [0-9][0-9]' "$dir/out" && echo yes)" \
      "snes ex19, 4 unknowns a point, $type, is solved by hjmg, with less than 10 iterations a linear solve"
    fields=$(iterations 2 "$dir/snes-ex19" -da_refine 3 -dll_append "$LIB" -options_file config/options/fields.opts -dm_mat_type $type)
    if [ "${fields:-999}" -le 20 ]; then result=yes; else result=no; fi
    ok $result "snes ex19, $type, hjmg for each field (fields.opts): ${fields:-failed} iterations, at most 20"
  done
}

tutorials()
{
  good=yes
  compared='ksp/ksp/tutorials/ex45:ex45 ksp/ksp/tutorials/ex50:ex50 ksp/ksp/tutorials/ex25:ex25 snes/tutorials/ex5:snes-ex5'
  others='ksp/ksp/tutorials/ex29:ex29 ksp/ksp/tutorials/ex34:ex34 snes/tutorials/ex14:snes-ex14 snes/tutorials/ex19:snes-ex19
    ts/tutorials/ex7:ts-ex7 ts/tutorials/ex13:ts-ex13 ts/tutorials/ex15:ts-ex15'
  if [ "$long" ]; then others=; fi
  for name in $compared $others; do
    if [ -f "$examples/${name%:*}.c" ]; then compile "${name%:*}" "${name#*:}" || good=; fi
  done
  ok "$good" 'the tutorials compile as they are'
  # At the tutorials' own tolerance with PETSc's number of sweeps; at 1e-10, where one iteration more or less says something, with 4
  if [ "$long" ]; then
    compare_all 4 -ksp_rtol 1e-10
  else
    compare_all 2
    coarsest
    matrix_type
    multigrid
  fi
}

# Runs ex45 with hjacobi as the only preconditioner: it must end well, and print a line that matches
prints()
{
  pattern=$1 name=$2
  shift 2
  if timeout 120 "$MPIEXEC" -n 1 "$dir/ex45" -dll_append "$LIB" -ksp_type richardson -pc_type hjacobi "$@" >"$dir/out" 2>&1 </dev/null &&
    grep -qE -e "$pattern" "$dir/out"; then
    ok yes "$name"
  else
    ok no "$name"
    sed 's/^/# /' "$dir/out" | tail -n 30 >&2
  fi
}

# Looks for another line in what the run before printed
printed()
{
  ok "$(grep -qE -e "$1" "$dir/out" && echo yes)" "$2"
}

user_checks()
{
  prints '^ *type: hjacobi' '-ksp_view names the type' -ksp_view
  prints 'pc_hjacobi_kk' 'a misspelt option shows in -options_left' -pc_hjacobi_kk 4 -options_left
  ok "$([ "$(grep -c '^ *Option left' "$dir/out")" -eq 1 ] && echo yes)" 'no other option is left'
  prints 'pc_hjacobi_k[ :]' '-help lists -pc_hjacobi_k' -help
  for key in overlap tile schedule weights omega eigenvalues reduction backend operator check_every check_norm verify monitor; do
    printed "pc_hjacobi_$key[ :]" "-help lists -pc_hjacobi_$key"
  done
  printed 'hj_exchange[ :]' '-help lists -hj_exchange'
  prints 'pc_hjacobi_exchange' 'a name that an option had shows in -options_left' -pc_hjacobi_exchange petscsf -options_left
  prints '^PCHJacobiCycle' '-log_view shows the event PCHJacobiCycle' -log_view
  printed '^PCHJacobiSetUp' '-log_view shows the event PCHJacobiSetUp'
  prints 'Residual norm' 'runs with -malloc_dump' -malloc_dump -malloc_debug
  ok "$(grep -qE '\[ *0\] *[0-9]+ bytes|Memory corruption|error' "$dir/out" || echo yes)" '-malloc_dump is clean'
}

# -cases with a word that is no case ends with a list of those that are
benchmarks()
{
  bench=$BUILD/examples/bench/bench_mg name='a benchmark refuses a case that it does not have, and lists those that it has'
  if [ ! -x "$bench" ]; then
    count=$((count + 1))
    echo "ok $count # SKIP bench_mg is not built"
  elif "$MPIEXEC" -n 1 "$bench" -cases cg2d,nonsense >"$dir/out" 2>&1; then
    ok no "$name"
  else
    ok "$(grep -q 'there is no nonsense; there are constant2d, constant3d,' "$dir/out" && echo yes)" "$name"
  fi
}

find_examples
if [ -z "$examples" ]; then
  package=libpetsc$(pkg-config --modversion PETSc | cut -d. -f1-2)-dev-examples
  echo "1..0 # SKIP PETSc's tutorials are not here (Debian: apt-get install $package)"
  exit 0
fi
tutorials
if [ -z "$long" ]; then
  user_checks
  benchmarks
fi
echo "1..$count"
exit $failed
