# SPDX-License-Identifier: BSD-2-Clause
"""Sphinx's configuration of the site. What stands between backquotes leads to its page: functions and types, options, files that are pages."""
import os
import sys

from docutils import nodes
from pygments.lexers.shell import BashLexer
from sphinx.util.nodes import make_refnode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from stage import PAGES  # noqa: E402

project = 'hjacobi'
author = 'hjacobi developers'
copyright = '2026, hjacobi developers'
version = release = os.environ.get('VERSION', '')
extensions = ['myst_parser']
myst_enable_extensions = ['colon_fence']
myst_heading_anchors = 3
html_theme = 'furo'
html_title = f'hjacobi {version}'
html_static_path = ['static']
html_css_files = ['site.css']
html_copy_source = False
html_show_sphinx = False
pygments_style = 'friendly'
templates_path = []
OPTIONS = {}


def option_anchor(name, rawtext, text, lineno, inliner, options=None, content=None):
    """A literal that has an anchor, and that the search knows as an option"""
    env, anchor = inliner.document.settings.env, text[1:]
    OPTIONS[text] = (env.docname, anchor)
    env.get_domain('std').add_program_option(None, text, env.docname, anchor)
    return [nodes.target('', '', ids=[anchor]), nodes.literal(text, text)], []


def destination(app, docname, text):
    """(page, anchor) of a name between backquotes, or nothing"""
    word = text.split()[0] if text.split() else ''
    name = word.split('(')[0]
    if f'manual/{name}' in app.env.found_docs:
        return f'manual/{name}', ''
    if word in OPTIONS:
        return OPTIONS[word]
    source = next((page for page, staged in PAGES.items() if staged == docname + '.md'), '')
    for path in (word, os.path.normpath(os.path.join(os.path.dirname(source), word))):
        if path in PAGES:
            return PAGES[path][:-3], ''
    return None


def link_literals(app, doctree, docname):
    for node in list(doctree.findall(nodes.literal)):
        above, inside = node.parent, set()
        while above is not None:
            inside.add(type(above))
            above = above.parent
        found = destination(app, docname, node.astext())
        if found and found[0] != docname and not inside & {nodes.reference, nodes.title}:
            node.replace_self(make_refnode(app.builder, docname, found[0], found[1], node.deepcopy()))


def setup(app):
    app.add_role('option-anchor', option_anchor)
    app.add_lexer('options', BashLexer)
    app.connect('doctree-resolved', link_literals)
    return {'parallel_read_safe': False}
