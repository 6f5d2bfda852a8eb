#!/bin/sh
# Train the shipped en-de model from open data.
#
#     examples/train-en-de/train.sh DATA OUTPUT
#
# DATA holds train/en-de/*.tsv.gz (English, German), foreign text in the second columns of other
# train/en-*/*.tsv.gz, and dev/newstest2014.de-en.tsv; files called *.research.*, and others that
# are not known to be open, are left out, for a shipped model should not rest on them. OUTPUT gets:
#   averaging/  token-weighted averaging: the baseline, and where the next one starts
#   encoder/    the recurrent encoder: averaging, autoencoding, translation and ranking together
#   paper/      the paper's own objective, for comparison (only with PAPER=1)
#   en-de/      encoder and classifier: the shipped model
# About two hours on two cores. An interrupted training goes on when the script is run again.
set -eu
IFS='
' # lists of paths are split at line ends only

data=$1
output=$2
recipe=$(cd "$(dirname "$0")" && pwd)
threads=${THREADS:-$(getconf _NPROCESSORS_ONLN)}
mkdir -p "$output"

files=
for file in "$data"/train/en-de/*.tsv.gz; do
    case $file in *.research.*) ;; *) files="$files$IFS$file" ;; esac
done

train() { # NAME [OPTION...]: train OUTPUT/NAME by NAME.json, unless it is there
    name=$1
    shift
    [ -e "$output/$name.done" ] && return
    [ -d "$output/$name.training" ] && set -- "$@" --resume
    for file in $files; do set -- "$@" --pairs "$file"; done
    bitext-train-encoder --languages en,de --settings "$recipe/$name.json" --quantise \
        --development "$data/dev/newstest2014.de-en.tsv" --dev-scol 2 --dev-tcol 1 \
        --threads "$threads" -o "$output/$name" "$@"
    touch "$output/$name.done"
    rm -r "$output/$name.training"
}

train averaging
train encoder --start "$output/averaging"
[ -z "${PAPER:-}" ] || train paper --start "$output/averaging"

for file in "$data"/train/en-[!d]*/*.tsv.gz; do
    case $file in # only what is known to be open
        *.research.* | */en-cs/docs.* | */infopankki.* | */gnome-bible.*) ;;
        *) gzip -dc "$file" | cut -f 2 | head -n 6000 ;;
    esac
done > "$output/foreign.txt"

# shellcheck disable=SC2086  # the paths are a list
python3 "$recipe/noise.py" "$output" "$output/foreign.txt" $files
bitext-train-classifier --model "$output/encoder" --noisy "$output/negatives.tsv" \
    --negatives given --epochs 6 --quantise --threads "$threads" -o "$output/en-de" \
    "$output/positives.tsv"
cp "$recipe/card.md" "$recipe/attribution.md" "$output/en-de/"
