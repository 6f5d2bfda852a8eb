#!/bin/sh
# Give a model, in its folder, the thresholds of highest F1 on clean pairs and the noise made of them.
#
#     examples/train-a-pair/recommend.sh MODEL DEVELOPMENT
#
# DEVELOPMENT is a TSV of pairs, the model's source first. In the environment, THREADS is how many
# threads compute.
set -eu

model=$1 development=$2
cuts=$(mktemp -d)
trap 'rm -r "$cuts"' EXIT
for measure in mlp csls ratio distance cosine euclidean; do
    bitext-evaluate filtering --suggest-threshold --json --similarity "$measure" -q \
        --model "$model" --threads "${THREADS:-$(getconf _NPROCESSORS_ONLN)}" "$development" > "$cuts/$measure.json"
done
bitext-models recommend -q "$model" "$cuts"/*.json -o "$model"
