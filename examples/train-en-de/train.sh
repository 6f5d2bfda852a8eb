#!/bin/sh
# Train the shipped en-de model from open data, by ../train-a-pair.
#
#     examples/train-en-de/train.sh DATA OUTPUT
#
# OUTPUT/en-de is the model. Where DATA has what the haystack of ../haystack is made of, its development
# part gives the model thresholds for mining. Encoder and classifier of the shipped model started from
# those of the one before it: TEXT was the folder MORE of ../train-multi, COUNT=273660, and
# training.epochs=2 a further line of SETTINGS. Without TEXT, the encoder learns from pairs alone, as the
# first one did.
set -eu

data=$1 output=$2
examples=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$output"
awk -F '\t' -v OFS='\t' '{ print $2, $1 }' "$data/dev/newstest2014.de-en.tsv" \
    > "$output/development.tsv"
usual='sum_weight=0.1
training.learning_rate=0.0007
training.start_share=0.2'
export START=en-de SETTINGS="${SETTINGS:-$usual}"
"$examples/train-a-pair/train-open.sh" en-de "$data" "$output" "$output/development.tsv"

[ -e "$data/mono/de.law.txt.gz" ] || exit 0
[ -e "$output/haystack/gold.tsv" ] ||
    "$examples/haystack/make-haystack.sh" "$data" "$output/haystack" dev
"$examples/haystack/recommend.sh" "$output/en-de" "$output/haystack"
