#!/bin/sh
# Train the shipped de-fr model from open data, by ../train-a-pair: with half of the usual subwords and
# a fifth of the trigrams it stays below 10 MB.
#
#     examples/train-de-fr/train.sh DATA OUTPUT
#
# The pairs were found through English. No development pairs are at hand: German and French captions
# of one image (Multi30k, validation part) that translate the same English one take their place. Encoder
# and classifier of the shipped model started from those of the one before it: TEXT was the folder MORE of
# ../train-multi, COUNT=150000, and training.epochs=1 a further line of SETTINGS. Talks (TED) chose its
# encoder, too.
set -eu

data=$1 output=$2
mkdir -p "$output"
paste "$data/dev/captions.en-de.tsv" "$data/dev/captions.en-fr.tsv" |
    awk -F '\t' -v OFS='\t' '$1 == $3 { print $2, $4 }' > "$output/development.tsv"
usual='sum_weight=0.2
training.learning_rate=0.0007
training.start_share=0.2'
export VOCABULARY=12000 TRIGRAMS=8000 START=de-fr SETTINGS="${SETTINGS:-$usual}"
exec "$(dirname "$0")/../train-a-pair/train-open.sh" de-fr "$data" "$output" \
    "$output/development.tsv"
