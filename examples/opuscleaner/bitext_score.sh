#!/usr/bin/env bash
# Keeps the pairs that score at least a threshold, without the score: MODEL THRESHOLD
set -euo pipefail
bitext-score --quiet --model "$1" \
    | bitext-filter --quiet --model "$1" --rule "score>=$2" \
    | LC_ALL=C sed $'s/\t[^\t]*$//'
