#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PETSc's own programs on DMDAs and DMStags, with the arguments of their own test blocks: each as it is, then with -dm_mat_type hjstencil,
-pc_type hjmg and -pc_type hjacobi, with the prefixes of the program's own solvers. What comes of each is of one of the KINDS below.
petscprograms.csv says which kind each test had when it was last written: no fewer may be right, no answer may be wrong, no program may
crash or hang, and each refusal must name what to use instead. Tests come from PETSC_EXAMPLES or the distribution's package of examples.
The ordinary run has the programs of QUICK. long: 1

Usage: test_petscprograms.py [long] [--write] [WORD ...]   the tests whose name has one of the words; --write: into petscprograms.csv

Prints TAP; what came of each test is in build/tests/petscprograms/results.csv, what a run printed in the folder run beside it.
"""
import csv
import glob
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'petscprograms.csv')
# Programs that were compiled stay there
FOLDER = os.path.abspath(os.path.join(os.environ.get('BUILD', 'build'), 'tests', 'petscprograms'))
LIB = os.environ.get('LIB', os.path.abspath('lib/libhjacobi.so'))
PARTS = ('ksp', 'snes', 'ts', 'tao', 'dm', 'mat')
VARIANTS = ('hjstencil', 'hjmg', 'hjacobi')
# What comes of a run: all solves by what was asked for are right; it ends with an error that names the cure; nothing is solved by what was
# asked for, as the program makes its own matrix or PC; a solve says that it did not converge where the program's own did; a solve says that
# it converged, and its true residual is bad; it ends with an error that does not help; with a signal; not at all
KINDS = ('right', 'refused', 'not used', 'not converged', 'wrong', 'unclear', 'crash', 'hang')
BAD = ('wrong', 'unclear', 'crash', 'hang')
SECONDS = 120
QUICK = ('ksp/ksp/tutorials/ex25', 'ksp/ksp/tutorials/ex28', 'ksp/ksp/tutorials/ex50', 'snes/tests/ex20', 'ts/tutorials/ex13')
# Those on more are BDDC's and FETI-DP's, most of them, which take minutes on two cores
MOST_RANKS = 4
# Where neither the test nor the program says how many
MOST_ITERATIONS = 500
# What is added to tests in which sweeps alone would take minutes, or do well with more iterations
ADDED = {'ksp/ksp/tutorials/ex29 1': '-da_refine 5', 'ksp/ksp/tutorials/ex29 2': '-da_refine 5',
           'ksp/ksp/tutorials/ex29 telescope': '-da_grid_x 33 -da_grid_y 33',
           'ksp/ksp/tutorials/ex25 1': '-ksp_max_it 1500', 'ksp/ksp/tutorials/ex25 2': '-ksp_max_it 1500',
           'dm/impls/stag/tutorials/ex4 isovisc_nondim_abf_mg_2': '-ksp_max_it 700', 'dm/impls/stag/tutorials/ex8 1': '-ksp_max_it 700'}
# A solve that says converged is right with a true residual of this many times what was asked, or of what the program has as it is: a
# preconditioned residual, which most programs stop by, is smaller or larger than the true one by the preconditioner
FACTOR = 100


def run(command, **keywords):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', **keywords)


def pkg_config(*options):
    return run(['pkg-config', *options, 'PETSc']).stdout.strip()


def find_examples():
    version = '.'.join((os.environ.get('PETSC_VERSION') or pkg_config('--modversion')).split('.')[:2])
    for folder in (os.environ.get('PETSC_EXAMPLES', ''), f'/usr/share/petsc/{version}/share/petsc/examples/src'):
        if os.path.isfile(os.path.join(folder, '..', 'config', 'testparse.py')):
            return version, folder
    return version, None


class Requirements:
    """What a test requires of PETSc, by its petscconf.h"""

    def __init__(self):
        flags = shlex.split(os.environ.get('PETSC_CFLAGS') or pkg_config('--cflags'))
        self.defined = set()
        for folder in (flag[2:] for flag in flags if flag.startswith('-I')):
            path = os.path.join(folder, 'petscconf.h')
            if os.path.isfile(path):
                with open(path) as conf:
                    self.defined |= set(re.findall(r'^#define (\w+)', conf.read(), re.M))

    def holds(self, word):
        if word.startswith('!'):
            return not self.holds(word[1:])
        if word.startswith('defined('):
            return word[8:-1] in self.defined
        if word in ('c99', 'double', 'int32'):
            return True
        # There is no display here, nor files of data
        if word in ('x', 'single', 'complex', 'int64', 'datafilespath', 'skip', 'broken', '__float128', '__fp16'):
            return False
        return f'PETSC_HAVE_{word.upper()}' in self.defined

    def met(self, test):
        return 'TODO' not in test and all(self.holds(word) for word in test.get('requires', '').split())


class Case:
    def __init__(self, examples, source, name, ranks, args, test):
        folder = os.path.join(examples, os.path.dirname(source))
        self.source, self.name, self.ranks, self.limits = source, name, ranks, []
        self.args = args + ADDED.get(name, '').split()
        self.files = [os.path.join(folder, file) for file in test.get('localrunfiles', '').split()]

    def same(self, dropped):
        """What tells two runs apart: the arguments less what prints and what begins with one of the words"""
        options = re.split(r'\s+(?=-[A-Za-z])', ' ' + ' '.join(self.args))
        kept = [o for o in options if not re.match(r'-\w*(monitor|view|converged_reason|log)', o) and not o.startswith(dropped)]
        return self.source, self.ranks, tuple(sorted(kept))


LOOP = re.compile(r'\{\{(.*?)\}\}(?:\s*(?:separate|shared)[ _]output)?')


def expanded(text):
    """Each of the texts that a text with loops {{a b}} stands for"""
    pieces = LOOP.split(text)
    values = [piece.split() if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return [''.join(choice) for choice in itertools.product(*values)]


def cases_of_test(examples, source, name, test):
    combinations = list(itertools.product(expanded(test.get('nsize', '1')), expanded(test.get('args', ''))))
    for i, (ranks, args) in enumerate(combinations):
        number = f'+{i}' if len(combinations) > 1 else ''
        yield Case(examples, source, name + number, int(ranks), shlex.split(args), test)


def cases_of_file(testparse, requirements, examples, source):
    """The tests of a program, in PETSc's own reading; a test of tests counts as these"""
    parsed = testparse.parseTestFile(os.path.join(examples, source), 0)
    tests = parsed.get(os.path.basename(source), {})
    if not requirements.met({key: value for key, value in tests.items() if isinstance(value, str)}):
        return
    for name, test in tests.items():
        if not isinstance(test, dict) or not requirements.met(test):
            continue
        label = source[:-2] + ' ' + name.replace('run' + os.path.basename(source)[:-2] + '_', '')
        subtests = [value for value in test.values() if isinstance(value, dict)]
        for i, subtest in enumerate(subtests or [{}]):
            whole = {**{key: value for key, value in test.items() if isinstance(value, str)}, **subtest}
            if subtests:
                whole['args'] = test.get('args', '') + ' ' + subtest.get('args', '')
            if requirements.met(whole):
                yield from cases_of_test(examples, source, label + (f'.{i}' if subtests else ''), whole)


