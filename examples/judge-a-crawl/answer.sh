#!/bin/sh
# Answer 1 for a pair that ROWS labels clean, and 0 for others: a stand-in for a person or a model.
#
#     examples/judge-a-crawl/answer.sh ROWS < pairs.tsv
#
# ROWS is a TSV of source, target and label.
set -eu
exec awk -F '\t' 'NR == FNR { label[$1 "\t" $2] = $3; next }
    { print (label[$1 "\t" $2] == "clean") + 0; fflush() }' "$1" -
