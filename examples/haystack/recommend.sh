#!/bin/sh
# Give a model, in its folder, the thresholds of highest F1 for mining a haystack.
#
#     examples/haystack/recommend.sh MODEL HAYSTACK
#
# HAYSTACK is what make-haystack.sh or make-french.sh wrote: its development part.
set -eu

model=$1 haystack=$2
for measure in joint csls cosine; do
    bitext-align --model "$model" --similarity "$measure" --min-score none \
        "$haystack/source.txt" "$haystack/target.txt" |
        bitext-evaluate mining -q --json "$haystack/gold.tsv" |
        bitext-models recommend -q --similarity "$measure" "$model" - -o "$model"
done
