#!/usr/bin/env bash
# Fit the calibrations of the shipped models to people's labels of real crawls.
#
#   examples/people/calibrate.sh DATA MODELS
#
# DATA/dev/crawl has paracrawl.en-XX.tsv: label, score of Bicleaner, English, other language. V (valid)
# and F (free) are right, A (misaligned) and L (another language) are wrong. Folders of MODELS are
# written anew. The curves are those of multi, from 20 languages; de-fr has no labels, and takes the
# offset of en-de, too. HELD_OUT names a file for the probabilities of held-out rows: reliability.py
# draws it.
set -euo pipefail
data=$1 models=$2
labels=(--labels 1 --scol 3 --tcol 4 --right V,F --wrong A,L)
every=()
for file in "$data"/dev/crawl/paracrawl.en-*.tsv; do
    language=${file##*en-}
    every+=("en,${language%.tsv}=$file")
done
bitext-models calibrate "$models/multi" "${every[@]}" "${labels[@]}" -o "$models/multi" \
    ${HELD_OUT:+--held-out "$HELD_OUT"}
for each in en-de:de en-de-autoencoder:de en-fr:fr; do
    model=$models/${each%:*} language=${each#*:}
    bitext-models calibrate "$model" "en,$language=$data/dev/crawl/paracrawl.en-$language.tsv" \
        "${labels[@]}" --start "$models/multi" -o "$model"
done
bitext-models calibrate "$models/de-fr" --start "$models/en-de" -o "$models/de-fr"
