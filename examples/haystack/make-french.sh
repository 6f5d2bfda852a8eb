#!/bin/sh
# Hide 1,000 true pairs of French and English or German among some 40,000 unrelated sentences a side.
#
#     examples/haystack/make-french.sh DATA OUT en-fr|de-fr
#
# The true pairs are talks (dev/ted.en-fr.tsv and dev/ted.en-de.tsv of DATA; of German and French,
# those of the same English line). OUT gets source.txt, target.txt and gold.tsv. It is for choosing
# the thresholds of mining, not for results: nothing of DATA/test is read. The same DATA give the same
# files.
set -eu

data=$1
output=$2
pair=$3
export LC_ALL=C # bytes are bytes in awk and sort
mkdir -p "$output"

unpacked() { case $1 in *.gz) gzip -dc "$data/$1" ;; *) cat "$data/$1" ;; esac; }
# Of a parallel file, one block of 500 lines gives the source side and the next the target side.
halves() { # FILE LINES
    unpacked "$1" | awk -F '\t' -v most="$2" '
        { half = int(NR / 500) % 2; text = $(1 + half) }
        split(text, word, " ") >= 8 && n[half] < most { n[half]++; print half "\t" text }'
}
one_side() { # HALF FILE COLUMN LINES: of a file that has nothing to do with the other side
    unpacked "$2" | awk -F '\t' -v half="$1" -v column="$3" -v most="$4" '
        split($column, word, " ") >= 4 && NR % 2 && n++ < most { print half "\t" $column }'
}
case $pair in
    en-fr)
        true_pairs() { cat "$data/dev/ted.en-fr.tsv"; }
        others() {
            halves train/en-fr/europarl.tsv.gz 10000
            one_side 0 mono/en.mixed.research.txt.gz 1 26000
            one_side 0 train/en-fr/infopankki.tsv.gz 1 4000
            one_side 1 train/en-fr/tatoeba.tsv.gz 2 10000
            one_side 1 train/en-fr/php-manual.tsv.gz 2 20000
        }
        ;;
    de-fr)
        true_pairs() {
            awk -F '\t' -v OFS='\t' '
                NR == FNR { german[$1] = $2; next }
                $1 in german { print german[$1], $2 }' \
                "$data/dev/ted.en-de.tsv" "$data/dev/ted.en-fr.tsv"
        }
        others() {
            one_side 0 mono/de.news.research.txt.gz 1 10000
            one_side 0 mono/de.law.txt.gz 1 30000
            one_side 1 train/en-fr/tatoeba.tsv.gz 2 10000
            one_side 1 train/en-fr/europarl.tsv.gz 2 10000
            one_side 1 train/en-fr/php-manual.tsv.gz 2 20000
        }
        ;;
    *) echo "$0: $pair is neither en-fr nor de-fr" >&2; exit 2 ;;
esac
shuffled() { # the lines of stdin in an order by chance
    awk -v state=1 '{
        state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
        printf "%010d\t%s\n", state, $0 }' | sort | cut -f 2-
}

true_pairs | awk -F '\t' '!seen[$1]++ && !seen[$2]++' | shuffled | head -n 1000 > "$output/gold.tsv"
others | sort -u > "$output/others.partial"
cut -f 1 "$output/gold.tsv" > "$output/sources.partial"
grep '^0' "$output/others.partial" | cut -f 2 >> "$output/sources.partial"
# A line that stands beside one of these in a parallel file is its translation: it is no target.
gzip -dc "$data/train/$pair"/*.tsv.gz | awk -F '\t' '
    NR == FNR { source[$0]; next }
    $1 in source { print $2 }' "$output/sources.partial" - > "$output/known.partial"
cut -f 2 "$output/gold.tsv" > "$output/targets.partial"
grep '^1' "$output/others.partial" | cut -f 2 |
    awk 'NR == FNR { known[$0]; next } !($0 in known)' "$output/known.partial" - \
        >> "$output/targets.partial"
awk '!seen[$0]++' "$output/sources.partial" | shuffled > "$output/source.txt"
awk '!seen[$0]++' "$output/targets.partial" | shuffled > "$output/target.txt"
rm "$output"/*.partial
wc -l "$output/source.txt" "$output/target.txt" "$output/gold.tsv"
