#!/bin/sh
# Wieting, Mallinson & Gimpel 2017 in small: AVG and GRAN, trained on pairs of a range of lengths.
#
#     examples/papers/paper2.sh DATA OUTPUT
#
# Trains by the grid of paper2.toml (bitext-tune): the two-sided margin loss, 8,000 pairs of
# make-paraphrases.sh whose sides both have so many words, and measures by the mean Pearson
# correlation of STS 2016. Then it prints a Markdown table. Points in OUTPUT/paper2.tsv are not
# trained again. PROCESSES in the environment is how many to train side by side (1). Ten
# minutes on one core.
set -eu

data=$1
output=$2
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"

paraphrases
set --
for file in "$data"/dev/sts/sts2016.*.tsv; do set -- "$@" --sts "$file"; done
bitext-tune "$recipe/paper2.toml" -q --processes "${PROCESSES:-1}" --languages en,en \
    --pairs "$output/train.tsv" --development "$output/dev.tsv" "$@" -o "$output/paper2.tsv"

printf '| words of both sides | AVG | GRAN | seconds: AVG | GRAN | theirs: AVG | GRAN |\n'
printf '|---|---:|---:|---:|---:|---:|---:|\n'
while read -r low high theirs; do
    awk -F '\t' -v range="$low $high" -v theirs="$theirs" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["length.minimum"] " " $column["length.maximum"] == range {
            name = $column["architecture"]
            if ($column["pearson"] != "") figure[name] = sprintf("%.1f", $column["pearson"])
            seconds[name] = sprintf("%.0f", $column["seconds"])
        }
        END {
            sub(" ", "–", range)
            print "| " range " | " figure["word"] " | " figure["gran"] " | " seconds["word"] \
                " | " seconds["gran"] " | " theirs " |"
        }' "$output/paper2.tsv"
done <<'END'
0 10 65.7 | 66.6
10 20 65.6 | 66.5
20 30 65.3 | 66.0
30 100 65.0 | 64.8
0 100 65.5 | 66.9
END
