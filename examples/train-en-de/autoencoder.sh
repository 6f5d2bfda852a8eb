#!/bin/sh
# Train an autoencoder with a ranking objective on the pairs of train.sh.
#
#     examples/train-en-de/autoencoder.sh DATA OUTPUT [NAME...]
#
# NAMEs are some of these (all, if none is said), each trained by NAME.json, and by the word vectors
# of the first:
#   averaging     token-weighted averages, by ranking
#   autoencoder   average, autoencoding, translation and ranking together: en-de until version 2
# OUTPUT/NAME is the encoder; where train.sh has been run into OUTPUT, OUTPUT/NAME-mlp has a
# classifier of sentence vectors besides. An hour each on two cores; what is done is kept, and an
# interrupted training goes on when the script is run again.
set -eu
IFS='
' # paths are split at line ends only

data=$1 output=$2
made=$output/en-de.training # by train.sh
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
pairs=$(grep /en-de/ "$recipe/../train-a-pair/open.txt" | sed "s|^|--pairs=$data/|")
mkdir -p "$output"

train() { # NAME [OPTION...]
    name=$1
    shift
    # shellcheck disable=SC2086  # an option a line
    "$recipe/../train-a-pair/train-once.sh" "$output/$name" --languages en,de $pairs \
        --settings "$recipe/$name.json" \
        --development "$data/dev/newstest2014.de-en.tsv" --dev-scol 2 --dev-tcol 1 "$@"
}

train averaging
[ $# -gt 0 ] || set -- averaging autoencoder
for name; do
    [ "$name" = averaging ] || train "$name" --start "$output/averaging"
    if [ -e "$made/contrasts.tsv" ] && [ ! -e "$output/$name-mlp" ]; then
        bitext-train-classifier --set training.epochs=6 --model "$output/$name" --negatives given --quantise \
            --noisy "$made/negatives.tsv" --contrasts "$made/contrasts.tsv" --threads "$THREADS" \
            -o "$output/$name-mlp" "$made/positives.tsv"
    fi
done
