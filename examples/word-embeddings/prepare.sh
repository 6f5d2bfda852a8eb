#!/bin/sh
# English and German text for word vectors, and dictionaries to map them with and to measure with.
#
#     examples/word-embeddings/prepare.sh DATA OUTPUT
#
# DATA holds train/en-de/*.tsv.gz (English, German), where files called *.research.* are left out.
# OUTPUT gets:
#   text.en, text.de   the two columns
#   test.tsv           the entries of 1,500 English words
#   seeds.tsv          up to 5,000 entries of other English words
# Entries are the pairs of one word of three letters or more on either side, lower-cased, each once,
# without those whose words are the same. The same DATA give the same files.
set -eu

data=$1
output=$2
export LC_ALL=C # bytes are bytes in awk
mkdir -p "$output"

for file in "$data"/train/en-de/*.tsv.gz; do
    case $file in *.research.*) ;; *) gzip -dc "$file" ;; esac
done > "$output/pairs.partial"
cut -f 1 "$output/pairs.partial" > "$output/text.en"
cut -f 2 "$output/pairs.partial" > "$output/text.de"

awk -F '\t' '
    function word(text,    letters) {
        letters = text
        gsub(/[\200-\277]/, "", letters)  # what follows the first byte of a letter in UTF-8
        return text ~ /^[A-Za-z\200-\377]+$/ && length(letters) >= 3
    }
    word($1) && word($2) {
        source = tolower($1)
        target = tolower($2)
        gsub(/\303\204/, "\303\244", target)  # tolower knows ASCII alone here
        gsub(/\303\226/, "\303\266", target)
        gsub(/\303\234/, "\303\274", target)
        if (source != target && !seen[source, target]++) print source "\t" target
    }' "$output/pairs.partial" > "$output/entries.partial"

# Each English word gets a number by chance; those with the lowest are for the test.
awk -F '\t' '
    BEGIN { state = 1 }
    !($1 in number) {
        state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
        number[$1] = state
    }
    { printf "%010d\t%s\n", number[$1], $0 }' "$output/entries.partial" | sort |
    awk -F '\t' -v tests="$output/test.tsv" -v seeds="$output/seeds.tsv" '
        $2 != last { words++; last = $2 }
        words <= 1500 { print $2 "\t" $3 > tests; next }
        entries++ < 5000 { print $2 "\t" $3 > seeds }'
rm "$output"/*.partial
wc -l "$output/text.en" "$output/test.tsv" "$output/seeds.tsv"
