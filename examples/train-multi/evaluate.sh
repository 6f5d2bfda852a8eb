#!/bin/sh
# Measure a model of many languages on all sets, the test sets among them.
#
#     examples/train-multi/evaluate.sh DATA MODEL
#
# Writes a line for each set and two languages, tab-separated: set, languages, pairs, figure; then a mean.
#   ted, pud, newstest2021   sentence alignment recovery error by CSLS, in percent, of measure.sh
#   pud-without              the same, of two languages that have English sentences in common
#   stsb                     100 times Spearman's correlation of the cosine with people's ratings; - is
#                            of cosines that are all alike, and left out of the mean
#   crawl                    AUC of rows that people call valid (V, F) against misaligned or foreign
#                            ones (A, L), by the default measure and by csls
# THREADS is how many threads compute.
set -eu

data=$1 model=$2
recipe=$(cd "$(dirname "$0")" && pwd)
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

"$recipe/measure.sh" "$model" "$data"/dev/ted.*.tsv
"$recipe/measure.sh" "$model" "$data"/test/pud.*.tsv
for file in "$data"/test/newstest2021.*.tsv; do
    case $file in (*.ha-en.tsv) ;; (*) cp "$file" "$work/" ;; esac
done
"$recipe/measure.sh" "$model" "$work"/newstest2021.*.tsv

first=''
for file in "$data"/test/pud.en-*.tsv "$data/test/pud.en-ar.tsv"; do # each with the next
    next=$(basename "$file" .tsv)
    next=${next#pud.en-}
    [ -z "$first" ] || paste "$data/test/pud.en-$first.tsv" "$file" |
        awk -F '\t' -v OFS='\t' '$1 == $3 { print $2, $4 }' > "$work/pud-without.$first-$next.tsv"
    first=$next
done
"$recipe/measure.sh" "$model" "$work"/pud-without.*.tsv

mean() { # SET: lines, then their mean
    awk -F '\t' -v OFS='\t' -v set="$1" '{ print } $4 != "-" { sum += $4; known++ }
        END { printf "%s\tmean of %d\t\t%.4g\n", set, known, sum / known }'
}
for language in de en fr ja ru zh; do
    other=en
    [ "$language" != en ] || other=de
    bitext-evaluate sts --model "$model:$language,$other" --language "$language" --threads "$THREADS" \
        -q --json "$data/test/sts/stsb.$language.tsv" > "$work/sts.json"
    python3 -c 'import json, sys
row = json.load(open(sys.argv[1]))["results"][0]
print("stsb", sys.argv[2], row["pairs"], (row["spearman"] or {"value": "-"})["value"], sep="\t")' "$work/sts.json" "$language"
done | mean stsb
for measure in default csls; do
    for file in "$data"/dev/crawl/paracrawl.en-*.tsv; do
        language=$(basename "$file" .tsv | sed 's/paracrawl.en-//; s/nb/no/')
        awk -F '\t' -v OFS='\t' '$1 ~ /^[VFAL]$/ { print $1 ~ /[VF]/ ? "clean" : "noise", $3, $4 }' \
            "$file" > "$work/rows"
        set -- --model "$model:en,$language" --scol 2 --tcol 3 -q --threads "$THREADS" -i "$work/rows"
        [ "$measure" = default ] || set -- "$@" --similarity "$measure"
        bitext-score "$@" | bitext-evaluate filtering --labels 1 --bootstrap 1 -q |
            awk -F '\t' -v OFS='\t' -v name="crawl-$measure" -v languages="en,$language" \
                '$1 == "auc" && $2 == "all" { print name, languages, $6 "+" $7, $3 }'
    done | mean "crawl-$measure"
done
