#!/bin/sh
# A small filter of a language model's labels, judged by people's.
#
#     examples/judge-a-crawl/language-model.sh DATA/dev/crawl/paracrawl.en-de.tsv OUTPUT
#
# The file has rows that people have labelled, as for judge.sh. labels.en-de.csv has labels from 0 to
# 100 of 300 of them by a language model, which saw source and target alone: half of the rows are
# valid or free translations. OUTPUT gets, for every fault and for misaligned rows and wrong languages
# alone (easy):
#   sample.tsv, llm.tsv, people.tsv      the rows with scores and values of rules; the labels
#   report.tsv                           agreement (label-auc)
#   curve.tsv                            the filter by the number of labels; combiner.json
# The lines of these that count go to stdout.
set -eu

labelled=$1 output=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$output/easy"
rules="length-ratio length.source length.target only-numbers.source only-numbers.target
    only-symbols.source only-symbols.target alphabet-ratio.source alphabet-ratio.target similarity
    language.source language.target"

python "$here/rows.py" "$labelled" "$here/labels.en-de.csv" "$output/rows.tsv" "$output/people.csv"
bitext-score -q --header --similarity probability,mlp,csls "$output/rows.tsv" |
    bitext-filter -q --header --emit --languages en,de > "$output/scored.tsv"
bitext-judge sample -q --header --count 300 -i "$output/scored.tsv" -o "$output/sample.tsv" \
    $(printf -- '--column %s ' probability mlp csls $rules)
bitext-judge requests -q "$output/sample.tsv" --model MODEL --languages en,de -o "$output/requests.jsonl"
bitext-judge import -q "$output/sample.tsv" "$here/labels.en-de.csv" --annotator model \
    --on-error reject -o "$output/llm.tsv"
grep -v ',\(E\|MT\|T\)$' "$output/people.csv" > "$output/easy/people.csv"

for folder in "$output" "$output/easy"; do
    bitext-judge import -q "$output/sample.tsv" "$folder/people.csv" --annotator people \
        --scale labels=V,F,E,MT,T,A,L --on-error reject -o "$folder/people.tsv"
    set -- "$output/sample.tsv" "$output/llm.tsv"
    bitext-judge report -q "$@" "$folder/people.tsv" --good V,F > "$folder/report.tsv"
    bitext-judge combiner -q "$@" --people "$folder/people.tsv" --good V,F \
        -o "$folder/combiner.json" > "$folder/curve.tsv"
    echo "$folder"
    grep '^label-auc' "$folder/report.tsv" | cut -f 1,2,4,17-19
    grep -E '^(score|probability|combined)' "$folder/curve.tsv"
done
