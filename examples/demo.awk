# SPDX-License-Identifier: BSD-2-Clause
# The table of examples/demo.sh as a picture, SVG: a bar for each solve, as long as it took, a group for each grid and number of ranks.
{
  group = $1 " " $2 ", " $3 ($3 > 1 ? " ranks" : " rank") ", " $4
  if (group != last) {
    groups++
    y += groups > 1 ? 34 : 44
    title[groups] = group
    title_y[groups] = y
    last = group
    y += 8
  }
  rows++
  name[rows] = $6 ($5 == "hjstencil" ? ", hjstencil" : "")
  its[rows] = $7
  time[rows] = $(NF - 1)
  in_group[rows] = groups
  at[rows] = y
  ours[rows] = $6 ~ /^hj/
  y += 18
  if (time[rows] > longest[groups]) longest[groups] = time[rows]
}

function text(x, y, words, how)
{
  printf "<text x=\"%d\" y=\"%d\" %s>%s</text>\n", x, y, how, words
}

END {
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", y + 68
  print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
  text(16, 20, "Poisson, time of a solve to 1e-8; set-up is not in it. Bars of one group have one scale", "font-size=\"13\"")
  for (i = 1; i <= groups; i++) text(16, title_y[i] + 2, title[i], "font-weight=\"bold\"")
  for (i = 1; i <= rows; i++) {
    text(150, at[i] + 15, name[i], "text-anchor=\"end\"")
    length_ = 420 * time[i] / (longest[in_group[i]] > 0 ? longest[in_group[i]] : 1)
    printf "<rect x=\"158\" y=\"%d\" width=\"%.1f\" height=\"13\" fill=\"%s\"/>\n", at[i] + 5, length_ < 1 ? 1 : length_, ours[i] ? "#3f7fbf" : "#b0b0b0"
    text(164 + length_, at[i] + 15, time[i] " s, " its[i] " iterations", "font-size=\"11\"")
  }
  text(16, y + 34, "blue: this library. chebyshev, sor, hjacobi: smoothers of PCMG, which is given all grids")
  text(16, y + 52, "hjmg, gamg, hypre: preconditioners that make coarser ones themselves; hjstencil: the matrix is stored as its stencil")
  print "</svg>"
}
