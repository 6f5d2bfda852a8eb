#!/bin/sh
# Sentence alignment recovery errors by CSLS, in percent, of a model of many languages.
#
#     examples/train-multi/measure.sh MODEL FILE...
#
# FILEs end with two languages, as pud.en-ar.tsv, and have the first one in their first column.
# Writes a line each, set, languages, distinct pairs and error, then the mean of each set. THREADS is
# how many threads compute.
set -eu

model=$1
shift
for file; do
    name=$(basename "$file" .tsv)
    languages=$(echo "${name##*.}" | sed 's/-/,/; s/,nb$/,no/')
    bitext-evaluate recovery --model "$model" --languages "$languages" --similarity csls --quiet \
        --threads "${THREADS:-$(getconf _NPROCESSORS_ONLN)}" "$file" |
        awk -F '\t' -v OFS='\t' -v set="${name%.*}" -v languages="$languages" \
            '$1 == "csls" { match($5, /n=[0-9]+/)
                            print set, languages, substr($5, RSTART + 2, RLENGTH - 2), $4 }'
done | awk -F '\t' '{ print; sum[$1] += $4; files[$1]++ }
                    END { for (set in sum) printf "%s\tmean of %d\t\t%.2f\n", set, files[set], sum[set] / files[set] }'
