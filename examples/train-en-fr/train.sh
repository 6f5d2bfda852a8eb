#!/bin/sh
# Train the en-fr model from open data, by ../train-a-pair.
#
#     examples/train-en-fr/train.sh DATA OUTPUT
#
# Image captions of Multi30k's validation part serve as development pairs. The classifier starts from
# that of en-de. The shipped one did so too, and was then trained on from itself in two epochs: START is
# en-fr, COUNT is 243882, and SETTINGS are sum_weight=0.2, training.learning_rate=0.0007,
# training.epochs=2 and training.start_share=0.3, with the shipped encoder as OUTPUT/encoder.
set -eu

data=$1 output=$2
export START="${START:-en-de}" SETTINGS="${SETTINGS:-sum_weight=0.2}"
exec "$(dirname "$0")/../train-a-pair/train-open.sh" en-fr "$data" "$output" \
    "$data/dev/captions.en-fr.tsv"