def find_cases(examples):
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(examples, '..', 'config'))
    import testparse
    requirements = Requirements()
    for part in PARTS:
        for folder, _, names in sorted(os.walk(os.path.join(examples, part))):
            for name in sorted(name for name in names if name.endswith('.c')):
                with open(os.path.join(folder, name), errors='replace') as file:
                    text = file.read()
                if '/*TEST' in text and re.search('DMDACreate|DMStagCreate', text) and re.search(r'\b(KSP|SNES|TS|Tao)Create\(', text):
                    yield from cases_of_file(testparse, requirements, examples, os.path.relpath(os.path.join(folder, name), examples))


def compile_program(folder, source, target, *flags):
    cflags = shlex.split(os.environ.get('PETSC_CFLAGS') or pkg_config('--cflags'))
    libs = shlex.split(os.environ.get('PETSC_LIBS') or pkg_config('--libs'))
    path = os.path.join(folder, source)
    with open(path, errors='replace') as file:
        depends = re.findall(r'^\s*depends: *(.*\.c) *$', file.read(), re.M)
    more = [os.path.join(os.path.dirname(path), name) for name in (depends[0].split() if depends else [])]
    # Programs call BLAS and LAPACK, which PETSc's libraries alone may name
    libs.insert(0, '-Wl,--copy-dt-needed-entries')
    return run([os.environ.get('CC', 'mpicc'), '-w', '-O1', *flags, *cflags, path, *more, '-o', target, *libs, '-lm'])


