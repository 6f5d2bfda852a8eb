#!/usr/bin/env bash
# AUC of clean news against each kind of noise, by the score mlp, and by rules and score together.
#
#     examples/clean-a-crawl/measure.sh DATA OUTPUT [PART]
#
# DATA holds newstest2021 as {test,dev}/*.tsv; PART is test (newstest2021, both directions) or dev
# (newstest2014 and the development part of iwslt2017). Of every pair of 6 to 60 words, one version
# in each kind that can be made of it is put beside the clean pairs: OUTPUT/noise.tsv. Then a table
# goes to stdout: kind, AUC with its 95 % interval by the score, and by rules and score.
set -euo pipefail

data=$1 output=$2 part=${3:-test}
mkdir -p "$output"
swapped() { awk -F '\t' -v OFS='\t' '{ print $2, $1 }' "$1"; }

if [ "$part" = test ]; then
    { cut -f 1,2 "$data/test/newstest2021.en-de.tsv"
      swapped "$data/test/newstest2021.de-en.tsv"; } > "$output/clean.partial"
    { cut -f 1 "$data/test/newstest2021.fr-de.tsv"
      cut -f 1 "$data/test/newstest2021.cs-en.tsv"; } > "$output/foreign.partial"
else
    { swapped "$data/dev/newstest2014.de-en.tsv"
      cut -f 1,2 "$data/dev/iwslt2017.en-de.tsv"; } > "$output/clean.partial"
    { cut -f 2 "$data/dev/captions.en-fr.tsv"
      cut -f 2 "$data/dev/captions.en-cs.tsv"; } > "$output/foreign.partial"
fi

noise() { # KIND RATE: the pairs with that noise, and those it cannot be made of, labelled
    bitext-noise -q --rate "$1=$2" --seed 1 --languages en,de --outside drop \
        --foreign "$output/foreign.partial" -i "$output/clean.partial"
}
noise copied 0 > "$output/noise.partial"
for kind in shuffled neighbouring misordered wrong-language copied truncated extra number name \
    negation boilerplate short mojibake repeated half; do
    noise "$kind" 1 | awk -F '\t' '$3 != "clean"' >> "$output/noise.partial"
done
mv "$output/noise.partial" "$output/noise.tsv"

bitext-score -q --similarity mlp -i "$output/noise.tsv" |
    bitext-filter -q --languages en,de --explain -o "$output/judged.tsv"
bitext-evaluate filtering -q --labels 3 --column 4 "$output/judged.tsv" > "$output/score.partial"
bitext-evaluate filtering -q --labels 3 --column 4 --verdict 5 "$output/judged.tsv" \
    > "$output/both.partial"

printf 'kind\tAUC of the score\tlow\thigh\tAUC of both\tlow\thigh\tclean\tnoise\n'
paste "$output/score.partial" "$output/both.partial" | awk -F '\t' -v OFS='\t' '
    $1 == "auc" { print $2, $3, $4, $5, $11, $12, $13, $6, $7 }'
rm "$output"/*.partial
