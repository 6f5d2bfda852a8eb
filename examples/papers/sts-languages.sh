#!/bin/sh
# STS Benchmark in German, French, Japanese, Russian and Chinese, by encoders of it and English.
#
#     examples/papers/sts-languages.sh DATA OUTPUT [LANGUAGE...]
#
# For each language named, or all, trains an encoder by the default recipe (word,trigram) on PAIRS
# pairs of make-pairs.sh (100000; one in 60 to validate on), measures it on STS Benchmark in that
# language and in English, and prints a Markdown table of all in OUTPUT. Finished models are kept, and
# an interrupted training goes on. Ten minutes a language on one core that is free. OUTPUT gets:
#   LANGUAGE/       the model
#   LANGUAGE.log    the messages of its training
#   LANGUAGE.*.sts  the tables of bitext-evaluate sts
set -eu

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

models() { printf '%s \n' de fr ja ru zh; }

list=$(chosen "$@")
for language in $list; do
    if [ ! -s "$output/$language.dev.tsv" ]; then
        "$recipe/make-pairs.sh" "$data" "$language" > "$output/all.partial"
        sample "${PAIRS:-100000}" "$output/all.partial" > "$output/pairs.partial"
        awk 'NR % 60 != 7' "$output/pairs.partial" > "$output/$language.train.tsv"
        awk 'NR % 60 == 7' "$output/pairs.partial" > "$output/$language.dev.tsv"
        rm "$output/all.partial" "$output/pairs.partial"
    fi
    train "$language" --languages "en,$language" --pairs "$output/$language.train.tsv" \
        --development "$output/$language.dev.tsv"
    for tested in "$language" en; do
        measure "$language.$tested.sts" bitext-evaluate sts --model "$output/$language" \
            --language "$tested" "$data/test/sts/stsb.$tested.tsv"
    done
done

printf '| language | pairs | seconds | STS Benchmark | 95 %% | in English | 95 %% |\n'
printf '|---|---:|---:|---:|---|---:|---|\n'
models | while read -r language; do
    [ -s "$output/$language.en.sts" ] || continue
    printf '| %s | %d | %s' "$language" "$(wc -l < "$output/$language.train.tsv")" "$(seconds "$language")"
    for tested in "$language" en; do
        awk -F '\t' -v set="stsb.$tested" '$1 == set {
            printf " | %.1f | %.1f–%.1f", $5, $6, $7 }' "$output/$language.$tested.sts"
    done
    echo ' |'
done
