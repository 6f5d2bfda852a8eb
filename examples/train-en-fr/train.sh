#!/bin/sh
# Train the en-fr model from open data, by ../train-a-pair.
#
#     examples/train-en-fr/train.sh DATA OUTPUT
#
# Image captions of Multi30k's validation part serve as development pairs. The classifier starts from
# that of en-de.
set -eu

data=$1 output=$2
export START=en-de SETTINGS=sum_weight=0.2
exec "$(dirname "$0")/../train-a-pair/train-open.sh" en-fr "$data" "$output" \
    "$data/dev/captions.en-fr.tsv"
