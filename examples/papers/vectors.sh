#!/bin/sh
# How the vectors of encoders lie: nearest sentences, histograms, and mean cosine by human grade.
#
#     examples/papers/vectors.sh DATA OUTPUT neighbours|histogram|grades [MODEL...]
#
# Prints a Markdown table, as Sjöblom et al. 2018 show of WA and GRAN. MODEL is a name or a folder,
# such as one of paper4.sh (en-de). Sentences are the verses of the World English Bible, which is in
# the public domain; grades are those of STS Benchmark. Half a minute a model.
set -eu

data=$1
output=$2
shown=$3
shift 3
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"
[ $# -gt 0 ] || set -- en-de

if [ ! -s "$output/verses.txt" ]; then
    gzip -dc "$data/train/en-de/bible.tsv.gz" | head -n 30906 | cut -f 1 | awk '!seen[$0]++' \
        > "$output/verses.partial"
    mv "$output/verses.partial" "$output/verses.txt"
fi
printf '%s\n' 'Where is your brother?' 'He gave them bread to eat.' > "$output/queries.txt"

case $shown in
    neighbours) printf '| model | sentence | cosine | nearest |\n|---|---|---:|---|\n' ;;
    histogram) printf '| model | sentence | cosine from | to | verses |\n|---|---|---:|---:|---:|\n' ;;
    grades) printf '| model | grade | pairs | mean cosine | deviation | differs from the grade below, p |\n'
        printf '|---|---:|---:|---:|---:|---|\n' ;;
    *) echo "$0: no table is called $shown" >&2; exit 1 ;;
esac
for model; do
    name=$(basename "$model")
    case $shown in
        neighbours)
            measure "$name.neighbours" bitext-evaluate neighbours --model "$model" --language en \
                --neighbours 3 --of "$output/queries.txt" "$output/verses.txt"
            awk -F '\t' -v name="$name" 'NR > 1 {
                gsub(/\|/, "\\|"); printf "| %s | %s | %.3f | %s |\n", name, $1, $3, $5 }' \
                "$output/$name.neighbours" ;;
        histogram)
            measure "$name.histogram" bitext-evaluate neighbours --model "$model" --language en \
                --histogram --of "$output/queries.txt" "$output/verses.txt"
            awk -F '\t' -v name="$name" '
                NR > 1 { place = $1 SUBSEP int(($2 + 1) * 10 + .001)  # five bins of 0.02 are one
                         if (!(place in count)) order[++bins] = place
                         count[place] += $4 }
                END { for (b = 1; b <= bins; b++) if (count[order[b]]) {
                        split(order[b], part, SUBSEP)
                        printf "| %s | %s | %.1f | %.1f | %d |\n", name, part[1],
                            part[2] / 10 - 1, part[2] / 10 - .9, count[order[b]] } }' \
                "$output/$name.histogram" ;;
        grades)
            measure "$name.grades" bitext-evaluate sts --bootstrap 1 --model "$model" --language en \
                --grades "$data/test/sts/stsb.en.tsv"
            awk -F '\t' -v name="$name" 'NR > 1 {
                printf "| %s | %s | %s | %.3f | %.3f | %s |\n", name, $2, $3, $4, $5,
                    $6 == "-" ? "-" : $7 ", " $6 }' "$output/$name.grades" ;;
    esac
done
