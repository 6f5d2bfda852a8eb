#!/bin/sh
# Hide 1,000 true pairs of English and German among 100,000 unrelated sentences a side.
#
#     examples/haystack/make-haystack.sh DATA OUT [test|dev]
#
# The true pairs are test/newstest2021.de-en.tsv of DATA, or dev/newstest2014.de-en.tsv. OUT gets:
#   source.txt, target.txt   English and German, 101,000 distinct lines each, in no order
#   gold.tsv                 the true pairs
#   kinds.tsv                the kinds of the others: side, kind, source, lines
# README.md beside this script says what is taken from where, and why no two of the others are
# translations of each other. The same DATA give the same
# files, in a quarter of a minute.
set -eu

data=$1
output=$2
part=${3:-test}
export LC_ALL=C # bytes are bytes in awk and sort
mkdir -p "$output"
case $part in
    test) true_pairs=test/newstest2021.de-en.tsv talks=test/iwslt2017.en-de.tsv own=0 ted=2400 ;;
    dev) true_pairs=dev/newstest2014.de-en.tsv talks=dev/iwslt2017.en-de.tsv own=1 ted=240 ;;
    *) echo "$0: $part is neither test nor dev" >&2; exit 2 ;;
esac

# What makes two lines the same: letters (lower-cased if ASCII) and digits.
key='function key(text) {
    text = tolower(text)
    gsub(/\342\200./, "", text)  # the quotation marks and dashes of Unicode
    gsub(/[^a-z0-9\200-\377]/, "", text)
    return text
}'

read_file() { case $1 in *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac; }

