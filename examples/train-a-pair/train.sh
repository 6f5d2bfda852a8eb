#!/bin/sh
# Train a model of two languages from pairs: an encoder, a classifier, and where to cut.
#
#     examples/train-a-pair/train.sh SOURCE,TARGET OUTPUT DEVELOPMENT FOREIGN FILE...
#
# FILEs and DEVELOPMENT are TSVs of pairs, source first, .gz or plain, with no pair in both; FOREIGN
# has sentences in other languages, one a line, or is /dev/null. OUTPUT gets:
#   encoder/                        the encoder, by the defaults of bitext-train-encoder, or by LESSONS
#   positives.tsv, contrasts.tsv, negatives.tsv
#                                   training pairs of the classifier, by pairs.py
#   SOURCE-TARGET/                  encoder, classifier, and thresholds by DEVELOPMENT: the model
#   held-out.tsv                    how good the classifier is on pairs kept from it
# Thresholds go to stdout.
# What is there is kept, and the interrupted training of an encoder goes on when the script is run
# again; that of a classifier begins again. 440,000 pairs take an hour and forty minutes on two
# cores. In the environment, THREADS is how many threads compute, and
# VOCABULARY and TRIGRAMS are how many of them the encoder knows, where the usual numbers do not fit.
# MORE names further FILEs, a line each, that the classifier alone learns from: it sees there how the
# encoder does on text that it was not trained on. GRADED names files of graded pairs, a line each.
# START is a model that knows SOURCE or TARGET: its classifier is trained further, which is better than
# a new one. SETTINGS are of the classifier, NAME=VALUE a line. COUNT is how many of the negatives are
# drawn, where all are too many. LESSONS is a file of options of bitext-train-encoder, a word a line,
# by ../train-multi/lessons.py: the encoder of START is trained further with these, by taught.json.
set -eu
IFS='
' # paths are split at line ends only

languages=$1 output=$2 development=$3 foreign=$4
shift 4
recipe=$(cd "$(dirname "$0")" && pwd)
model=$output/$(echo "$languages" | tr , -)
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
classifier=words # the kind
mkdir -p "$output"

pairs=$(for file; do
    case $file in (*.gz) gzip -dc "$file" ;; (*) cat "$file" ;; esac
done | wc -l)
whole() { # LEAST NUMBER MOST: the whole number in these bounds
    awk "BEGIN { n = $2; print int(n < $1 ? $1 : n > $3 ? $3 : n) }"
}
epochs=$(whole 3 "300000 / $pairs" 10) # of the classifier
negatives=--negatives=given
[ -z "${COUNT:-}" ] || negatives="--negatives=random
--count=$COUNT"

train_encoder() { # FILE...
    for file; do shift; set -- "$@" --pairs "$file"; done
    if [ -n "${LESSONS:-}" ]; then
        # shellcheck disable=SC2046  # a word a line
        set -- "$@" --settings "$recipe/taught.json" --start "$START" $(cat "$LESSONS")
    else
        [ -z "${VOCABULARY:-}" ] || set -- "$@" --set segmentation.vocabulary_size="$VOCABULARY"
        [ -z "${TRIGRAMS:-}" ] || set -- "$@" --set trigrams.size="$TRIGRAMS"
    fi
    "$recipe/train-once.sh" "$output/encoder" --languages "$languages" \
        --development "$development" --manifest "$output/encoder.run.json" "$@"
}

train_encoder "$@"
[ -e "$output/negatives.tsv" ] && [ -e "$output/contrasts.tsv" ] ||
    python3 "$recipe/pairs.py" "$output/encoder" "$output" "$foreign" "$@" ${MORE:-}
# shellcheck disable=SC2046,SC2086  # a path a line
[ -e "$model" ] ||
    bitext-train-classifier --kind "$classifier" --set training.epochs="$epochs" --model "$output/encoder" \
        --noisy "$output/negatives.tsv" $negatives --contrasts "$output/contrasts.tsv" \
        $(for file in ${GRADED:-}; do echo "--graded=$file"; done) \
        $(for file in "$@" ${MORE:-}; do echo "--text=$file"; done) \
        ${START:+"--start=$START"} $(for value in ${SETTINGS:-}; do echo "--set=$value"; done) \
        --set training.keep=last --set training.held_out=0.02 --set training.precision=bfloat16 \
        --quantise --threads "$THREADS" --manifest "$output/classifier.run.json" \
        -o "$model" "$output/positives.tsv" > "$output/held-out.tsv"
[ -e "$model/thresholds.json" ] || "$recipe/recommend.sh" "$model" "$development"
