#!/bin/sh
# Label 300 rows of a crawl, learn from them, and measure the gain on all other rows.
#
#     examples/judge-a-crawl/judge.sh LABELLED MODEL OUTPUT [COUNT]
#
# LABELLED is a TSV of rows that people have labelled, so that no person is needed here: a label, any
# column, source and target, such as DATA/dev/crawl/paracrawl.en-de.tsv. V and F are good (valid, free
# translation), A and L bad (misaligned, wrong language); other rows are left out. MODEL is a model of
# the two languages, such as en-de or multi:en,cs. OUTPUT gets:
#   sample.tsv      the rows worth a label, by bitext-judge sample
#   labels.tsv      their labels, asked of answer.sh by bitext-judge command
#   report.tsv      the yield of cuts, by bitext-judge report
#   adapted/        the model that has learnt from the labels, by bitext-judge learn
#   learnt.tsv      what it has learnt
#   rest.tsv        all rows that were not in the sample
# The AUC of the classifiers (mlp) of both models on rest.tsv goes to stdout.
set -eu

labelled=$1 model=$2 output=$3 count=${4:-300}
here=$(cd "$(dirname "$0")" && pwd)
THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
mkdir -p "$output"

awk -F '\t' -v OFS='\t' '/^[VFAL]\t/ { print $3, $4, ($1 ~ /[VF]/ ? "clean" : "noise") }' \
    "$labelled" | sort -u > "$output/rows.tsv"
cut -f 1,2 "$output/rows.tsv" |
    bitext-score -q --model "$model" --threads "$THREADS" --similarity mlp,cosine > "$output/scored.tsv"
bitext-judge sample -q -i "$output/scored.tsv" --column -2 --column -1 --count "$count" \
    --cut "${CUT:-0.5}" -o "$output/sample.tsv"
rm -f "$output/labels.tsv" "$output/labels.tsv.answers"
bitext-judge command -q --scale 0-1 "'$here/answer.sh' '$output/rows.tsv'" "$output/sample.tsv" \
    -o "$output/labels.tsv"
bitext-judge report -q "$output/sample.tsv" "$output/labels.tsv" > "$output/report.tsv"
rm -rf "$output/adapted"
bitext-judge learn -q "$output/sample.tsv" "$output/labels.tsv" --model "$model" \
    -o "$output/adapted" > "$output/learnt.tsv"

awk -F '\t' 'NR == FNR { sampled[$1 "\t" $2] = 1; next } !(($1 "\t" $2) in sampled)' \
    "$output/sample.tsv" "$output/rows.tsv" > "$output/rest.tsv"
case $model in *:*) adapted=$output/adapted:${model##*:} ;; *) adapted=$output/adapted ;; esac
printf 'model\tAUC\tlow\thigh\trows\n'
for each in "$model" "$adapted"; do
    bitext-score -q --model "$each" --similarity mlp --threads "$THREADS" "$output/rest.tsv" |
        bitext-evaluate filtering -q --labels 3 --column -1 - |
        awk -F '\t' -v OFS='\t' -v name="$each" \
            '$1 == "auc" && $2 == "all" { print name, $3, $4, $5, $6 + $7 }'
done
