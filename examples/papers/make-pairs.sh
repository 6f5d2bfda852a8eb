#!/bin/sh
# Pairs of English and another language from tables of many languages, to stdout.
#
#     examples/papers/make-pairs.sh DATA LANGUAGE
#
# DATA holds train/multi/*.tsv.xz, whose first lines name their columns: en, and codes of other
# languages. Each English sentence stands once; a row without a translation is no pair.
set -eu

data=$1
export LC_ALL=C

for file in "$data"/train/multi/*.tsv.xz; do
    xz -dc "$file" | awk -F '\t' -v OFS='\t' -v language="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
        language in place { print $place["en"], $place[language] }'
done | awk -F '\t' '$1 ~ /[^ ]/ && $2 ~ /[^ ]/ && !seen[$1]++'
