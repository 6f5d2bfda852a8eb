#!/bin/sh
# Score all rows cheaply, and only the uncertain middle by an expensive program.
#
#     examples/cascade/cascade.sh LABELLED OUTPUT
#
# LABELLED is a TSV: source, target, and a label, clean or another, for the measurement alone.
# FIRST is the model that scores all rows; the program of EXPENSIVE, which reads source<TAB>target
# and prints a number from 0 to 1 a line, scores those between LOW and HIGH. OUTPUT gets:
#   first.tsv    all rows with their first score
#   unsure.tsv   the rows between
#   middle.tsv   the same, with a second score
#   scored.tsv   all rows, in order, with one score: middle rows stay between LOW and HIGH
#   whole.tsv    all rows scored by the program, to compare; not with COMPARE=no
#   cache/       the answers of the program: the next run asks for none of them again
set -eu

labelled=$1 output=$2
here=$(cd "$(dirname "$0")" && pwd)
FIRST=${FIRST:-multi:en,de} LOW=${LOW:-0.02} HIGH=${HIGH:-0.7}
EXPENSIVE=${EXPENSIVE:-"'$here/expensive.sh'"}
mkdir -p "$output"

ask() {
    bitext-score -q --scorer-command "$EXPENSIVE" --scorer-retries 2 --cache "$output/cache" "$@"
}

bitext-score -q --model "$FIRST" --similarity mlp -i "$labelled" -o "$output/first.tsv"
awk -F '\t' -v low="$LOW" -v high="$HIGH" '$NF > low && $NF < high' "$output/first.tsv" \
    > "$output/unsure.tsv"
ask -i "$output/unsure.tsv" -o "$output/middle.tsv"
awk -F '\t' -v OFS='\t' -v low="$LOW" -v high="$HIGH" '
    FILENAME == ARGV[1] { second[$1 FS $2] = $NF; next }
    ($1 FS $2) in second { $NF = low + (high - low) * second[$1 FS $2] }
    { print }' "$output/middle.tsv" "$output/first.tsv" > "$output/scored.tsv"

rows=$(grep -c '' "$labelled") asked=$(grep -c '' "$output/middle.tsv" || true)
awk -v rows="$rows" -v asked="$asked" 'BEGIN {
    printf "rows\tasked\tsaved\n%d\t%d\t%.1f %%\n", rows, asked, 100 - 100 * asked / rows }'

[ "${COMPARE:-yes}" = yes ] || exit 0
ask -i "$labelled" -o "$output/whole.tsv"
auc() {
    printf '%s\t' "$1"
    bitext-evaluate filtering -q --labels 3 "$output/$2" | awk '$1 == "auc" && $2 == "all" { print $3 }'
}
echo "score	AUC"
auc first first.tsv
auc cascade scored.tsv
auc expensive whole.tsv
