"""Write the rows of LABELLED that LABELS names, and people's labels of them.

    python examples/judge-a-crawl/rows.py LABELLED LABELS ROWS PEOPLE

LABELLED is a TSV: a label, any column, source, target. LABELS is a CSV of pair (its digest) and
label. ROWS gets source and target, below a header; PEOPLE, a CSV, pair and label.
"""

import csv
import sys

from bitextfilter.judge.judgements import pair_digest

labelled, labels, rows, people = sys.argv[1:]
known = {}
with open(labelled, encoding="utf-8", newline="\n") as stream:
    for line in stream:
        label, _, source, target = line.rstrip("\n").split("\t")[:4]
        known.setdefault(pair_digest(source, target), (source, target, label))
with (
    open(labels, encoding="utf-8") as stream,
    open(rows, "w", encoding="utf-8") as texts,
    open(people, "w", encoding="utf-8") as told,
):
    texts.write("source\ttarget\n")
    told.write("pair,label\n")
    for each in csv.DictReader(stream):
        source, target, label = known[each["pair"]]
        texts.write(f"{source}\t{target}\n")
        told.write(f"{each['pair']},{label}\n")
