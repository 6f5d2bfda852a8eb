#!/bin/sh
# Keep in a model of many languages how well it knows each, and where to cut its scores.
#
#     examples/train-multi/grade.sh DATA OUTPUT
#
# OUTPUT is that of train.sh. Weak is a language with an error above 8 % on PUD, or above 25 % on talks
# where there is no PUD; Japanese is measured on news, Hebrew, Ukrainian and Vietnamese on Tatoeba.
# Thresholds are of highest F1, on the development pairs and noise made of them. THREADS is how many
# threads compute.
set -eu
IFS='
' # paths are split at line ends only

data=$1 output=$2 model=$2/multi
THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"

grade() { # PERCENT LANGUAGES=FILE...
    limit=$1
    shift
    bitext-models grade "$model" --weak-above "$limit" -q --threads "$THREADS" -o "$model" "$@"
}
named() { # FILE...: each with the languages at the end of its name
    for file; do
        pair=$(basename "$file" .tsv)
        echo "$(echo "${pair##*.}" | sed 's/-/,/; s/nb$/no/')=$file"
    done
}
# shellcheck disable=SC2046  # a file a line
grade 25 $(named "$data"/dev/ted.*.tsv)
# shellcheck disable=SC2046
grade 8 $(named "$data"/test/pud.*.tsv "$data/test/newstest2021.ja-en.tsv")
grade 8 "he,en=$data/test/tatoeba/heb-eng.tsv" "uk,en=$data/test/tatoeba/ukr-eng.tsv" \
    "vi,en=$data/test/tatoeba/vie-eng.tsv"

for file in "$output"/development/*.tsv; do
    pair=$(basename "$file" .tsv | tr - ,)
    for measure in mlp csls; do
        bitext-evaluate filtering --suggest-threshold --json --similarity "$measure" -q \
            --model "$model:$pair" --threads "$THREADS" "$file" > "$output/cut.$measure"
    done
    bitext-models recommend -q "$model:$pair" "$output"/cut.* -o "$model" > "$output/cuts"
done
rm "$output"/cut.*
