#!/usr/bin/env bash
# Clean the crawl of make-crawl.sh down to 10, 30 and 60 % of its words, and measure the gain.
#
#     examples/clean-a-crawl/clean.sh OUTPUT
#
# OUTPUT holds crawl.tsv.gz and gets:
#   scored.tsv           the crawl with the score of each row
#   cleaned.tsv          the pairs that pass the rules, each once, the best first
#   best-{10,30,60}.tsv  its best rows, of at most this percentage of the crawl's words
#   *-dropped.tsv.gz     the rows dropped by rules and deduplication, with the reason
#   *.json, report.html  the manifests, and a page that shows the scores
# and three tables go to stdout. The label, column 3, is only read for the tables. MATCH=near drops
# near duplicates too (it needs bitextfilter[near]).
set -euo pipefail
export LC_ALL=C # bytes are bytes in awk
export BITEXTFILTER_ON_ERROR=reject # a damaged row stops none of the commands

cd "$1"
match=${MATCH:-normalised}

# One pass: the rows as they came run through four programs, and the score stays the last column.
# A row that cannot be scored (a side is blank, or not UTF-8) keeps its place with an empty score.
bitext-score -q --similarity mlp --manifest score.json -i crawl.tsv.gz | tee scored.tsv |
    bitext-filter --languages en,de --manifest filter.json --rejects filter-dropped.tsv.gz |
    bitext-dedup --match "$match" --keep best --manifest dedup.json --rejects dedup-dropped.tsv.gz |
    bitext-rank -q --manifest rank.json -o cleaned.tsv

words=$(awk -F '\t' '{ words += split($2, word, " ") } END { print words }' scored.tsv)
for percent in 10 30 60; do
    budget=$((words * percent / 100))
    bitext-rank -q --top-words "$budget" -i cleaned.tsv -o "best-$percent.tsv"
    bitext-rank -q --top-words "$budget" -i scored.tsv -o "score-$percent.tsv.partial"
done

share() { # NAME FILE: rows and words of FILE, and how much of them is clean
    awk -F '\t' -v OFS='\t' -v name="$1" -v all="$words" -v clean="$clean" '
        { n = split($2, word, " "); words += n; if ($3 == "clean") kept += n }
        END { printf "%s\t%d\t%.1f\t%.1f\t%.1f\n", name, NR, 100 * words / all,
                     words ? 100 * kept / words : 0, 100 * kept / clean }' "$2"
}
clean=$(awk -F '\t' '$3 == "clean" { words += split($2, word, " ") } END { print words }' scored.tsv)

printf '# What is left, in percent of words\n'
printf 'selection\trows\tof the crawl\tclean\tof all clean\n'
share 'crawl' scored.tsv
share 'rules, each pair once' cleaned.tsv
for percent in 10 30 60; do
    share "best $percent %" "best-$percent.tsv"
    share "best $percent % by score alone" "score-$percent.tsv.partial"
done

printf '\n# Rows of each kind\n'
printf 'kind\tcrawl\tcleaned\tbest 60 %%\tbest 30 %%\tbest 10 %%\n'
awk -F '\t' '
    FNR == 1 { file++ }
    { rows[$3, file]++; kinds[$3] }
    END { for (kind in kinds) {
        line = kind
        for (i = 1; i <= 5; i++) line = line "\t" rows[kind, i] + 0
        print line } }' scored.tsv cleaned.tsv best-60.tsv best-30.tsv best-10.tsv | sort

printf '\n# How well clean rows are told from each kind: the score, then the rules and the score\n'
printf 'kind\tAUC of the score\tlow\thigh\tAUC of both\tlow\thigh\n'
# Of clean rows, those of 6 to 60 words, as the damaged ones were; a name alone is no match for them.
awk -F '\t' '
    { n = split($1, word, " "); m = split($2, word, " ") }
    $3 != "clean" || (n >= 6 && n <= 60 && m >= 6 && m <= 60)' scored.tsv > measured.partial
bitext-evaluate filtering -q --labels 3 measured.partial > score.partial
bitext-filter -q --languages en,de --explain --fast -i measured.partial |
    bitext-evaluate filtering -q --labels 3 --column -2 --verdict -1 > both.partial
paste score.partial both.partial | awk -F '\t' -v OFS='\t' '
    $1 == "auc" { print $2, $3, $4, $5, $11, $12, $13 }'

bitext-report -q -i scored.tsv --label 3 --filter-manifest filter.json --manifests score.json \
    --manifests dedup.json --manifests rank.json --languages en,de -o report.html
rm ./*.partial
