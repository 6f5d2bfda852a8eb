#!/usr/bin/env bash
# Mine the haystack with a model, and measure the mined pairs.
#
#     examples/haystack/measure.sh OUT MODEL [SIMILARITY]
#
# OUT is the output of make-haystack.sh; MODEL a name or a folder; SIMILARITY one of bitext-align (csls
# if not said), as is RETRIEVAL in the environment (max). The table of bitext-evaluate mining goes to
# stdout; THRESHOLD in the environment measures that cut instead of all pairs. OUT gets, NAME being
# that of the model, the similarity and the retrieval:
#   mined.NAME.tsv   source, target and score, best first
#   wrong.NAME.tsv   the 100 best of them that are not gold: read them
set -euo pipefail

output=$1 model=$2 similarity=${3:-csls}
retrieval=${RETRIEVAL:-max}
name=$(basename "$model").$similarity.$retrieval
mined=$output/mined.$name.tsv

bitext-align --model "$model" --similarity "$similarity" --min-score none --retrieval "$retrieval" \
    "$output/source.txt" "$output/target.txt" -o "$mined"
awk -F '\t' '
    NR == FNR { gold[$1, $2]; next }
    !(($1, $2) in gold) && wrong++ < 100' "$output/gold.tsv" "$mined" > "$output/wrong.$name.tsv"
bitext-evaluate mining ${THRESHOLD:+--threshold "$THRESHOLD"} "$output/gold.tsv" "$mined"
