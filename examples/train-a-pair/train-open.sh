#!/bin/sh
# Train a model from the open files of a folder of data, by train.sh.
#
#     examples/train-a-pair/train-open.sh SOURCE-TARGET DATA OUTPUT DEVELOPMENT
#
# open.txt beside this script names the files, DATA/train/L1-L2/NAME.tsv.gz: those of this pair are
# trained on, and sentences of all others serve as foreign text. The classifier also learns from the
# pairs of DATA/train/multi, where they are, and from DATA/train/quality/catastrophic.PAIR.tsv.xz:
# name these in the attribution of a model that is passed on. The model OUTPUT/SOURCE-TARGET gets
# the card and the attribution of examples/train-SOURCE-TARGET.
#
# In the environment, TEXT is the folder MORE of ../train-multi, and START a model of the pair: its
# encoder is trained further with vectors of a larger encoder (TEACHERS; use), of the pair's files
# here and in ../train-multi/lessons.txt.
set -eu
IFS='
' # paths are split at line ends only

pair=$1 data=$2 output=$3 development=$4
recipe=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$output"
"$recipe/foreign.sh" "$pair" "$data" > "$output/foreign.txt"
of_languages() { # FILE: its pairs, by the names of its columns
    xz -dc "$1" | awk -F '\t' -v OFS='\t' -v source="${pair%-*}" -v target="${pair#*-}" '
        NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
        $place[source] != "" && $place[target] != "" { print $place[source], $place[target] }'
}
MORE=
for name in msdocs manuals; do
    [ -e "$data/train/multi/$name.tsv.xz" ] || continue
    of_languages "$data/train/multi/$name.tsv.xz" > "$output/$name.tsv"
    MORE="$MORE$output/$name.tsv
"
done
GRADED=
errors=$data/train/quality/catastrophic.$pair.tsv.xz
if [ -e "$errors" ]; then
    xz -dc "$errors" | awk -F '\t' -v OFS='\t' '{ print $(NF - 1), $NF, ($1 == "NOT") + 0 }' \
        > "$output/graded.tsv"
    GRADED=$output/graded.tsv
fi
LESSONS=
if [ -n "${TEXT:-}" ]; then
    LESSONS=$output/lessons.done
    { # columns, file, weight, rows at most
        awk -F '\t' -v OFS='\t' -v one="${pair%-*}" -v other="${pair#*-}" '
            $1 == "-" && $2 ~ /^train/ { $4 = $4 < 15000 ? $4 : 15000 }
            $2 ~ /^mono/ { $3 = 1; $4 = 100000 }
            $1 == "-" || $1 == one || $1 == other' "$recipe/../train-multi/lessons.txt"
        grep "/$pair/" "$recipe/open.txt" | awk -v OFS='\t' -v columns="$(echo "$pair" | tr - ,)" \
            '{ print columns, $0, 1, /tatoeba/ ? 60000 : 15000 }'
    } > "$output/lessons.txt"
    if [ ! -e "$LESSONS" ]; then
        TEACHERS=${TEACHERS:-use,e5} TOWARDS=${START:?a model of the pair} LANGUAGES=$(echo "$pair" | tr - ,) \
            python3 "$recipe/../train-multi/lessons.py" "$output/lessons.txt" "$output/lessons" \
            "$data" "$TEXT" > "$LESSONS.new"
        mv "$LESSONS.new" "$LESSONS"
    fi
fi
export MORE GRADED LESSONS
# shellcheck disable=SC2046  # a path a line
"$recipe/train.sh" "$(echo "$pair" | tr - ,)" "$output" "$development" "$output/foreign.txt" \
    $(grep "/$pair/" "$recipe/open.txt" | sed "s|^|$data/|")
cp "$recipe/../train-$pair/card.md" "$recipe/../train-$pair/attribution.md" "$output/$pair/"
