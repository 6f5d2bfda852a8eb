#!/bin/sh
# Make a noisy corpus of English and German, with a quarter of clean lines.
#
#     examples/wmt18-in-miniature/make-corpus.sh DATA OUT
#
# OUT gets noisy.tsv.gz: English, German and a label, shuffled by SEED in the environment (1);
# filtered.tsv.gz, those of its rows that pass the default rules of bitext-filter, as the paper filters
# by heuristics before it scores; and labels.tsv, which is printed: the lines and English words of each
# label, and both of those that pass. Clean are four fifths of train/en-de/captions.research and
# wmt-mix.research, which no model that comes with the package was trained on; every fifth pair is kept
# apart in positives.tsv, for classifiers to learn from. Noise are train/comparable/captions (label
# comparable: independent captions of one photograph), and what bitext-noise makes of the clean pairs
# in three passes, as much as is wanted. Scores of an earlier corpus in OUT are removed. The same DATA
# and SEED give the same corpus. A minute or two.
set -eu

data=$1
output=$2
seed=${SEED:-1}
export LC_ALL=C # bytes are bytes in awk and sort
mkdir -p "$output"

pairs() { gzip -dc "$data"/train/en-de/captions.research.tsv.gz "$data"/train/en-de/wmt-mix.research.tsv.gz; }
clean() { pairs | awk 'NR % 5'; }
comparable() { gzip -dc "$data/train/comparable/captions.en-de.research.tsv.gz"; }
damaged() { # the clean pairs that allow it, damaged three times
    for pass in 1 2 3; do
        clean | bitext-noise -q --seed "$((seed * 10 + pass))" --rate all=1 --outside drop \
            --languages en,de --foreign "$output/foreign.partial"
    done | awk -F '\t' '$3 != "clean"'
}
shuffled() { # SEED: the lines of stdin in an order by chance
    awk -v state="$1" '
        BEGIN { state = 16807 * (state + 12345) % 2147483647 }
        { state = state * 16807 % 2147483647  # Park and Miller 1988: the same with every awk
          printf "%010d\t%s\n", state, $0 }' | sort -s -k 1,1 | cut -f 2-
}

for language in fr cs; do
    gzip -dc "$data/train/en-$language"/*.research.tsv.gz | cut -f 2
done > "$output/foreign.partial"
wanted=$(($(clean | wc -l) * 3 - $(comparable | wc -l)))
{
    clean | awk -v OFS='\t' '{ print $0, "clean" }'
    comparable | awk -v OFS='\t' '{ print $0, "comparable" }'
    damaged | shuffled "$seed" | head -n "$wanted"
} | shuffled "$((seed + 1))" | gzip -n > "$output/noisy.tsv.gz.partial"
rm -rf "$output/columns" "$output"/mlp-* "$output/scored.tsv.gz" # of an earlier corpus
mv "$output/noisy.tsv.gz.partial" "$output/noisy.tsv.gz"
pairs | awk 'NR % 5 == 0' > "$output/positives.tsv"
rm "$output/foreign.partial"
bitext-filter -q --languages en,de -i "$output/noisy.tsv.gz" -o "$output/filtered.tsv.gz"

{ gzip -dc "$output/noisy.tsv.gz" | sed 's/$/\tnoisy/'
  gzip -dc "$output/filtered.tsv.gz" | sed 's/$/\tfiltered/'; } | awk -F '\t' -v OFS='\t' '
    { n = split($1, word, " ")
      labels[$3]; rows[$3, $4]++; words[$3, $4] += n; rows["all", $4]++; words["all", $4] += n }
    function line(label) {
        return label OFS rows[label, "noisy"] OFS words[label, "noisy"] OFS \
            rows[label, "filtered"] + 0 OFS words[label, "filtered"] + 0
    }
    END {
        for (label in labels) print line(label) | "sort -t \"\t\" -k 2,2nr"
        close("sort -t \"\t\" -k 2,2nr")
        print line("all")
    }' > "$output/labels.tsv"
{ printf 'label\tlines\twords\tfiltered lines\twords\n'; cat "$output/labels.tsv"; }
