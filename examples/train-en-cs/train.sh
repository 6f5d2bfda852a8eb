#!/bin/sh
# Train the en-cs model from open data, by ../train-a-pair.
#
#     examples/train-en-cs/train.sh DATA OUTPUT
#
# The open pairs are messages of software and web interfaces alone. Image captions of Multi30k's
# validation part serve as development pairs.
set -eu

data=$1 output=$2
exec "$(dirname "$0")/../train-a-pair/train-open.sh" en-cs "$data" "$output" \
    "$data/dev/captions.en-cs.tsv"
