#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# once: 1
"""What make docs stands on, without Sphinx, as TAP: dead links and missing anchors are found, links lead to the site's pages, and manual pages
become Markdown that says the same."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCS = os.path.join(ROOT, 'config', 'docs')
sys.path.insert(0, DOCS)
sys.dont_write_bytecode = True
import stage  # noqa: E402

COUNT = [0, 0]


def ok(good, name):
    COUNT[0] += 1
    COUNT[1] += not good
    print(f'{"ok" if good else "not ok"} {COUNT[0]} - {name}')


def links(body, *names):
    """Exit status and output of the link check of a site of one page, which has an option and a manual page"""
    with tempfile.TemporaryDirectory() as html:
        os.mkdir(os.path.join(html, 'manual'))
        for path, text in (('index.html', body), ('options.html', '<span id="pc_x"></span>'), ('manual/PCX.html', '<h1 id="pcx">PCX</h1>')):
            with open(os.path.join(html, path), 'w', encoding='utf-8') as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(DOCS, 'checklinks.py'), html, *names], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


def check_links():
    code, output = links('<a href="manual/PCX.html#pcx"></a><a href="#here"></a><p id="here"></p><a href="https://petsc.org"></a>', 'PCX', '-pc_x')
    ok(code == 0 and '2 links' in output and '1 links to other sites' in output, 'good links: ' + output.strip())
    for body, names, found in (('<a href="gone.html"></a>', (), 'index.html: gone.html'),
                               ('<img src="gone.svg">', (), 'index.html: gone.svg'),
                               ('<a href="manual/PCX.html#other"></a>', (), 'no such anchor'),
                               ('', ('-pc_y',), 'no anchor of -pc_y'),
                               ('', ('PCY',), 'no page of PCY')):
        code, output = links(body, *names)
        ok(code == 1 and found in output, f'found: {output.strip()}')


def check_stage():
    with tempfile.TemporaryDirectory() as folder:
        site = stage.Stage(folder)
        ok(site.link('examples/README.md', 'bench/README.md#how-to-measure') == 'bench.md#how-to-measure', 'a link to a page leads to where it lies')
        ok(site.link('README.md', 'https://petsc.org') == 'https://petsc.org', 'one to another site stays')
        picture = 'examples/paper/results/nvidia-h200/solve.svg'
        ok(site.link('README.md', picture) == picture and os.path.exists(os.path.join(folder, picture)), 'a file that a page shows is copied')
        try:
            site.link('README.md', 'gone.md')
            ok(False, 'a link that leads nowhere is an error')
        except SystemExit as error:
            ok('README.md: there is no gone.md' in str(error), 'a link that leads nowhere is an error')
    pages = {page for _, names in stage.CONTENTS for page in names}
    ok(pages == {staged[:-3] for staged in stage.PAGES.values()} - {'index'} | {'manual'}, 'each page stands in the contents')


def check_manual():
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, 'x.c')
        with open(source, 'w', encoding='utf-8') as file:
            file.write('''/*@
   PCXSetK - Sets k of `PCX`

   Input Parameters:
+  pc - the preconditioner
-  k  - a number, k * k < 10

   Options Database Key:
.  -pc_x_k <k> - the number

   Level: beginner

.seealso: `PCX`
@*/
PetscErrorCode PCXSetK(PC pc, PetscInt k)
{
''')
        subprocess.run(['awk', '-v', f'dir={folder}', '-v', 'version=0', '-f', os.path.join(ROOT, 'config/manpages.awk'), source], check=True)
        with open(os.path.join(folder, 'PCXSetK.3'), encoding='utf-8') as file:
            name, summary, text = stage.manual_page(file.read())
    ok((name, summary) == ('PCXSetK', 'Sets k of `PCX`'), 'a manual page has its name and its summary')
    lines = text.splitlines()
    ok('PetscErrorCode PCXSetK(PC pc, PetscInt k)' in lines and '- `-pc_x_k <k>`' in lines and '  a number, k \\* k \\< 10' in lines,
       'its declaration, options and parameters, with nothing that Markdown would take for its own')


check_links()
check_stage()
check_manual()
print(f'1..{COUNT[0]}')
sys.exit(COUNT[1] > 0)
