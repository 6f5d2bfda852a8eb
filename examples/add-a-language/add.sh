#!/bin/sh
# Add Nepali to a model of many languages, by 27,097 pairs with English.
#
#     examples/add-a-language/add.sh DATA MODEL OUTPUT
#
# MODEL is that of ../train-multi, or the name of the shipped one. OUTPUT gets the model with Nepali.
# Writes the errors of sentence alignment recovery on Wikipedia sentences, tab-separated: before, with
# Nepali read as Hindi, and after. In the environment, THREADS is how many threads compute.
set -eu

data=$1 model=$2 output=$3
recipe=$(cd "$(dirname "$0")" && pwd)
export THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

folder=$(bitext-models show "$model" | awk -F '\t' '$1 == "folder" { print $2 }')
head -n 1000 "$data/dev/flores.ne-en.tsv" | awk -F '\t' -v OFS='\t' '{ print $2, $1 }' > "$work/development"
[ -e "$output" ] || bitext-train-encoder --languages en,ne --start "$folder" --settings "$recipe/settings.json" \
    --pairs "$data/train/en-ne/gnome-bible.tsv.gz" --pairs "$data/train/en-ne/software.tsv.gz" \
    --development "$work/development" --bits 3 --threads "$THREADS" -o "$output"
for opened in "$folder:hi,en" "$output:ne,en"; do
    bitext-evaluate recovery --model "$opened" --similarity csls --threads "$THREADS" -q \
        "$data/test/flores.ne-en.tsv" | awk -F '\t' -v OFS='\t' -v name="${opened##*:}" \
        '$1 == "csls" { print name, $4 }'
done