# Of a parallel file, one block of 500 lines gives English and the next German; for dev it is the
# other way round. Catalogues of software have larger blocks, so that hardly any program is on both
# sides.
halves() { # POOL FILE [BLOCK]: candidates of both sides of a parallel file
    read_file "$data/$2" | awk -F '\t' -v OFS='\t' -v pool="$1" -v own="$own" -v block="${3:-500}" '
        {
            half = int(NR / block) % 2
            if (!($1 in english)) english[$1] = half
            if (!($2 in german)) german[$2] = half
        }
        half == own && english[$1] == half { print "en " pool, $1, $2 }
        half != own && german[$2] == half { print "de " pool, $2, $1 }'
}
# Any other text is shared between test and dev by the length of its lines, even or odd.
column() { # SIDE POOL FILE COLUMN [FIRST LAST]: candidates of one column
    read_file "$data/$3" | awk -F '\t' -v OFS='\t' -v pool="$1 $2" -v column="$4" \
        -v first="${5:-1}" -v last="${6:-999999999}" -v own="$own" '
        NR >= first && NR <= last && length($column) % 2 == own {
            print pool, $column, (column == 2 ? $1 : "") }'
}
candidates() { # a pool, which is a side, a kind and a source; a line; its translation if known
    mixed=mono/en.mixed.research.txt.gz
    column en 'news text' $mixed 1 1 28500
    column en 'news text' $mixed 1 131900 148000
    column de 'news text' mono/de.news.research.txt.gz 1
    halves 'talk ted' $talks
    halves 'talk europarl' train/en-de/europarl.tsv.gz
    column en 'talk other' $mixed 1 79800 101300
    column en 'talk other' $mixed 1 112400 126900
    column de 'talk other' train/en-de/tatoeba.tsv.gz 2
    halves 'technical software' train/en-de/software.tsv.gz 10000
    column en 'technical other' $mixed 1 101500 112300
    column en 'technical other' train/en-de/php-manual.tsv.gz 1
    column en 'technical other' train/en-fr/php-manual.tsv.gz 1
    column en 'technical other' train/en-fr/infopankki.tsv.gz 1
    column de 'technical other' mono/de.law.txt.gz 1
    halves 'web wikipedia' train/en-de/postedits.tsv.gz
    halves 'web wmt-mix' train/en-de/wmt-mix.research.tsv.gz
    column en 'web other' $mixed 1 127000 131800
    column en 'web other' $mixed 1 148100 165036
    column de 'web other' train/comparable/captions.en-de.research.tsv.gz 2
}
quotas() { # how many lines of each kind and source are wanted on either side
    cat << END
news text 10500
talk ted $ted
talk europarl 5500
talk other $((23200 - 5500 - ted))
technical software 10500
technical other 37800
web wikipedia 3200
web wmt-mix 4300
web other 10500
END
}
parallel() { # every pair of English and German there is, by their keys
    {
        for file in "$data"/train/en-de/*.tsv.gz "$data"/train/comparable/*.en-de.*.tsv.gz \
            "$data"/dev/*.en-de.tsv "$data"/test/*.en-de.tsv; do
            read_file "$file" | cut -f 1,2
        done
        for file in "$data"/train/quality/*.en-de.tsv.gz "$data"/dev/quality/*.en-de.tsv; do
            read_file "$file" | cut -f 3,4
        done
        cat "$data"/dev/*.de-en.tsv "$data"/test/*.de-en.tsv "$data/test/tatoeba/deu-eng.tsv" |
            awk -F '\t' -v OFS='\t' '{ print $2, $1 }'
    } | awk -F '\t' -v OFS='\t' "$key"' { print key($1), key($2) }'
}
keys() { awk "$key"' { print key($0) }' "$@"; }
mates() { # COLUMN FILE: what stands beside the keys of FILE, which are in a column of all pairs
    awk -F '\t' -v column="$1" '
        NR == FNR { sought[$0]; next }
        $column in sought { print $(3 - column) }' "$2" "$output/parallel.partial"
}
shuffled() { # SEED: the lines of stdin in an order by chance
    awk -v state="$1" '{
        state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
        printf "%010d\t%s\n", state, $0 }' | sort | cut -f 2-
}
choose() { # SIDE [CHOSEN]: candidates by quota, none like those already chosen on the other side
    awk -F '\t' -v side="$1" -v chosen="${2:-}" "$key"'
        function known(pool, text, learn,    kind, n, word, i, run, found) {
            # What share of its runs of 3 words, lower-cased, there was in this kind of text before.
            split(pool, kind, " ")
            text = tolower(text)
            gsub(/[^a-z0-9_\200-\377]+/, " ", text)
            n = split(text, word, " ")
            for (i = 1; i <= n - 2; i++) {
                run = kind[2] " " word[i] " " word[i + 1] " " word[i + 2]
                if (learn) runs[run]; else found += run in runs
            }
            return n > 2 ? found / (n - 2) : 0
        }
        FILENAME ~ /quotas/ {
            n = split($0, word, " ")
            left[side " " word[1] " " word[2]] = word[n]
            next
        }
        FILENAME ~ /forbidden/ { seen[$0]; next }
        FILENAME == chosen { known($1, $2, 1); known($1, $3, 1); next }
        left[$1] > 0 {
            words = split($2, word, " ")
            # What everybody says has a translation by chance if it is short.
            least = $1 == "de talk other" ? 8 : $1 ~ / text$| other$/ ? 4 : 8
            if (words > 60 || words < least) next
            if ($2 ~ /[\001-\037]|&lt;/) next  # a control character, or a page of XML
            if ((k = key($2)) == "" || k in seen) next
            if (chosen && (known($1, $2) > 0.4 || known($1, $3) > 0.4)) next
            seen[k]
            left[$1]--
            print
        }
        END {
            for (pool in left) if (left[pool]) {
                print "too few lines: " pool " lacks " left[pool] > "/dev/stderr"
                failed = 1
            }
            exit failed
        }' "$output/quotas.partial" "$output/forbidden.partial" ${2:+"$2"} \
        "$output/candidates.partial"
}

awk -F '\t' -v OFS='\t' '!seen[$1]++ && !seen[$2]++ { print $2, $1 }' "$data/$true_pairs" \
    > "$output/gold.tsv"
quotas > "$output/quotas.partial"
parallel > "$output/parallel.partial"
candidates | shuffled 1 > "$output/candidates.partial"

# No line is a true one or stands beside one; no German line stands beside an English one or is one.
cut -f 1 "$output/gold.tsv" | keys > "$output/true-en.partial"
cut -f 2 "$output/gold.tsv" | keys > "$output/true-de.partial"
{ cat "$output"/true-*.partial; mates 2 "$output/true-de.partial"; } > "$output/forbidden.partial"
choose en > "$output/en.partial"
cut -f 2 "$output/en.partial" | keys > "$output/keys-en.partial"
{ cat "$output"/true-*.partial "$output/keys-en.partial"
  mates 1 "$output/true-en.partial"
  mates 1 "$output/keys-en.partial"; } > "$output/forbidden.partial"
# Nor is it, or what stands beside it, like one or the other.
choose de "$output/en.partial" > "$output/de.partial"

# The true pairs come first on one side and last on the other: they get numbers of their own.
{ cut -f 1 "$output/gold.tsv"; cut -f 2 "$output/en.partial"; } | shuffled 2 > "$output/source.txt"
{ cut -f 2 "$output/de.partial"; cut -f 2 "$output/gold.tsv"; } | shuffled 2 > "$output/target.txt"
cat "$output/en.partial" "$output/de.partial" | cut -f 1 | sort | uniq -c |
    awk -v OFS='\t' '{ print $2, $3, $4, $1 }' > "$output/kinds.tsv"

# See for oneself: of all known pairs, which have both sides here, and are not to be found?
keys "$output/source.txt" > "$output/keys-en.partial"
keys "$output/target.txt" > "$output/keys-de.partial"
paste "$output/true-en.partial" "$output/true-de.partial" > "$output/true.partial"
awk -F '\t' '
    FILENAME ~ /true.partial$/ { gold[$0]; next }
    FILENAME ~ /keys-en.partial$/ { source[$0]; next }
    FILENAME ~ /keys-de.partial$/ { target[$0]; next }
    $1 in source && $2 in target && !($0 in gold) { print; failed = 1 }
    END { exit failed }' "$output/true.partial" "$output/keys-en.partial" \
    "$output/keys-de.partial" "$output/parallel.partial" >&2 ||
    { echo "$0: known translations among the unrelated lines" >&2; exit 1; }
rm "$output"/*.partial
wc -l "$output/source.txt" "$output/target.txt" "$output/gold.tsv"
