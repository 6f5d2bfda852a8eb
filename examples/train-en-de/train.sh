#!/bin/sh
# Train the shipped en-de model from open data, by ../train-a-pair.
#
#     examples/train-en-de/train.sh DATA OUTPUT
#
# OUTPUT/en-de is the model. Its classifier starts from the shipped one, as that one did from the one
# before it, in two epochs, from six tenths of the negatives (COUNT=273660); that one also kept half
# of the old weights: training.epochs=2 and training.start_share=0.5 in SETTINGS, lines more, the latter
# for the shipped encoder as OUTPUT/encoder alone. Where DATA has what the haystack of
# ../haystack is made of, its development part gives the model thresholds for mining.
set -eu

data=$1 output=$2
examples=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$output"
awk -F '\t' -v OFS='\t' '{ print $2, $1 }' "$data/dev/newstest2014.de-en.tsv" \
    > "$output/development.tsv"
usual='sum_weight=0.1
training.learning_rate=0.0007'
export START=en-de SETTINGS="${SETTINGS:-$usual}"
"$examples/train-a-pair/train-open.sh" en-de "$data" "$output" "$output/development.tsv"

[ -e "$data/mono/de.law.txt.gz" ] || exit 0
[ -e "$output/haystack/gold.tsv" ] ||
    "$examples/haystack/make-haystack.sh" "$data" "$output/haystack" dev
"$examples/haystack/recommend.sh" "$output/en-de" "$output/haystack"
