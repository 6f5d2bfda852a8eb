#!/bin/sh
# Train an encoder unless it is there, and go on where an interrupted training ended.
#
#     examples/train-a-pair/train-once.sh MODEL OPTION...
#
# OPTIONs are those of bitext-train-encoder. MODEL.done is written when MODEL is whole. In the
# environment, THREADS is how many threads compute, and BITS how many bits a number of the model has.
set -eu

model=$1
shift
[ ! -e "$model.done" ] || exit 0
[ ! -e "$model.training/state.json" ] || set -- "$@" --resume
bitext-train-encoder --bits "${BITS:-8}" --threads "${THREADS:-$(getconf _NPROCESSORS_ONLN)}" -o "$model" "$@"
rm -r "$model.training"
touch "$model.done"
