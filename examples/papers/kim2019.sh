#!/bin/sh
# Tables 1 to 5 and figure 3 of Kim et al. 2019 in small, beside the paper's figures.
#
#     examples/papers/kim2019.sh DATA OUTPUT [TABLE...]
#
# Prints the Markdown tables named, or all: recovery (tables 1 and 3), selection (2), negatives
# (5), shares (figure 3), examples (4). The noisy corpus and its scores are those of ../wmt18-in-miniature, which
# is run if OUTPUT does not hold them; the paper's MLP is trained there, by mlp.json. BLEU is shown
# where ../wmt18-in-miniature/run.sh has been run into OUTPUT. What is finished is kept. In the
# environment:
#   MODEL        the encoder (en-de); a folder of OUTPUT holds the results of one
#   TRANSLATORS  a folder with de-en and en-de of ../train-translators; without it, their rows are not
#                run. A thousand pairs take hours
#   THREADS      (1)
# OUTPUT gets recovery.*.tsv, plots/ (figure 3, if matplotlib is installed) and examples/ (the corpus
# of table 4, of Bible verses). Half an hour on one core; the recovery by MLP takes most of it.
set -eu

data=$1
output=$2
shift 2
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$recipe/common.sh"
miniature=$recipe/../wmt18-in-miniature
model=${MODEL:-en-de}
translators=${TRANSLATORS:-/nowhere}

[ -e "$output/noisy.tsv.gz" ] || "$miniature/make-corpus.sh" "$data" "$output" >&2
[ -e "$output/scored.tsv.gz" ] || MODEL=$model "$miniature/score.sh" "$data" "$output" "$translators" >&2

scored() { gzip -dc "$output/scored.tsv.gz"; }
there() { scored | sed q | tr '\t' '\n' | grep -qx -e "$1"; } # NAME: whether it is a column
recovered() { # NAME MEASURES [OPTION...]: the errors on both sets, English to German first
    name=$1 measures=$2
    shift 2
    for set in newstest2021 tst2015; do
        measure "recovery.$name.$set.tsv" bitext-evaluate recovery --similarity "$measures" "$@" \
            "$output/$set.tsv"
    done
}
recovery() {
    awk -F '\t' -v OFS='\t' '{ print $2, $1 }' "$data/test/newstest2021.de-en.tsv" > "$output/newstest2021.tsv"
    tail -n 1080 "$data/test/iwslt2017.en-de.tsv" > "$output/tst2015.tsv" # its last part
    recovered plain levenshtein,cosine,csls,euclidean --model "$model"
    recovered mlp-100 mlp --model "$output/mlp-100"
    recovered mlp-60 mlp --model "$output/mlp-60"
    ! there mlp || recovered mlp mlp --model "$model"
    if [ -d "$translators/de-en" ] && [ -d "$translators/en-de" ]; then
        recovered translation translation --model "$model" \
            --translator "$translators/en-de,$translators/de-en"
    fi
    head='| similarity | theirs, newstest2018: de-en | en-de | mean | tst2015: mean'
    printf '%s | ours, newstest2021: de-en | en-de | mean | tst2015: mean |\n' "$head"
    printf '|---|---:|---:|---:|---:|---:|---:|---:|---:|\n'
    while IFS='|' read -r title name measure theirs; do
        printf '| %s | %s' "$title" "$theirs"
        for set in newstest2021 tst2015; do
            table=$output/recovery.$name.$set.tsv
            if [ ! -s "$table" ]; then
                [ $set = tst2015 ] && echo ' | not run |' || printf ' | not run | not run | not run'
            else
                awk -F '\t' -v set=$set -v measure="$measure" '$1 == measure {
                    if (set == "tst2015") print " | " $4 " |"
                    else printf " | %s | %s | %s", $3, $2, $4 }' "$table"
            fi
        done
    done <<'END'
Levenshtein|plain|levenshtein| | | 37.4 | 54.6
translators, both directions|translation|translation| | | 1.7 | 13.3
cosine|plain|cosine|4.3 | 4.2 | 4.3 | 13.8
CSLS|plain|csls|1.9 | 2.2 | 2.1 | 
Euclidean|plain|euclidean|7.9 | 99.8 | 53.8 | 
MLP, negatives from the end|mlp-100|mlp|85.0 | 94.8 | 89.9 | 72.6
MLP, negatives from the end of the best 60 %|mlp-60|mlp| | | | 
`mlp` of the model|mlp|mlp| | | | 
END
}

