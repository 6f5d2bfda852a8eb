#!/bin/sh
# Quality by the amount of data: bitext-train on 5,000 to all English-German pairs alone.
#
#     examples/train-your-own/curve.sh DATA OUTPUT [SIZE...]
#
# SIZEs are numbers of pairs, or all; 5000 20000 100000 all, if none is said. They are drawn from the
# open files of DATA, of each as large a part. OUTPUT/SIZE/en-de is the model of each, measured on
# development data: recovery error (percent, newstest2014) and AUC of each kind of noise
# (newstest2014 and iwslt2017, by ../clean-a-crawl/measure.sh). Prints a table, tab-separated, with a
# line for each SIZE. What is finished is kept, and an interrupted training goes on (its seconds are
# then those of its last part). THREADS in the environment is how many threads compute (1).
set -eu

data=$1 output=$2
shift 2
[ $# -gt 0 ] || set -- 5000 20000 100000 all
export THREADS="${THREADS:-1}" OMP_NUM_THREADS="${THREADS:-1}"
examples=$(cd "$(dirname "$0")/.." && pwd)
open() { grep /en-de/ "$examples/train-a-pair/open.txt"; }

draw() { # SIZE FOLDER: of the pairs of each file its share
    total=$(open | while read -r file; do gzip -dc "$data/$file"; done | wc -l)
    open | while read -r file; do
        rows=$(gzip -dc "$data/$file" | wc -l)
        gzip -dc "$data/$file" | awk -v size="$1" -v total="$total" -v left="$rows" '
            BEGIN { state = 1; wanted = size == "all" ? left : int(size * left / total + 0.5) }
            { state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
              if (state / 2147483647 * left-- < wanted) { wanted--; print } }' \
            > "$2/$(basename "$file" .gz)"
    done
}

train() { # FOLDER: a model of its pairs
    bitext-train --keep --languages en,de --development "$output/development.tsv" --start none \
        --foreign "$output/foreign.txt" --threads "$THREADS" -o "$1/en-de" "$1"/pairs/* \
        > "$1/stages.partial"
    mv "$1/stages.partial" "$1/stages.tsv"
}

measure() { # FOLDER: how good its model is
    bitext-evaluate recovery -q --similarity csls,cosine --threads "$THREADS" \
        --model "$1/en-de" "$output/development.tsv" > "$1/recovery.tsv"
    BITEXTFILTER_MODEL=$1/en-de "$examples/clean-a-crawl/measure.sh" "$data" "$output/noise" dev \
        > "$1/noise.partial"
    mv "$1/noise.partial" "$1/noise.tsv"
}

cells() { # FOLDER: a line for each cell of its row
    cat "$1"/pairs/* | wc -l | tr -d ' '
    awk -F '\t' 'NR > 1 { print $4 }' "$1/recovery.tsv"
    awk -F '\t' '$1 == "encoder" || $1 == "classifier" { print $2 }' "$1/stages.tsv"
    cat "$1"/en-de/* | wc -c | awk '{ printf "%.1f\n", $1 / 1e6 }'
    awk -F '\t' 'NR > 1 { printf "%.3f\n", $2 }' "$1/noise.tsv"
}

mkdir -p "$output"
awk -F '\t' -v OFS='\t' '{ print $2, $1 }' "$data/dev/newstest2014.de-en.tsv" \
    > "$output/development.tsv"
[ -s "$output/foreign.txt" ] ||
    "$examples/train-a-pair/foreign.sh" en-de "$data" > "$output/foreign.txt"
for size; do
    folder=$output/$size
    if [ ! -e "$folder/pairs" ]; then
        rm -rf "$folder/draft"
        mkdir -p "$folder/draft"
        draw "$size" "$folder/draft"
        mv "$folder/draft" "$folder/pairs"
    fi
    [ -e "$folder/stages.tsv" ] || train "$folder"
    [ -e "$folder/noise.tsv" ] || measure "$folder"
done
{
    printf '%s\n' pairs csls cosine 'encoder s' 'classifier s' MB
    awk -F '\t' 'NR > 1 { print $1 }' "$output/$1/noise.tsv"
} | paste -s -d '\t' -
for size; do cells "$output/$size" | paste -s -d '\t' -; done
