#!/bin/sh
# Train en-de-autoencoder: the encoder of en-de, beside it an autoencoder over its word vectors.
#
#     examples/train-en-de-autoencoder/train.sh DATA OUTPUT
#
# OUTPUT is that of ../train-en-de/train.sh, run before: its model, the pairs its classifier learnt
# from, and its development data. OUTPUT gets:
#   order/                 the autoencoder by itself: translation and autoencoding, no ranking
#   joined/                both, trained on together with the ranking objective
#   en-de-autoencoder/     with a classifier and thresholds: the model
# What is there is kept, and an interrupted training goes on when the script is run again. In the
# environment, THREADS is how many threads compute.
set -eu
IFS='
' # paths are split at line ends only

data=$1 output=$2
recipe=$(cd "$(dirname "$0")" && pwd)
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
pairs=$(grep /en-de/ "$recipe/../train-a-pair/open.txt" | sed "s|^|--pairs=$data/|")
model=$output/en-de-autoencoder

train() { # NAME [OPTION...]
    name=$1
    shift
    [ ! -e "$output/$name.done" ] || return 0
    [ ! -e "$output/$name.training/state.json" ] || set -- "$@" --resume
    # shellcheck disable=SC2086  # an option a line
    bitext-train-encoder --languages en,de $pairs --settings "$recipe/$name.json" --quantise \
        --development "$output/development.tsv" --threads "$THREADS" -o "$output/$name" \
        --start "$output/en-de" "$@"
    rm -r "$output/$name.training"
    touch "$output/$name.done"
}

train order
train joined --start "$output/order"
[ -e "$model" ] ||
    bitext-train-classifier --kind words --set training.epochs=5 --model "$output/joined" \
        --noisy "$output/negatives.tsv" --negatives given --nearly "$output/nearly.tsv" \
        --set training.held_out=0.02 --quantise --threads "$THREADS" -o "$model" \
        "$output/positives.tsv" > "$output/held-out-autoencoder.tsv"
[ -e "$model/thresholds.json" ] ||
    "$recipe/../train-a-pair/recommend.sh" "$model" "$output/development.tsv"
