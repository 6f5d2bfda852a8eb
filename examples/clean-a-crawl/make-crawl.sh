#!/bin/sh
# Simulate a web crawl of English-German pairs: clean pairs, damaged ones, and copies.
#
#     examples/clean-a-crawl/make-crawl.sh DATA OUTPUT [ROWS]
#
# DATA holds train/en-de/*.tsv.gz (English, German), where files called *.research.* are left out,
# and train/en-{fr,cs,ru}/*.tsv.gz for foreign text. OUTPUT gets:
#   crawl.tsv.gz   ROWS rows (default: 100,000): English, German, label, kind of copy
#   foreign.txt    sentences of other languages
#   noise-*.json   the manifest of each pass of bitext-noise
# The label is clean, a kind of noise, or untranslated: an undamaged pair whose sides share three
# quarters of their words. A row is the first of its kind or an exact, a normalised or a near copy
# of one. The same DATA and ROWS give the same crawl. A minute and a half on two
# cores, for any ROWS; from 437,842 pairs it makes up to a million rows.
set -eu

data=$1
output=$2
rows=${3:-100000}
export LC_ALL=C # bytes are bytes in awk and tr
mkdir -p "$output"

pairs() { # LANGUAGE: all open pairs of English and LANGUAGE
    for file in "$data/train/en-$1"/*.tsv.gz; do
        case $file in *.research.*) ;; *) gzip -dc "$file" ;; esac
    done
}

noise() { # SEED [OPTION...]: every pair, damaged or not, with a label
    seed=$1
    shift
    pairs de | bitext-noise -q --seed "$seed" --languages en,de --foreign "$output/foreign.txt" \
        --manifest "$output/noise-$seed.json" "$@"
}

sample() { # N FILE: exactly N rows of FILE (all, if it has fewer), drawn in one pass
    awk -v wanted="$1" -v left="$(wc -l < "$2")" '
        BEGIN { state = 1 }
        { state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
          if (state / 2147483647 * left-- < wanted) { wanted--; print } }' "$2"
}

# English on one side is no foreign text: only the other one is.
for language in fr cs ru; do pairs "$language" | cut -f 2; done > "$output/foreign.txt"

# Some pairs damaged, the others clean; then twice each pair that can be damaged, with more of what
# few pairs allow. Rows of one pair stand together, as the pages of a site do.
few="--rate number=0.2 --rate name=0.15 --rate negation=0.15"
noise 1 --rate all=0.3 > "$output/1.partial"
for seed in 2 3; do
    # shellcheck disable=SC2086  # the rates are several words
    noise "$seed" $few --rate all=0.5 > "$output/$seed.partial"
done
paste "$output/1.partial" "$output/2.partial" "$output/3.partial" | awk -F '\t' -v OFS='\t' '
    function untranslated(source, target,    word, count, n, m, i, shared) {
        n = split(tolower(source), word, " ")
        for (i = 1; i <= n; i++) count[word[i]]++
        m = split(tolower(target), word, " ")
        for (i = 1; i <= m; i++) if (count[word[i]]-- > 0) shared++
        return shared >= 3 / 4 * (n > m ? n : m)
    }
    $3 == "clean" && untranslated($1, $2) { $3 = "untranslated" }
    { print $1, $2, $3 }
    $6 != "clean" { print $4, $5, $6 }
    $9 != "clean" { print $7, $8, $9 }' > "$output/all.partial"

# Of every 20 rows one is copied exactly, one with other figures and marks, one with a word more.
sample "$((rows * 20 / 23 + 2))" "$output/all.partial" > "$output/first.partial"
{
    awk '{ print $0 "\tfirst" }' "$output/first.partial"
    awk 'NR % 20 == 1 { print $0 "\texact" }' "$output/first.partial"
    tr 0123456789 1234567890 < "$output/first.partial" | awk -F '\t' -v OFS='\t' '
        NR % 20 == 8 { sub(/[.!?]$/, "", $1); sub(/[.!?]$/, "", $2); print $0, "normalised" }'
    awk -F '\t' -v OFS='\t' '
        NR % 20 == 15 { print "New: " $1, "Neu: " $2, $3, "near" }' "$output/first.partial"
} | awk -v rows="$rows" 'NR <= rows' | gzip -n > "$output/crawl.tsv.gz"
rm "$output"/*.partial
