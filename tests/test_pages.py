#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# once: 1
"""Runs the code blocks of README and all other pages, in their order, a folder a page, as TAP.

A block is fenced, and its language says what is done with it:
    sh                 run by sh -e, with what blocks before it exported
    options            a line a command, or options of ./app, which is the program of "Start in five minutes"; no option may be left over
    python             run
    c, fortran, diff   written to the file that "<!-- as NAME -->" before it names, for blocks behind it
    text               no code
"<!-- not run: REASON -->" before a block says why it is not; "<!-- needs PROGRAM -->" leaves it out where there is no such program,
and "<!-- needs petsc4py -->" where there is none of this PETSc.
/path in an option stands for where the library is installed. Options for a GPU are run with the host's in place of cuda, so that every machine
sees that they are there and serve together.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
LIB = os.path.abspath(os.environ.get('LIB', 'lib/libhjacobi.so'))
MPIEXEC = os.environ.get('MPIEXEC', 'mpiexec')
WORK = os.path.join(BUILD, 'tests', 'pages')
BLOCK = re.compile(r'^((?:<!-- [^\n]* -->\n)*)```(\w+)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
START = 'config/docs/start.md'  # has the program that other pages run


def pages():
    found = [START, 'README.md', 'CHANGELOG.md']
    for folder in ('config', 'examples', 'src', '.github'):
        for place, _, files in sorted(os.walk(os.path.join(ROOT, folder))):
            found += [os.path.relpath(os.path.join(place, name), ROOT) for name in sorted(files) if name.endswith('.md')]
    return list(dict.fromkeys(found))


class Tap:
    def __init__(self):
        self.count, self.failed = 0, False

    def ok(self, good, name, output=''):
        self.count += 1
        print(f'{"ok" if good else "not ok"} {self.count} - {name}', flush=True)
        if not good:
            self.failed = True
            print('\n'.join('# ' + line for line in output.splitlines()[-20:]), file=sys.stderr)

    def skip(self, name, why):
        self.count += 1
        print(f'ok {self.count} - {name} # SKIP {why}')


def link(target, name):
    if not os.path.lexists(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        os.symlink(target, name)


def folder(page):
    """What a reader of the page sees where he types: the tree, the library where make puts it, an installation as "path" """
    place = os.path.join(WORK, page.replace('/', '-').replace('.md', ''))
    shutil.rmtree(place, ignore_errors=True)
    for name in ('examples', 'config', 'include', 'src', 'tests', 'makefile'):
        link(os.path.join(ROOT, name), os.path.join(place, name))
    link(BUILD, os.path.join(place, 'build'))
    link(LIB, os.path.join(place, 'lib/libhjacobi.so'))
    link(LIB, os.path.join(place, 'path/lib/libhjacobi.so'))
    link(os.path.join(ROOT, 'config/options'), os.path.join(place, 'path/share/hjacobi/options'))
    link(sys.executable, os.path.join(place, 'bin/python3'))
    if page != START and os.path.exists(app(START)):
        link(app(START), os.path.join(place, 'app'))
    return place


def app(page):
    return os.path.join(WORK, page.replace('/', '-').replace('.md', ''), 'app')


def environment(place):
    libdir = subprocess.run(['pkg-config', '--variable=libdir', 'PETSc'], capture_output=True, text=True, check=False).stdout.strip()
    return dict(os.environ, HJACOBI_LIBRARY=LIB, PYTHONPATH=os.path.join(ROOT, 'config/python'), PYTHONDONTWRITEBYTECODE='1',
                PATH=os.path.join(place, 'bin') + ':' + os.environ['PATH'], LD_LIBRARY_PATH=libdir + ':' + os.environ.get('LD_LIBRARY_PATH', ''))


def run(command, place, env, seconds=120):
    done = subprocess.run(['sh', '-ec', command], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace', timeout=seconds, check=False)
    return done.returncode == 0, done.stdout


def run_shell(text, place, env):
    """What a block exports is there in the next one of its page"""
    good, output = run(text + '\nenv -0 >.environment\n', place, env)
    if good:
        with open(os.path.join(place, '.environment'), encoding='utf-8') as file:
            env.update(item.split('=', 1) for item in file.read().split('\0') if item)
    return good, output


def run_options(text, place, env):
    text = text.replace('\\\n', ' ').replace(' /path/', f' {place}/path/')
    text = text.replace('-dm_vec_type cuda', '-dm_vec_type standard').replace('_backend cuda', '_backend host')
    lines = ['./app ' + ' '.join(text.split('\n'))] if text.startswith('-') else text.strip().split('\n')
    for line in lines:
        good, output = run(line.replace('mpiexec', MPIEXEC) + ' -ksp_error_if_not_converged -options_left', place, env)
        if not good or 'iterations' not in output or re.search(r'Option left|not used', output):
            return False, f'{line}\n{output}'
    return True, ''


def run_python(text, place, env):
    path = os.path.join(place, 'block.py')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return run(f'{sys.executable} {path}', place, env)


def petsc4py():
    """Whether petsc4py has the PETSc that the library was built for"""
    text = 'from petsc4py import PETSc; print("%d.%d" % PETSc.Sys.getVersion()[:2])'
    done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == os.environ.get('PETSC_VERSION', done.stdout.strip())


def run_block(tap, name, language, notes, text, place, env):
    needs = re.search(r'<!-- needs (?!petsc4py)(\S+) -->', notes)
    as_file = re.search(r'<!-- as (\S+) -->', notes)
    if needs and not shutil.which(needs[1]) and not os.path.exists(os.path.join(place, needs[1])):
        tap.skip(name, f'there is no {needs[1]}')
    elif (language == 'python' or '<!-- needs petsc4py -->' in notes) and not petsc4py():
        tap.skip(name, 'no petsc4py of this PETSc')
    elif language in ('c', 'fortran', 'diff'):
        if as_file:
            with open(os.path.join(place, as_file[1]), 'w', encoding='utf-8') as file:
                file.write(text)
        tap.ok(as_file, f'{name}: {as_file[1] if as_file else "no name to write it to"}')
    elif language in ('sh', 'options', 'python'):
        good, output = {'sh': run_shell, 'options': run_options, 'python': run_python}[language](text, place, env)
        tap.ok(good, name, output)
    else:
        tap.ok(False, f'{name}: no such language')


def indented(page, text):
    """Blocks that are code by their indentation alone have no language; the list of rooms is none"""
    outside = BLOCK.sub('', text)
    return [] if page == 'src/README.md' else re.findall(r'\n\n    \S.*', outside)


def main():
    tap, left_out = Tap(), []
    for page in pages():
        with open(os.path.join(ROOT, page), encoding='utf-8') as file:
            text = file.read()
        blocks = [(text[:match.start()].count('\n') + 1 + match[1].count('\n'), *match.groups()) for match in BLOCK.finditer(text)]
        if text.count('\n```') + text.startswith('```') != 2 * len(blocks) or indented(page, text):
            tap.ok(False, f'{page}: each block is fenced and has a language', str(indented(page, text)))
        if not blocks:
            continue
        place = folder(page)
        env = environment(place)
        # Others run the program of this page, which the blocks in front of it run too
        blocks.sort(key=lambda block: page == START and block[2] == 'options')
        for line, notes, language, code in blocks:
            reason = re.search(r'<!-- not run: (.*) -->', notes)
            if reason:
                left_out.append(f'{page}:{line}: {reason[1]}')
            elif language != 'text':
                run_block(tap, f'{page}:{line}, {language}', language, notes, code, place, env)
    print(f'# {len(left_out)} blocks are not run:')
    for why in left_out:
        print(f'#   {why}')
    print(f'1..{tap.count}')
    return tap.failed


if __name__ == '__main__':
    os.chdir(ROOT)
    sys.exit(main())