clean() { # COLUMN WORDS: rows taken, and the percentages of clean ones and of their words
    bitext-rank -q --header --scol de --tcol en --column "$1" --top-words "$2" \
        -i "$output/scored.tsv.gz" | awk -F '\t' 'NR > 1 {
            n = split($1, word, " "); words += n; if ($3 == "clean") { rows++; kept += n } }
        END { printf "%d | %.1f | %.1f", NR - 1, 100 * rows / (NR - 1), 100 * kept / words }'
}
bleu() { # COLUMN WORDS: of the only seed, or the mean
    cat "$output/table2-$2.tsv" "$output/table5-$2.tsv" 2> /dev/null | awk -F '\t' -v name="$1" '
        $1 == name && (!found || $2 == "mean") { found = $5 }
        END { printf "%s", found ? found : "not run" }' || true
}
chosen_by() { # HEAD: the table of the scores in stdin, lines of title|column|theirs
    printf '| score | %s | AUC' "$1"
    for words in 240,000 400,000; do
        printf ' | %s words: rows | clean, %% of rows | of words | BLEU' $words
    done
    printf ' |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
    while IFS='|' read -r title name theirs; do
        printf '| %s | %s | ' "$title" "$theirs"
        ! there "$name" || scored | bitext-evaluate filtering -q --header --labels label \
            --column "$name" --bootstrap 1 |
            awk -F '\t' '$1 == "auc" && $2 == "all" { printf "%.3f", $3 }'
        for words in 240000 400000; do
            printf ' | '
            if there "$name"; then clean "$name" $words; else printf ' |  | '; fi
            printf ' | '
            bleu "$name" $words
        done
        echo ' |'
    done
}
selection() {
    chosen_by 'theirs, newstest2017/2018: 10M words; 100M' <<'END'
random|random|19.1/23.1; 23.2/29.3
Levenshtein|levenshtein|
pivot-based embedding|pivot|26.1/32.4; 30.0/37.5
NMT + LM, four models|nmt+lm|29.1/35.2; 31.3/38.2
translation, both directions|translation|
dual cross-entropy|dual|
cosine|cosine|23.0/28.4; 27.9/34.4
CSLS|csls|
MLP, the worst by cosine as negatives|mlp-100|29.2/35.4; 30.6/37.5
`mlp` of the model|mlp|
oracle: clean rows by chance|oracle|
END
}
negatives() {
    chosen_by 'theirs, newstest2016: 10M words' <<'END'
random|mlp-random|33.3
last of the best 20 %|mlp-20|29.9
40 %|mlp-40|33.3
60 %|mlp-60|33.7
80 %|mlp-80|32.1
100 %|mlp-100|25.7
END
}

shares() {
    printf '| score | 0.0000 | below .01 | .2 to .6 | .9 to .99 | .99 and more | in between |\n'
    printf '|---|---:|---:|---:|---:|---:|---:|\n'
    for name in cosine mlp-100 mlp-60 mlp; do
        ! there $name || scored | awk -F '\t' -v name="$name" '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) place = i; next }
            { score = name == "cosine" ? ($place + 1) / 2 : $place + 0
              rows++
              if (score < .00005) zero++
              if (score < .01) low++
              if (score >= .2 && score < .6) middle++
              if (score >= .9 && score < .99) high++
              if (score >= .99) top++
              if (score >= .01 && score < .99) rest++ }
            END { printf "| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", name,
                100 * zero / rows, 100 * low / rows, 100 * middle / rows, 100 * high / rows,
                100 * top / rows, 100 * rest / rows }'
    done
    printf '| theirs: MLP | about 80 | | | | 3.25 | |\n'
    [ -e "$output/plots" ] || ! python -c 'import matplotlib' 2> /dev/null ||
        scored | bitext-report -q --header --scol en --tcol de --label label --column cosine \
            --column mlp-100 --column mlp-60 --plots "$output/plots" -o "$output/report.html"
}

examples() { # on verses of the World English Bible and Luther's, both in the public domain
    folder=$output/examples
    mkdir -p "$folder"
    verses() { gzip -dc "$data/train/en-de/bible.tsv.gz" | head -n 30906; }
    if [ ! -e "$folder/scored.tsv" ]; then
        verses | awk 'NR % 4 == 0' > "$folder/positives.tsv"
        verses | awk 'NR % 4' | bitext-noise -q --languages en,de --rate all=0.5 > "$folder/noisy.tsv"
        [ -d "$folder/mlp" ] || bitext-train-classifier -q --model "$model" -o "$folder/mlp" \
            --noisy "$folder/noisy.tsv" --settings "$miniature/mlp.json" "$folder/positives.tsv" \
            > "$folder/mlp.log"
        { printf 'en\tde\tlabel\tcosine\tmlp\n'
          bitext-score -q --model "$folder/mlp" --similarity cosine,mlp --digits 9 -i "$folder/noisy.tsv"
        } > "$folder/scored.tsv.partial"
        mv "$folder/scored.tsv.partial" "$folder/scored.tsv"
    fi
    printf '| cosine, rank | MLP, rank | label | English | German |\n|---:|---:|---|---|---|\n'
    python "$recipe/disagreements.py" cosine mlp 3000 < "$folder/scored.tsv" | awk -F '\t' '
            { way = $1 > $2 }
            length($3 $4) <= 160 && taken[way] < 5 && !seen[way, $5]++ {  # short, and one of a label
                taken[way]++
                gsub(/\|/, "\\|")
                printf "| %.3f, %s | %.3f, %s | %s | %s | %s |\n", $6, $1, $7, $2, $5, $3, $4 }'
}

[ $# -gt 0 ] || set -- recovery selection negatives shares examples
for table; do
    printf '\n'
    case $table in
        recovery | selection | negatives | shares | examples) $table ;;
        *) echo "$0: no table is called $table" >&2; exit 1 ;;
    esac
done
