#!/bin/sh
# Train a model from the open files of a folder of data, by train.sh.
#
#     examples/train-a-pair/train-open.sh SOURCE-TARGET DATA OUTPUT DEVELOPMENT
#
# open.txt beside this script names the files, DATA/train/L1-L2/NAME.tsv.gz: those of this pair are
# trained on, and sentences of all others serve as foreign text. The model OUTPUT/SOURCE-TARGET gets
# the card and the attribution of examples/train-SOURCE-TARGET.
set -eu
IFS='
' # paths are split at line ends only

pair=$1 data=$2 output=$3 development=$4
recipe=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$output"
"$recipe/foreign.sh" "$pair" "$data" > "$output/foreign.txt"
# shellcheck disable=SC2046  # a path a line
"$recipe/train.sh" "$(echo "$pair" | tr - ,)" "$output" "$development" "$output/foreign.txt" \
    $(grep "/$pair/" "$recipe/open.txt" | sed "s|^|$data/|")
cp "$recipe/../train-$pair/card.md" "$recipe/../train-$pair/attribution.md" "$output/$pair/"
