#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whether all links within the site lead somewhere: files and anchors; and whether each option and each manual page that is named has one.

    checklinks.py HTML NAME ...    NAME: a manual page, or an option with its dash. Links to other sites are counted, not followed.
"""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlparse


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        with open(path, encoding='utf-8') as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ('id', 'name'):
                self.ids.add(value)
            elif key in ('href', 'src') and value:
                self.links.append(value)


def main(html, names):
    pages, bad, outside, inside = {}, [], set(), 0
    for folder, _, files in os.walk(html):
        for file in files:
            if file.endswith('.html'):
                path = os.path.join(folder, file)
                pages[os.path.relpath(path, html)] = Page(path)
    for page, parsed in pages.items():
        for link in parsed.links:
            url = urlparse(link)
            if url.scheme or url.netloc:
                outside.add(link)
                continue
            inside += 1
            to = os.path.normpath(os.path.join(os.path.dirname(page), unquote(url.path))) if url.path else page
            if not os.path.exists(os.path.join(html, to)):
                bad.append(f'{page}: {link}')
            elif url.fragment and to in pages and unquote(url.fragment) not in pages[to].ids:
                bad.append(f'{page}: {link}: no such anchor')
    for name in names:
        if name.startswith('-') and name[1:] not in pages['options.html'].ids:
            bad.append(f'options.html: no anchor of {name}')
        elif not name.startswith('-') and f'manual/{name}.html' not in pages:
            bad.append(f'manual: no page of {name}')
    print('\n'.join(sorted(set(bad))) or f'docs: {len(pages)} pages, {inside} links within the site lead somewhere, '
          f'{len(names)} options and functions have anchors; {len(outside)} links to other sites were not followed')
    return bool(bad)


sys.exit(main(sys.argv[1], sys.argv[2:]))
