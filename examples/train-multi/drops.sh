#!/bin/sh
# The share of good pairs that the rules of bitext-filter drop, by language.
#
#     examples/train-multi/drops.sh DATA
#
# Writes a line for each set and two languages, tab-separated: set, languages, pairs, percent dropped
# by the default rules, percent dropped by the rules numbers, dates and units.
set -eu

data=$1

drops() { # FILE LANGUAGES OPTION...: the percent of its pairs
    file=$1 languages=$2
    shift 2
    cut -f 1,2 "$file" | bitext-filter --languages "$languages" -q "$@" | wc -l |
        awk -v rows="$(wc -l < "$file")" '{ printf "%.2f", 100 - 100 * $1 / rows }'
}
for file in "$data"/dev/ted.*.tsv "$data"/test/pud.*.tsv "$data"/test/newstest2021.*.tsv; do
    name=$(basename "$file" .tsv)
    languages=$(echo "${name##*.}" | sed 's/-/,/; s/,nb$/,no/')
    printf '%s\t%s\t%d\t%s\t%s\n' "${name%.*}" "$languages" "$(wc -l < "$file")" \
        "$(drops "$file" "$languages")" \
        "$(drops "$file" "$languages" --rule numbers --rule dates --rule units)"
done
