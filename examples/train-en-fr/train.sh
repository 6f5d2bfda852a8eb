#!/bin/sh
# Train the en-fr model from open data, by ../train-a-pair.
#
#     examples/train-en-fr/train.sh DATA OUTPUT
#
# Image captions of Multi30k's validation part serve as development pairs. The classifier starts from
# that of en-de. Encoder and classifier of the shipped model started from those of the one before it:
# START was en-fr, TEXT the folder MORE of ../train-multi, COUNT=243882, and SETTINGS sum_weight=0.2,
# training.learning_rate=0.0007, training.start_share=0.58 and training.epochs=1. Talks (TED) chose its
# encoder, too.
set -eu

data=$1 output=$2
export START="${START:-en-de}" SETTINGS="${SETTINGS:-sum_weight=0.2}"
exec "$(dirname "$0")/../train-a-pair/train-open.sh" en-fr "$data" "$output" \
    "$data/dev/captions.en-fr.tsv"
