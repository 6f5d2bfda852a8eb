#!/bin/sh
# Pairs of English sentences that share a translation, to stdout.
#
#     examples/papers/make-paraphrases.sh DATA
#
# DATA holds train/en-*/*.tsv.gz (English, other language). Left out are files called *.research.*
# and the catalogues of software, where one translation often serves for two different strings.
# The English sentences of one translation (letters and digits alone compared) are paired, each
# with the next two; those that differ in nothing but case, marks and spaces are no pair. A pair
# stands once, in any number of languages.
set -eu

data=$1
export LC_ALL=C

for file in "$data"/train/en-*/*.tsv.gz; do
    case $file in *.research.* | */software* | */web-ui*) continue ;; esac
    language=$(basename "$(dirname "$file")")
    gzip -dc "$file" | awk -F '\t' -v OFS='\t' -v language="$language" '
        { key = tolower($2); gsub(/[][:space:]!-\/:-@\\^_`{|}~[]/, "", key)
          bare = tolower($1); gsub(/[][:space:]!-\/:-@\\^_`{|}~[]/, "", bare)
          if (length(key) > 5 && length(bare) > 5) print language key, bare, $1 }'
done | sort -t "$(printf '\t')" -k 1,1 -k 2,2 -u | awk -F '\t' -v OFS='\t' '
    function pair(other, its) { if (!((other, $2) in seen)) { seen[other, $2]; print its, $3 } }
    $1 != key { first = second = "" }
    first != "" { pair(first, first_text) }
    second != "" { pair(second, second_text) }
    { key = $1; second = first; second_text = first_text; first = $2; first_text = $3 }'
