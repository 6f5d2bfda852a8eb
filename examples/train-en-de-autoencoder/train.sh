#!/bin/sh
# Train en-de-autoencoder: the encoder of en-de, and an autoencoder of its own beside it.
#
#     examples/train-en-de-autoencoder/train.sh DATA OUTPUT
#
# OUTPUT is that of ../train-en-de/train.sh, run before: its model, the pairs its classifier learnt
# from (en-de.training), and its development data. OUTPUT gets:
#   shared-decoder/        an autoencoder: translation, autoencoding and, in every second mini-batch, the
#                          lessons of ../train-en-de in 256 numbers; from the subword vectors of en-de
#   joined/                en-de and the autoencoder side by side
#   en-de-autoencoder/     with a classifier, which starts from that of en-de, and thresholds
# Where ../train-en-de had no lessons, the autoencoder learns from pairs alone, with 8,000 subwords of
# its own (segmenter/), from random vectors. What is there is kept, and an interrupted training goes on
# when the script is run again. In the environment, THREADS is how many threads compute, TEXT is as
# there, and SETTINGS are of the classifier, NAME=VALUE a line: of the shipped one training.epochs=1,
# training.start_share=0.2 and training.precision=bfloat16.
set -eu
IFS='
' # paths are split at line ends only

data=$1 output=$2
recipe=$(cd "$(dirname "$0")" && pwd)
examples=$recipe/..
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
files=$(grep /en-de/ "$examples/train-a-pair/open.txt" | sed "s|^|$data/|")
pairs=$(echo "$files" | sed "s|^|--pairs=|")
model=$output/en-de-autoencoder
made=$output/en-de.training

side() { # COLUMN: the sentences of a side
    # shellcheck disable=SC2086  # a path a line
    gzip -dc $files | cut -f "$1"
}
if [ -e "$output/lessons.done" ]; then
    if [ ! -e "$output/narrow.done" ]; then
        mkdir -p "$output/narrow"
        ln -sfn ../lessons/teachers "$output/narrow/teachers"
        TOWARDS='' LANGUAGES=en,de WIDTH=256 python3 "$examples/train-multi/lessons.py" "$output/lessons.txt" \
            "$output/narrow" "$data" "${TEXT:?the folder MORE of ../train-multi}" > "$output/narrow.done.new"
        mv "$output/narrow.done.new" "$output/narrow.done"
    fi
    # shellcheck disable=SC2046  # a word a line
    set -- --settings "$recipe/taught.json" --start "$output/en-de" $(cat "$output/narrow.done")
else
    [ -e "$output/segmenter" ] ||
        { side 1; side 2; } | bitext-segment learn --vocabulary-size 8000 --sample-size 400000 \
            -o "$output/segmenter"
    set -- --settings "$recipe/autoencoder.json" --segmenter "$output/segmenter"
fi
# shellcheck disable=SC2086  # an option a line
"$examples/train-a-pair/train-once.sh" "$output/shared-decoder" --languages en,de $pairs \
    --development "$output/development.tsv" "$@"
# shellcheck disable=SC2086
[ -e "$output/joined" ] ||
    bitext-models join "$output/en-de" "$output/shared-decoder" --weight 0.3 $pairs -o "$output/joined"
[ -e "$model" ] || {
    bitext-train-classifier --kind words --start "$output/en-de" --model "$output/joined" \
        --set training.epochs=2 --set training.learning_rate=0.0005 --set training.held_out=0.02 \
        $(for value in ${SETTINGS:-}; do echo "--set=$value"; done) \
        --noisy "$made/negatives.tsv" --negatives given --contrasts "$made/contrasts.tsv" \
        --quantise --threads "$THREADS" -o "$model" "$made/positives.tsv" > "$output/held-out-autoencoder.tsv"
    cp "$recipe/card.md" "$model/"
}
[ -e "$model/thresholds.json" ] || {
    "$examples/train-a-pair/recommend.sh" "$model" "$output/development.tsv"
    [ ! -e "$output/haystack/gold.tsv" ] ||
        "$examples/haystack/recommend.sh" "$model" "$output/haystack"
}