def program_of(source):
    return os.path.join(FOLDER, source[:-2].replace('/', '-'))


def number(word):
    """PETSc writes -nan. and 1."""
    return float(word.rstrip('.'))


class Outcome:
    """What a run printed, how it ended, and the solves that the probe saw"""

    def __init__(self, case, variant, options, seconds):
        folder = os.path.join(FOLDER, 'run', re.sub('[^A-Za-z0-9]+', '-', f'{case.name} {variant}'))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in case.files:
            os.symlink(name, os.path.join(folder, os.path.basename(name)))
        solves = os.path.join(folder, 'solves')
        # Each rank has an error file of its own: in one, lines of several, and of mpiexec, stand within each other
        command = [os.environ.get('MPIEXEC', 'mpiexec'), '-n', str(case.ranks), 'sh', '-c', 'exec "$@" 2>"err.$$"', 'sh',
                   program_of(case.source), *case.limits, *case.args, *options, '-dll_append', f'{LIB},{FOLDER}/libprobe.so']
        begin = time.time()
        # Open MPI's folder of all runs of a user goes with the last of them: a run that begins at that moment fails without one of its own
        session = tempfile.mkdtemp(prefix='hj', dir='/tmp')
        sessions = {'OMPI_MCA_orte_tmpdir_base': session, 'PRTE_MCA_prte_tmpdir_base': session}
        with open(os.path.join(folder, 'out'), 'w') as out, open(os.path.join(folder, 'err'), 'w') as err:
            process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True,
                                       env={**os.environ, 'HJ_PROBE': solves, **sessions})
            try:
                self.code = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                self.code = None
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        self.seconds = time.time() - begin
        shutil.rmtree(session, ignore_errors=True)
        self.text = ''
        for name in sorted(glob.glob(os.path.join(folder, 'err*'))):
            with open(name, errors='replace') as err:
                self.text += err.read(4000000)
        self.ksp, self.nonlinear = [], []
        if os.path.exists(solves):
            with open(solves) as lines:
                for words in map(str.split, lines):
                    if words[0] == 'ksp' and 'esteig' not in words[1]:
                        self.ksp.append({'prefix': '-' + words[1].lstrip('-'), 'pc': words[2], 'mat': words[3:5], 'reason': int(words[5]),
                                         'its': int(words[6]), 'residual': number(words[7]), 'rtol': number(words[8])})
                    elif words[0] != 'ksp':
                        self.nonlinear.append(int(words[1]))

    def used(self, variant):
        """Solves by what the variant asks for"""
        return [solve for solve in self.ksp if variant in (solve['mat'] if variant == 'hjstencil' else [solve['pc']])]

    def error(self):
        """The sentence of the first error, and whether it comes from this library"""
        lines = [line.partition('PETSC ERROR: ') for line in self.text.split('\n') if re.match(r'\[\d+\]PETSC ERROR: ', line)]
        lines = [line for rank, _, line in lines if rank == lines[0][0]]
        start = next((i for i, line in enumerate(lines) if 'Error Message ---' in line), None)
        if start is None:
            return '', False
        stop = next((i for i in range(start, len(lines)) if lines[i].startswith(('See https', 'WARNING! There'))), len(lines))
        first = next((line for line in lines[start:] if line.startswith('#1 ')), '')
        return ' '.join(lines[start + 2:stop]) or ' '.join(lines[start + 1:stop]), ' HJ' in first or 'hj' in first.split('/')[-1]


CURES = re.compile(r'use |take |give |leave |set |-pc_|-dm_|-ksp_|-mat_', re.I)
# PETSc's own solvers and colourings that take one type of matrix or PC alone, and say which
THEIRS = re.compile('ML can only handle AIJ|Must use MATHYPRESTRUCT|PCBDDC preconditioner requires matrix of type MATIS|need a PCBDDC|'
                    'Matrix must be AIJ for greedy coloring|Amat should be of type MATIS')


def failed_kind(outcome):
    """The kind of a run that ended with an error"""
    sentence, ours = outcome.error()
    if outcome.code is None:
        return 'hang', f'after {outcome.seconds:.0f} s'
    if re.search(r'Caught signal|Segmentation|exited on signal|corrupt|double free', outcome.text):
        return 'crash', sentence or outcome.text[-300:]
    # PETSc's error, or the program's own after it
    if re.search('DIVERGED|not converged', sentence) or not ours and outcome.ksp and outcome.ksp[-1]['reason'] < 0:
        return 'not converged', sentence
    if ours and CURES.search(sentence) or THEIRS.search(sentence):
        return 'refused', sentence
    return 'unclear', sentence or outcome.text[-300:]


