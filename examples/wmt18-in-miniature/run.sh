#!/bin/sh
# Train the same translator on the best rows by each score, and measure it.
#
#     examples/wmt18-in-miniature/run.sh DATA OUT
#
# OUT holds what score.sh made and gets models and translations in trained-N/ and raw-N/, where N is
# the number of words, and three tables, which are printed: of the filtered rows table2-N.tsv of all
# scores, chance and the oracle, and table5-N.tsv of the six sets of negatives; and raw-N.tsv, what
# some scores choose of all rows. What is finished is kept: the script goes on where it was
# interrupted. In the environment:
#   WORDS    English words that each system takes (240000, or nine tenths of the clean ones if less)
#   SEEDS    seeds of the trainings (1)
#   THREADS  all cores
#   PASSES   over so many words of the corpus (those of settings.json)
# The best networks are chosen by dev/captions.en-de; test/captions2016.en-de is translated once.
set -eu

data=$1
output=$2
recipe=$(cd "$(dirname "$0")" && pwd)

clean=$(awk -F '\t' '$1 == "clean" { print $5 }' "$output/labels.tsv")
words=${WORDS:-240000}
[ "$words" -le $((clean * 9 / 10)) ] || words=$((clean * 9 / 10))
echo "$0: $words words for each system; $clean English words are clean" >&2

there() { # CORPUS NAME...: those that are columns of CORPUS, separated by commas
    gzip -dc "$output/$1" | head -n 1 | tr '\t' '\n' > "$output/names.partial"
    shift
    for name; do
        if grep -qx -e "$name" "$output/names.partial"; then printf '%s\n' "$name"; fi
    done | paste -s -d , -
}
measure() { # TABLE CORPUS WORK OPTION...: the table of some systems
    table=$output/$1-$words.tsv corpus=$output/$2 work=$output/$3-$words
    shift 3
    bitext-evaluate downstream "$@" --header --words "$words" --seeds "${SEEDS:-1}" \
        --languages de,en --scol de --tcol en --dev-scol 2 --dev-tcol 1 \
        --development "$data/dev/captions.en-de.tsv" --test "$data/test/captions2016.en-de.tsv" \
        --settings "$recipe/settings.json" ${PASSES:+--set "training.passes=$PASSES"} \
        ${THREADS:+--threads "$THREADS"} --work "$work" "$corpus" > "$table.partial"
    mv "$table.partial" "$table"
    cut -f 1-11 "$table"
}

measure table2 scored.tsv.gz trained --random --oracle label \
    --scores "$(there scored.tsv.gz cosine levenshtein csls mlp translation dual nmt+lm pivot)"
measure table5 scored.tsv.gz trained \
    --scores "$(there scored.tsv.gz mlp-random mlp-20 mlp-40 mlp-60 mlp-80 mlp-100)"
measure raw raw.tsv.gz raw --random --scores "$(there raw.tsv.gz cosine csls mlp)"
rm "$output/names.partial"
