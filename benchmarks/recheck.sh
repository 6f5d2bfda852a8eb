#!/bin/sh
# What a recheck gains on people's labels, and what it costs: docs/score.md, "Doubted pairs".
#
#     benchmarks/recheck.sh DATA FAST SLOW LOW,HIGH LANGUAGE...
#
# Writes a line for each language with English, tab-separated: language, rows, per cent rechecked, then the AUC of rows that
# people call valid (V, F) against misaligned or foreign ones (A, L), and the processor's seconds: of the fast model
# by mlp, the slow one by its default measure, and both.
set -eu

data=$1 fast=$2 slow=$3 between=$4
shift 4
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

scored() { # OPTION...: AUC and seconds
    (
        bitext-score -i "$work/rows" -o "$work/scored" --languages "en,$language" --scol 2 --tcol 3 --threads 1 \
            --manifest "$work/manifest.json" -q "$@"
        times > "$work/times"
    )
    bitext-evaluate filtering --labels 1 --bootstrap 1 -q < "$work/scored" |
        awk -F '\t' '$1 == "auc" && $2 == "all" { printf "\t%.3f", $3 }'
    awk 'NR == 2 { split($1, user, /[ms]/); printf "\t%.0f", 60 * user[1] + user[2] }' "$work/times"
}

for language; do
    file=$(echo "$language" | sed 's/no/nb/')
    awk -F '\t' -v OFS='\t' '$1 ~ /^[VFAL]$/ { print $1 ~ /[VF]/ ? "clean" : "noise", $3, $4 }' \
        "$data/dev/crawl/paracrawl.en-$file.tsv" > "$work/rows"
    {
        scored --model "$fast" --similarity mlp
        scored --model "$slow"
        scored --model "$fast" --similarity mlp --recheck "$slow" --between "$between"
    } > "$work/figures"
    python3 -c 'import json, sys
counts = json.load(open(sys.argv[2]))["counts"]
print(sys.argv[1], counts["rows"], round(100 * counts["rechecked"] / counts["rows"]), sep="\t", end="")' \
        "$language" "$work/manifest.json"
    cat "$work/figures"
    echo
done