def claims(solve):
    """KSP_CONVERGED_ITS says how often was iterated and no more, and so do HAPPY_BREAKDOWN's relatives"""
    return solve['reason'] in (1, 2, 3, 9)


def asked_of(outcomes):
    """By prefix: the largest true residual that the outcomes have, and whether all solves converged"""
    asked = {}
    for solve in itertools.chain(*(outcome.ksp for outcome in outcomes)):
        worst = asked.setdefault(solve['prefix'], [0.0, True])
        worst[0], worst[1] = max(worst[0], solve['residual']), worst[1] and solve['reason'] > 0
    return asked


def judge(variant, outcome, *others):
    """(kind, words) of a run beside the program as it is, and beside others that it is compared with"""
    if outcome.code != 0:
        return failed_kind(outcome)
    ours = outcome.used(variant)
    if not ours:
        return 'not used', ''
    asked = asked_of(others)
    last = ours[-1]
    words = f"reason {last['reason']} its {last['its']} residual {last['residual']:.1e}"
    for solve in ours:
        limit = FACTOR * max(solve['rtol'], asked.get(solve['prefix'], [0.0])[0])
        if claims(solve) and not solve['residual'] <= limit:
            return 'wrong', f"reason {solve['reason']} its {solve['its']} residual {solve['residual']:.1e}, at most {limit:.1e}"
    if any(solve['reason'] <= 0 and asked.get(solve['prefix'], [0.0, True])[1] for solve in ours):
        return 'not converged', words
    if [reason > 0 for reason in outcome.nonlinear][-1:] != [reason > 0 for reason in others[0].nonlinear][-1:]:
        return 'not converged', words + f', nonlinear {outcome.nonlinear[-1:]}'
    return 'right', words


class Runner:
    """Runs each case once for all tests that differ in nothing that matters: another PC than the test's does not read its options"""

    def __init__(self):
        self.lock, self.outcomes = threading.Lock(), {}

    def outcome(self, case, variant, options, seconds):
        others = ('-pc_', '-mg_', '-fieldsplit_') if variant.startswith('hj') and variant != 'hjstencil' else ('-none',)
        key = (variant, tuple(options), case.same(others))
        with self.lock:
            mine = key not in self.outcomes
            future = self.outcomes.setdefault(key, Future())
        if mine:
            try:
                future.set_result(Outcome(case, variant, options, seconds))
            except Exception as problem:
                future.set_exception(problem)
        return future.result()

    def kinds(self, case):
        """The kind and words of each variant, or why there are none; and the seconds of the program as it is"""
        base = self.outcome(case, 'as it is', [], SECONDS)
        if base.code != 0:
            return 'fails as it is', {}, base.seconds
        if not base.ksp:
            return 'no linear solve', {}, base.seconds
        return 'solved', {variant: self.kind(case, variant, base) for variant in VARIANTS}, base.seconds

    def kind(self, case, variant, base):
        seconds = max(SECONDS, 10 * base.seconds)
        prefixes = sorted({solve['prefix'] for solve in base.ksp})
        options = {pc: [word for prefix in prefixes for word in (f'{prefix}pc_type', pc)] for pc in ('hjmg', 'hjacobi', 'jacobi')}
        options['hjstencil'] = ['-dm_mat_type', 'hjstencil']
        case.limits = [word for prefix in prefixes for word in (f'{prefix}ksp_max_it', str(MOST_ITERATIONS))]
        outcome = self.outcome(case, variant, options[variant], seconds)
        kind, words = judge(variant, outcome, base)
        if kind == 'wrong' and variant != 'hjstencil':
            # Where rows have different sizes, every norm in which they have been divided by the diagonal is as far from the true one
            kind, words = judge(variant, outcome, base, self.outcome(case, 'jacobi', options['jacobi'], seconds))
        return kind, words


def compile_all(examples, cases):
    """The cases whose program is there"""
    sources = sorted({case.source for case in cases})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda source: os.path.exists(program_of(source)) or compile_program(examples, source, program_of(source)), sources))
    missing = {source for source in sources if not os.path.exists(program_of(source))}
    print(f'# {len(cases)} tests of {len(sources)} programs; not compiled: {" ".join(sorted(missing)) or "none"}', flush=True)
    return [case for case in cases if case.source not in missing]


