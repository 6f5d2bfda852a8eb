#!/bin/sh
# Train a model from the open files of a folder of data, by bitext-train.
#
#     examples/train-a-pair/train-open.sh SOURCE-TARGET DATA OUTPUT DEVELOPMENT
#
# open.txt beside this script names the files, DATA/train/L1-L2/NAME.tsv.gz: those of this pair are
# trained on, and sentences of all others serve as foreign text. DEVELOPMENT is a TSV of pairs, source
# first. The classifier also learns from the pairs of DATA/train/multi, where they are, and from
# DATA/train/quality/catastrophic.PAIR.tsv.xz: name these in the attribution of a model that is passed
# on. The model OUTPUT/SOURCE-TARGET gets the card and the attribution of examples/train-SOURCE-TARGET;
# OUTPUT/SOURCE-TARGET.training has the files of the stages: pairs, encoder, positives.tsv and so on.
# What is there is kept, and an interrupted training goes on when the script is run again.
#
# In the environment, THREADS is how many threads compute, and VOCABULARY and TRIGRAMS are how many of
# them the encoder knows, where the usual numbers do not fit. START is a model that knows SOURCE or
# TARGET: its classifier is trained further, which is better than a new one. SETTINGS are of the
# classifier, NAME=VALUE a line. COUNT is how many of the negatives are drawn, where all are too many.
# TEXT is the folder MORE of ../train-multi, and START then a model of the pair: its encoder is trained
# further by taught.json with vectors of a larger encoder (TEACHERS; use), of the pair's files here and
# in ../train-multi/lessons.txt, into OUTPUT/encoder.
set -eu
IFS='
' # paths are split at line ends only

pair=$1 data=$2 output=$3 development=$4
recipe=$(cd "$(dirname "$0")" && pwd)
languages=$(echo "$pair" | tr - ,)
files=$(grep "/$pair/" "$recipe/open.txt" | sed "s|^|$data/|")
mkdir -p "$output"
"$recipe/foreign.sh" "$pair" "$data" > "$output/foreign.txt"
of_languages() { # FILE: its pairs, by the names of its columns
    xz -dc "$1" | awk -F '\t' -v OFS='\t' -v source="${pair%-*}" -v target="${pair#*-}" '
        NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
        $place[source] != "" && $place[target] != "" { print $place[source], $place[target] }'
}
set --
for name in msdocs manuals; do
    [ -e "$data/train/multi/$name.tsv.xz" ] || continue
    of_languages "$data/train/multi/$name.tsv.xz" > "$output/$name.tsv"
    set -- "$@" --classifier-pairs "$output/$name.tsv"
done
errors=$data/train/quality/catastrophic.$pair.tsv.xz
if [ -e "$errors" ]; then
    xz -dc "$errors" | awk -F '\t' -v OFS='\t' '{ print $(NF - 1), $NF, ($1 == "NOT") + 0 }' \
        > "$output/graded.tsv"
    set -- "$@" --graded "$output/graded.tsv"
fi
if [ -n "${TEXT:-}" ]; then
    { # columns, file, weight, rows at most
        awk -F '\t' -v OFS='\t' -v one="${pair%-*}" -v other="${pair#*-}" '
            $1 == "-" && $2 ~ /^train/ { $4 = $4 < 15000 ? $4 : 15000 }
            $2 ~ /^mono/ { $3 = 1; $4 = 100000 }
            $1 == "-" || $1 == one || $1 == other' "$recipe/../train-multi/lessons.txt"
        grep "/$pair/" "$recipe/open.txt" | awk -v OFS='\t' -v columns="$languages" \
            '{ print columns, $0, 1, /tatoeba/ ? 60000 : 15000 }'
    } > "$output/lessons.txt"
    if [ ! -e "$output/lessons.done" ]; then
        TEACHERS=${TEACHERS:-use,e5} TOWARDS=${START:?a model of the pair} LANGUAGES=$languages \
            python3 "$recipe/../train-multi/lessons.py" "$output/lessons.txt" "$output/lessons" \
            "$data" "$TEXT" > "$output/lessons.done.new"
        mv "$output/lessons.done.new" "$output/lessons.done"
    fi
    # shellcheck disable=SC2046  # a word a line
    "$recipe/train-once.sh" "$output/encoder" --languages "$languages" --development "$development" \
        --settings "$recipe/taught.json" --start "${START:?a model of the pair}" \
        $(echo "$files" | sed "s|^|--pairs=|") $(cat "$output/lessons.done")
    set -- "$@" --encoder "$output/encoder"
else
    set -- "$@" ${VOCABULARY:+"--set=encoder.segmentation.vocabulary_size=$VOCABULARY"} \
        ${TRIGRAMS:+"--set=encoder.trigrams.size=$TRIGRAMS"}
fi
# shellcheck disable=SC2046,SC2086  # an option or a path a line
bitext-train --keep --languages "$languages" --development "$development" \
    --foreign "$output/foreign.txt" --start "${START:-none}" ${THREADS:+"--threads=$THREADS"} \
    ${COUNT:+"--set=negatives=$COUNT"} $(for value in ${SETTINGS:-}; do echo "--set=classifier.$value"; done) \
    "$@" -o "$output/$pair" $files
cp "$recipe/../train-$pair/card.md" "$recipe/../train-$pair/attribution.md" "$output/$pair/"
