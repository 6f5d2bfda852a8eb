#!/bin/sh
# Train a model of two languages from pairs: an encoder, a classifier, and where to cut.
#
#     examples/train-a-pair/train.sh SOURCE,TARGET OUTPUT DEVELOPMENT FOREIGN FILE...
#
# FILEs and DEVELOPMENT are TSVs of pairs, source first, .gz or plain, with no pair in both; FOREIGN
# has sentences in other languages, one a line, or is /dev/null. OUTPUT gets:
#   encoder/                        the encoder, by encoder.json
#   positives.tsv, negatives.tsv    what the classifier learns from, by pairs.py
#   SOURCE-TARGET/                  encoder, classifier, and thresholds by DEVELOPMENT: the model
#   held-out.tsv                    how good the classifier is on pairs kept from it
# Thresholds go to stdout.
# What is there is kept, and an interrupted training goes on when the script is run again. 400,000
# pairs take under two hours on two cores. THREADS in the environment is how many threads compute.
set -eu

languages=$1 output=$2 development=$3 foreign=$4
shift 4
recipe=$(cd "$(dirname "$0")" && pwd)
model=$output/$(echo "$languages" | tr , -)
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
classifier='--kind words' # options of its own
mkdir -p "$output"

for_size() { # FILE...: settings that depend on how many pairs there are
    for file; do
        case $file in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac
    done | awk '
        function between(least, number, most) {
            return int(number < least ? least : number > most ? most : number)
        }
        END {
            print "--set training.passes=" between(3, 500000 / NR, 10)
            print "--set training.validate_every=" 40 * between(1, NR / 16000, 25)
            thousands = 4 * (NR / 5000) ^ 0.4 + 0.5
            print "--set segmentation.vocabulary_size=" 1000 * between(2, thousands, 24)
        }'
}

train_encoder() { # FILE...
    settings=$(for_size "$@")
    for file; do shift; set -- "$@" --pairs "$file"; done
    [ ! -e "$output/encoder.training/state.json" ] || set -- "$@" --resume
    # shellcheck disable=SC2086  # the settings are several words
    bitext-train-encoder --languages "$languages" --settings "$recipe/encoder.json" --quantise \
        $settings --development "$development" --threads "$THREADS" \
        --manifest "$output/encoder.run.json" -o "$output/encoder" "$@"
    rm -r "$output/encoder.training"
    touch "$output/encoder.done"
}

[ -e "$output/encoder.done" ] || train_encoder "$@"
[ -e "$output/negatives.tsv" ] ||
    python3 "$recipe/pairs.py" "$output/encoder" "$output" "$foreign" "$@"
# shellcheck disable=SC2086  # the options are several words
[ -e "$model" ] ||
    bitext-train-classifier $classifier --model "$output/encoder" --quantise \
        --negatives given --noisy "$output/negatives.tsv" --threads "$THREADS" \
        --manifest "$output/classifier.run.json" -o "$model" "$output/positives.tsv" \
        > "$output/held-out.tsv"

recommend() { # the thresholds of highest F1 on DEVELOPMENT and the noise made of it
    for measure in mlp csls ratio distance cosine euclidean; do
        bitext-evaluate filtering --suggest-threshold --json --similarity "$measure" -q \
            --model "$model" --threads "$THREADS" "$development" > "$output/cut.$measure.json"
    done
    bitext-models recommend -q "$model" "$output"/cut.*.json -o "$model"
}
[ -e "$model/thresholds.json" ] || recommend