def run_all(cases):
    """{(test, ranks): {variant: kind}}, and results.csv on the way"""
    runner, found, others = Runner(), {}, {}
    with ThreadPoolExecutor(2) as pool, open(f'{FOLDER}/results.csv', 'w', newline='') as file:
        results = csv.writer(file)
        for case, (what, kinds, seconds) in zip(cases, pool.map(runner.kinds, cases)):
            results.writerow([case.name, case.ranks, what, f'{seconds:.1f}', *itertools.chain(*kinds.values())])
            file.flush()
            others[what] = others.get(what, 0) + 1
            if kinds:
                found[case.name, str(case.ranks)] = {variant: kind for variant, (kind, _) in kinds.items()}
            for variant, (kind, words) in kinds.items():
                if kind in BAD:
                    print(f'# {kind}: {case.name}, {case.ranks} ranks, {variant}: {words[:300]}', flush=True)
    print('# ' + ', '.join(f'{what}: {n}' for what, n in sorted(others.items())))
    return found


def read_table():
    with open(TABLE, newline='') as file:
        return {(row['test'], row['ranks']): row for row in csv.DictReader(file)}


def write_table(found, before):
    kinds_of = {**before, **found}
    with open(TABLE, 'w', newline='') as file:
        table = csv.writer(file, lineterminator='\n')
        table.writerow(['test', 'ranks', *VARIANTS])
        table.writerows([*key, *(kinds[variant] for variant in VARIANTS)] for key, kinds in sorted(kinds_of.items()))


def report(found, before):
    """Whether the table's tests were run, and two checks a variant; how many failed"""
    lost = [' '.join(key) for key in before if key not in found]
    if lost:
        print('# not: ' + ', '.join(lost))
    print(f"{'not ok' if lost else 'ok'} 1 - the {len(before)} tests of the table solve as they are")
    failed = int(bool(lost))
    for i, variant in enumerate(VARIANTS):
        counts = {kind: sum(kinds[variant] == kind for kinds in found.values()) for kind in KINDS}
        right = sum(before[key][variant] == 'right' for key in found if key in before)
        for key, kinds in found.items():
            if key in before and before[key][variant] != kinds[variant]:
                print(f'# {key[0]}, {key[1]} ranks, {variant}: {kinds[variant]}, was {before[key][variant]}')
        checks = ((counts['right'] >= right, f'{variant}, of {len(found)}: ' + ', '.join(f'{kind} {n}' for kind, n in counts.items() if n)
                   + f'; right were {right}'),
                  (not any(counts[kind] for kind in BAD), f'{variant}: none is ' + ', '.join(BAD)))
        for j, (good, words) in enumerate(checks):
            failed += not good
            print(f"{'ok' if good else 'not ok'} {2 * i + j + 2} - {words}")
    print(f'1..{2 * len(VARIANTS) + 1}')
    return failed


def wanted(name, words):
    return not words or any(word in name for word in words)


def main():
    words = [word for word in sys.argv[1:] if word not in ('long', '--write')]
    version, examples = find_examples()
    if not examples:
        print(f"1..0 # SKIP PETSc's programs are not here (Debian: apt-get install libpetsc{version}-dev-examples)")
        return 0
    if version != '3.18':
        print(f'1..0 # SKIP the table is that of PETSc 3.18, this is {version}')
        return 0
    os.makedirs(FOLDER, exist_ok=True)
    made = compile_program(HERE, 'programs/probe.c', f'{FOLDER}/libprobe.so', '-shared', '-fPIC', '-I' + os.path.join(HERE, '..', 'src'))
    if made.returncode:
        print(made.stdout, file=sys.stderr)
        return 1
    if not words and 'long' not in sys.argv and '--write' not in sys.argv:
        words = [name + ' ' for name in QUICK]
    cases = [case for case in find_cases(examples) if case.ranks <= MOST_RANKS and wanted(case.name, words)]
    cases.sort(key=lambda case: case.ranks)
    before, found = read_table(), run_all(compile_all(examples, cases))
    if '--write' in sys.argv:
        write_table(found, before)
    return 1 if report(found, {key: kinds for key, kinds in before.items() if wanted(key[0], words)}) else 0


if __name__ == '__main__':
    sys.exit(main())
