#!/bin/sh
# Measure the models of train.sh, autoencoder.sh and ../train-en-de-autoencoder: sentence alignment recovery error, in percent.
#
#     examples/train-en-de/evaluate.sh DATA OUTPUT [dev|test]
#
# Writes a tab-separated line for each model, set and similarity: the errors and their signature.
set -eu

data=$1
output=$2
part=${3:-dev}

evaluate() { # FILE SCOL TCOL: every model on one set
    for model in en-de en-de-autoencoder autoencoder-mlp averaging autoencoder shared-decoder; do
        [ -d "$output/$model" ] || continue
        bitext-evaluate recovery "$data/$1" --scol "$2" --tcol "$3" -q --model "$output/$model" \
            --similarity csls,ratio,cosine,euclidean |
            sed 1d | while read -r line; do printf '%s\t%s\t%s\n' "$model" "$1" "$line"; done
    done
}

if [ "$part" = dev ]; then
    evaluate dev/newstest2014.de-en.tsv 2 1
    evaluate dev/iwslt2017.en-de.tsv 1 2
else
    evaluate test/newstest2021.en-de.tsv 1 2
    evaluate test/newstest2021.de-en.tsv 2 1
    evaluate test/newstest2015.de-en.tsv 2 1
    evaluate test/iwslt2017.en-de.tsv 1 2
fi
