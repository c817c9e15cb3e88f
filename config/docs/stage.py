#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lays the pages of the site side by side for Sphinx: the READMEs, the pages of config/docs, and the manual pages.

    stage.py FOLDER MANUALS PICTURES    MANUALS: NAME.3 files of config/manpages.awk; PICTURES: of examples/pictures.py, may be missing

Links between pages are changed to where these lie in the site; files that a page links are copied. A link that leads nowhere is an error.
"""
import os
import re
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {  # of the repository: of the site; in the order of the contents
    'README.md': 'index.md',
    'config/docs/start.md': 'start.md',
    'config/docs/problems.md': 'problems.md',
    'config/options/README.md': 'options.md',
    'config/docs/slow.md': 'slow.md',
    'config/docs/gpus.md': 'gpus.md',
    'config/docs/ranks.md': 'ranks.md',
    'config/docs/method.md': 'method.md',
    'config/docs/speed.md': 'speed.md',
    'examples/README.md': 'examples.md',
    'config/python/README.md': 'python.md',
    'examples/installed/README.md': 'installed.md',
    'config/packaging.md': 'packaging.md',
    'examples/bench/README.md': 'bench.md',
    'examples/paper/README.md': 'paper.md',
    'src/README.md': 'rooms.md',
    '.github/CONTRIBUTING.md': 'contributing.md',
    '.github/SECURITY.md': 'security.md',
    'CHANGELOG.md': 'changes.md',
}
CONTENTS = [
    ('Use it', ['start', 'problems', 'options', 'slow', 'gpus', 'ranks', 'examples', 'python', 'installed', 'packaging', 'manual']),
    ('Know it', ['method', 'speed', 'bench', 'paper']),
    ('Change it', ['rooms', 'contributing', 'security', 'changes']),
]
TYPES = {'PCHJMG': 'hjmg, the multigrid preconditioner', 'PCHJACOBI': 'hjacobi, the smoother', 'MATHJSTENCIL': 'hjstencil, the matrix'}


def complain(text):
    sys.exit(f'docs: {text}')


class Stage:
    def __init__(self, folder):
        self.folder = folder

    def write(self, page, text):
        path = os.path.join(self.folder, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def link(self, source, target):
        """Where the target of a link in a page of the repository lies in the site"""
        if re.match(r'[a-z]+:|#', target):
            return target
        name, _, anchor = target.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(source), name))
        if path in PAGES:
            return PAGES[path] + (f'#{anchor}' if anchor else '')
        if path.startswith('config/docs/pictures/'):
            path = path[len('config/docs/'):]
            found = os.path.join(self.folder, path)
        else:
            found = os.path.join(ROOT, path)
            to = os.path.join(self.folder, path)
            if os.path.isfile(found):
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copyfile(found, to)
        if not os.path.isfile(found):
            complain(f'{source}: there is no {target}')
        return path

    def page(self, source, staged):
        with open(os.path.join(ROOT, source), encoding='utf-8') as file:
            text = file.read()
        text = re.sub(r'(\]\()([^)\s]+)(\))', lambda m: m[1] + self.link(source, m[2]) + m[3], text)
        # Options of a table's first column become anchors (conf.py knows the role)
        text = re.sub(r'^\| `(-[a-z0-9_]+)` \|', r'| {option-anchor}`\1` |', text, flags=re.MULTILINE) if staged == 'options.md' else text
        if staged == 'index.md':
            text += '\n' + contents()
        if '{container} beside' in text:  # wide
            text = '---\nhide-toc: true\n---\n\n' + text
        if '<!-- pictures -->' in text:
            text = text.replace('<!-- pictures -->', self.gallery(text))
        self.write(staged, text)

    def gallery(self, text):
        """The answers that examples/pictures.py drew, each under its program's line of the table"""
        drawn = []
        for name, problem in re.findall(r'^\| `([a-z]+)\.c`[^|]*\| ([^|]*) \|', text, re.MULTILINE):
            picture = f'pictures/{name}.png'
            if os.path.exists(os.path.join(self.folder, picture)):
                drawn.append(f'### {name}\n\n{problem[:1].upper() + problem[1:]}.\n\n![{name}: what it computes]({picture})\n')
        return '\n'.join(drawn)


def contents():
    text = ''
    for caption, pages in CONTENTS:
        text += f'```{{toctree}}\n:hidden:\n:caption: {caption}\n\n' + '\n'.join(pages) + '\n```\n\n'
    return text


def plain(text):
    """Text of roff, as config/manpages.awk writes it, as Markdown's"""
    text = re.sub(r'\\f[BR]', '`', text.replace('\\-', '-').replace('\\&', '').replace('\\e', '\\'))
    return ''.join(part if i % 2 else re.sub(r'([*<_\[\]|])', r'\\\1', part) for i, part in enumerate(re.split(r'(`[^`]*`)', text)))


def manual_page(roff):
    """One of config/manpages.awk's pages as Markdown; also its name and its summary"""
    lines, name, summary, verbatim, term = [], '', '', False, False
    for line in roff.splitlines():
        if line.startswith('.SH '):
            section = line[4:].capitalize()
            if section != 'Name':
                lines += ['', f'## {section}', '']
        elif line == '.nf':
            verbatim = True
            lines += ['', '```c' if section == 'Synopsis' else '```text']
        elif line == '.fi':
            verbatim = False
            lines += ['```', '']
        elif verbatim and line != '.PP':
            lines.append(line.replace('\\-', '-').replace('\\&', '').replace('\\e', '\\').replace('\\fB', '').replace('\\fR', ''))
        elif line == '.PP':
            lines.append('')
        elif line == '.TP':
            term = True
        elif line.startswith('.B '):
            lines.append(f'- `{line[3:]}`'.replace('\\-', '-'))
        elif not line.startswith('.'):
            if section == 'Name':
                name, summary = plain(line).split(' - ', 1)
                lines += [f'({name.lower()})=', '', f'# {name}', '', summary]
            else:
                lines.append(('  ' if term else '') + plain(line))
            term = False
    return name, summary, '\n'.join(lines) + '\n'


def manuals(stage, folder):
    pages = {}
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), encoding='utf-8') as roff:
            name, summary, text = manual_page(roff.read())
        pages[name] = summary
        stage.write(f'manual/{name}.md', text)
    text = '# Manual pages\n\nThe same as `man 3` after `make install`. The library also exports no other name.\n'
    of = {'hjmg': [], 'hjacobi': [], 'hjstencil': []}
    for name in pages:
        of['hjmg' if 'HJMG' in name else 'hjacobi' if name.startswith('PC') else 'hjstencil'].append(name)
    for group, names in of.items():
        rows = '\n'.join(f'| [`{name}`](manual/{name}.md) | {pages[name]} |' for name in sorted(names, key=lambda n: (n not in TYPES, n)))
        text += f'\n## {group}\n\n| name | what |\n| --- | --- |\n{rows}\n'
    text += '\n```{toctree}\n:hidden:\n\n' + '\n'.join(f'manual/{name}' for name in pages) + '\n```\n'
    stage.write('manual.md', text)


def main(folder, manual_folder, pictures):
    stage = Stage(folder)
    if os.path.isdir(pictures):
        shutil.copytree(pictures, os.path.join(folder, 'pictures'), dirs_exist_ok=True, ignore=shutil.ignore_patterns('*.dat*'))
    for source, staged in PAGES.items():
        stage.page(source, staged)
    manuals(stage, manual_folder)


if __name__ == '__main__':
    main(*sys.argv[1:])
