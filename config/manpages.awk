# SPDX-License-Identifier: BSD-2-Clause
# Manual pages of section 3 from the comments /*@ @*/ (functions), /*MC MC*/ (types of PCs and matrices) and /*E E*/ (enumerations), as roff.
#   awk -v dir=FOLDER -v version=0.1.0 -f manpages.awk FILE ...    writes FOLDER/NAME.3 for each
#   awk -v list=1 -f manpages.awk FILE ...                         prints their names
# Known are: a first line NAME - summary; sections, "Word words:" alone on a line; items, which begin with + . or - in the first column and
# have " - " between a term and its meaning; `code`; examples between .vb and .ve; "Level: word"; .seealso:. All else is text.

function unindented(text)
{
  sub(/^ +/, "", text)
  return text
}

# Text in which roff finds nothing of its own: names in bold, no dot or quote as the first character
function roff(text, bold)
{
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  while (match(text, /`[^`]*`/)) {
    bold = substr(text, RSTART + 1, RLENGTH - 2)
    text = substr(text, 1, RSTART - 1) "\\fB" bold "\\fR" substr(text, RSTART + RLENGTH)
  }
  if (text ~ /^[.']/) text = "\\&" text
  return text
}

function put(text)
{
  if (!list) print text >page
}

function section(title)
{
  put(".SH " toupper(title))
  broken = 0
  described = 1
}

function start(summary, at)
{
  at = index(summary, " - ")
  name = substr(summary, 1, at - 1)
  name = unindented(name)
  page = dir "/" name ".3"
  if (list) print name
  put(".TH " name " 3 \"\" \"hjacobi " version "\" \"hjacobi\"\n.nh\n.ad l")
  section("Name")
  put(name " \\- " roff(substr(summary, at + 3)))
  lines = 0
}

# A term ends at the first " - "; the blanks that align the meanings are not for roff
function item(text, at, term)
{
  text = substr(text, 2)
  at = index(text, " - ")
  term = at ? substr(text, 1, at - 1) : text
  sub(/ +$/, "", term)
  put(".TP")
  gsub(/`/, "", term)
  put(".B " roff(unindented(term)))
  if (at) put(roff(unindented(substr(text, at + 3))))
  broken = 0
}

function body(text)
{
  if (text ~ /^\.vb/) {
    put(".PP\n.nf")
    verbatim = 1
  } else if (text ~ /^\.ve/) {
    put(".fi")
    verbatim = 0
  } else if (verbatim) put(roff(substr(text, 4)))
  else if (text ~ /^\.seealso/) {
    section("See also")
    sub(/^\.seealso: */, "", text)
    put(roff(text))
  } else if (text ~ /^[+.-] /) item(text)
  else if (text ~ /^   [A-Z][A-Za-z ,]*:$/) {
    sub(/:$/, "", text)
    section(unindented(text))
  } else if (text ~ /^   Level: /) {
    section("Level")
    sub(/^ *Level: /, "", text)
    put(text)
  } else if (text ~ /^ *$/) broken = 1
  else {
    if (!described) section("Description")
    if (broken) put(".PP")
    put(roff(unindented(text)))
    broken = 0
  }
}

# The declaration comes behind the comment, and the page has it near its top: the lines of the comment wait
function finish(i)
{
  section("Synopsis")
  put(".nf\n#include <pchjacobi.h>")
  if (declaration != "") put(".PP\n" declaration)
  put(".fi")
  described = broken = 0
  for (i = 1; i <= lines; i++) body(line[i])
  if (!list) close(page)
  state = ""
}

function declare(text)
{
  declaration = declaration (declaration == "" ? "" : "\n") roff(text)
}

/^\/\*(@|MC|E)/ {
  state = "name"
  declaration = ""
  next
}
state == "name" && / - / {
  start($0)
  state = "text"
  next
}
state == "text" && /^ *(@|M|E)\*\// {
  state = /M\*\// ? "" : "declaration"
  if (state == "") finish()
  next
}
state == "text" {
  line[++lines] = $0
}
state == "declaration" && /^{/ {
  finish()
  next
}
state == "declaration" {
  declare($0)
  if (/;$/) finish()
}
