#!/bin/sh
# Wieting, Mallinson & Gimpel 2017 in small, with translations: their tables 4 to 13.
#
#     examples/back-translated-paraphrases/tables.sh DATA TRANSLATOR OUTPUT [TABLE...]
#
# Translates the other side of bitext in DATA/train/en-SOURCE by TRANSLATOR, a model of
# bitext-train-translator from that language into English, and trains AVG and GRAN
# (../papers/paper2.toml) on SAMPLE pairs of reference and translation a setting. Bounds are tuned on
# DATA/dev/sts/sts2016.*, and only what is best there is measured on DATA/test/sts (STS 2012 to 2015,
# SICK 2014). Prints Markdown tables: those named, of 4 to 13, or all. What is finished in OUTPUT is
# kept: after an interruption the same command goes on. In the environment:
#   SOURCE      the language that is translated (de)
#   CORPORA     files of DATA/train/en-SOURCE, without .tsv.gz ("europarl bible tatoeba")
#   ROWS        most rows of each (60000)
#   SAMPLE      pairs a setting (24000)
#   HELD_OUT    references of the language model (40000), which are not translated
#   CLASSIFIER  references of the classifier (50000), with N_BEST translations each (4)
#   DEVELOPMENT pairs that say which network of a training is kept (1000)
#   ARCHITECTURES "avg", "gran" or both ("avg gran"): what is trained; tables show what there is
#   BEAM        hypotheses of the search (5; theirs is 50)
#   THREADS     of the translator and the classifier (1);  PROCESSES  of bitext-tune (1)
# OUTPUT gets, among others:
#   pool.tsv      the pairs to choose from: rows of bitext-paraphrase make, and P(reference)
#   NAME.tsv      the table of bitext-tune of a filter, and NAME.ARCHITECTURE.sts of its best point
set -eu

data=$1
translator=$2
output=$3
shift 3
recipe=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../papers/common.sh
. "$recipe/../papers/common.sh"

score=4 length=5 overlap=5 bleu=9 probability=10 # columns; overlap is that of n = 0
chunk=10000                                      # rows translated between two that are kept

bitext() { # shuffled.tsv: English and the source, each English sentence once
    [ -s "$output/shuffled.tsv" ] && return
    for corpus in ${CORPORA:-europarl bible tatoeba}; do
        gzip -dc "$data/train/en-${SOURCE:-de}/$corpus.tsv.gz" |
            awk -F '\t' -v OFS='\t' '$1 ~ /[^ ]/ && $2 ~ /[^ ]/ && !seen[$1]++ { print $1, $2 }' \
                > "$output/corpus.tsv"
        sample "${ROWS:-60000}" "$output/corpus.tsv"
    done | awk -F '\t' -v OFS='\t' '
        BEGIN { state = 7 }
        !seen[$1]++ { state = state * 16807 % 2147483647; print state, $0 }' |
        sort -n | cut -f 2- > "$output/shuffled.tsv.partial"
    rm "$output/corpus.tsv"
    mv "$output/shuffled.tsv.partial" "$output/shuffled.tsv"
}

translated() { # NAME ROWS K: NAME.tsv: some rows, chunk by chunk, with their K best translations
    [ -s "$output/$1.tsv" ] && return
    mkdir -p "$output/$1.parts"
    split -l "$chunk" "$2" "$output/$1.parts/in-"
    for part in "$output/$1.parts"/in-*; do
        made=$output/$1.parts/out-${part##*-}
        [ -s "$made" ] || bitext-paraphrase make -q --translator "$translator" --scol 2 --tcol 1 \
            --n-best "$3" --beam "$(($3 > ${BEAM:-5} ? $3 : ${BEAM:-5}))" --threads "$threads" \
            -i "$part" -o "$made"
    done
    cat "$output/$1.parts"/out-* > "$output/$1.tsv.partial"
    mv "$output/$1.tsv.partial" "$output/$1.tsv"
    rm -r "$output/$1.parts"
}

material() { # held-out.txt, classifier.tsv, dev.tsv, unscored.tsv: no sentence is in two of them
    bitext
    held=${HELD_OUT:-40000} known=${CLASSIFIER:-50000} watched=${DEVELOPMENT:-1000}
    [ -s "$output/held-out.txt" ] ||
        head -n "$held" "$output/shuffled.tsv" | cut -f 1 > "$output/held-out.txt"
    tail -n "+$((held + 1))" "$output/shuffled.tsv" > "$output/rest.tsv"
    head -n "$known" "$output/rest.tsv" > "$output/classifier.rows"
    tail -n "+$((known + 1))" "$output/rest.tsv" | head -n "$watched" > "$output/dev.rows"
    tail -n "+$((known + watched + 1))" "$output/rest.tsv" > "$output/pool.rows"
    rm "$output/rest.tsv"
    [ -s "$output/pool.rows" ] || { echo "$0: too few rows are left to choose from" >&2; exit 1; }
    translated classifier "$output/classifier.rows" "${N_BEST:-4}"
    translated dev "$output/dev.rows" 1
    translated unscored "$output/pool.rows" 1
}

classifiers() { # NAME/ and NAME.accuracy for each architecture and kind of negatives
    for architecture in lstm averaging; do
        for negatives in random hardest; do
            name=$architecture-$negatives
            [ -s "$output/$name.accuracy" ] && continue
            bitext-paraphrase train -q --threads "$threads" --architecture "$architecture" \
                --set training.negatives="$negatives" -o "$output/$name" "$output/classifier.tsv" \
                > "$output/$name.accuracy.partial"
            mv "$output/$name.accuracy.partial" "$output/$name.accuracy"
        done
    done
}

pool() { # pool.tsv, with P(reference), and the language model of references
    material
    classifiers
    measure pool.tsv bitext-paraphrase score --model "$output/lstm-random" -i "$output/unscored.tsv"
    [ -s "$output/held-out.arpa" ] || bitext-train-language-model -q \
        -i "$output/held-out.txt" -o "$output/held-out.arpa"
}

tune() { # NAME: train and measure at every point of stdin, rules of bitext-tune
    name=$1
    case " ${ARCHITECTURES:-avg gran} " in
        ' avg ') trained='["word", 20]' ;;
        ' gran ') trained='["gran", 3]' ;;
        *) trained='["word", 20], ["gran", 3]' ;;
    esac
    { sed -e "s/^sample.*/sample = ${SAMPLE:-24000}/" -e '/^\[\[rule\]\]/,$d' \
        -e "s/^\"architecture.*/\"architecture,training.passes\" = [$trained]/" \
        "$recipe/../papers/paper2.toml"; cat; } > "$output/$name.toml"
    set --
    for file in "$data"/dev/sts/sts2016.*.tsv; do set -- "$@" --sts "$file"; done
    bitext-tune "$output/$name.toml" -q --processes "${PROCESSES:-1}" --languages en,en \
        --pairs "$output/pool.tsv" --development "$output/dev.tsv" "$@" \
        --models "$output/$name.models" -o "$output/$name.tsv" < /dev/null
}

points() { # NAME ARCHITECTURE: its points, best first: point, bounds, pairs, development Pearson
    awk -F '\t' -v wanted="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
        $place["architecture"] == wanted && $place["pearson"] != "" {
            low = high = ""
            for (name in place) if (name ~ /\.minimum$/) low = $place[name]
            for (name in place) if (name ~ /\.maximum$/) high = $place[name]
            bounds = (low == "" || low == "none" ? "" : low) "–" (high == "none" || high >= 1e9 ? "" : high)
            print $place["point"], bounds, $place["trained_pairs"], $place["pearson"]
        }' "$output/$1.tsv"
}

tested() { # NAME POINT: mean Pearson of a point over the test sets
    measure "$1.$2.sts" bitext-evaluate sts --bootstrap 1 --model "$output/$1.models/$2" \
        "$data"/test/sts/sts201[2-5].*.tsv "$data/test/sts/sick2014.tsv"
    awk -F '\t' '$1 == "mean" { printf "%.1f", $5 }' "$output/$1.$2.sts"
}

row() { # TITLE NAME BOUNDS THEIRS: the best points of AVG and GRAN (of these bounds, if any)
    line="| $1 |"
    for architecture in word gran; do
        found=$(points "$2" "$architecture" | awk -v b="$3" 'b == "" || $2 == b' | head -n 1)
        if [ -z "$found" ]; then line="$line - | - | - | - |"; continue; fi
        # shellcheck disable=SC2086  # four words
        set -- "$1" "$2" "$3" "$4" $found
        line="$line $(tested "$2" "$5") | $(printf '%.1f' "$8") | $6 | $7 |"
        set -- "$1" "$2" "$3" "$4"
    done
    echo "$line $4 |"
}

forget() { # NAME...: the models of grids of which the best are measured
    for name; do rm -rf "$output/$name.models"; done
}

head_of() { # TITLE: the head of a table of trained encoders
    printf '\n| %s | AVG: test | development | bounds | pairs | GRAN: test | development | bounds ' "$1"
    printf '| pairs | theirs: AVG | GRAN |\n|---|---:|---:|---|---:|---:|---:|---|---:|---:|---:|\n'
}

rule() { # NAME [KEY=VALUE...]: a rule of a grid
    printf '[[rule]]\nname = "%s"\n' "$1"
    shift
    printf '%s\n' "$@"
}

bounded() { # RULE [KEY=VALUE...]: by every lower and upper bound of diversity
    rule "$@" 'minimum = [0, 0.1, 0.2, 0.3]' 'maximum = [0.6, 0.7, 0.8, 0.9, 1.0]'
}

by_length() { # all ranges of both tables
    rule column "column = $length" '"minimum,maximum" = [' \
        '[0, 10], [0, 15], [0, 20], [0, 30], [0, 100], [10, 20], [10, 30], [10, 100], [15, 25],' \
        '[15, 30], [15, 100], [20, 30], [20, 100], [30, 100]]' | tune by-length
}

table_4() {
    tune random < /dev/null
    head_of 'source'
    row "${SOURCE:-de}, ${CORPORA:-europarl bible tatoeba}" random '' '- | -'
    cat <<'END'
| theirs: cs, Common Crawl; Europarl; News | | | | | | | | | 65.4; 65.1; 65.1 | 65.5; 66.5; 67.2 |
| de, Common Crawl; Europarl; News | | | | | | | | | 66.2; 65.6; 64.7 | 66.5; 67.2; 66.5 |
| fr, Common Crawl; Europarl; Giga; News | | | | | | | | | 66.1; 65.7; 65.9; 65.2 | 67.3; 67.8; 67.4; 67.0 |
END
}

table_5() {
    by_length
    head_of 'words of the translation'
    while read -r bounds theirs; do
        row "$bounds" by-length "$bounds" "$theirs"
    done <<'END'
0–10 65.7 | 66.6
10–20 65.6 | 66.5
20–30 65.3 | 66.0
30–100 65.0 | 64.8
END
}

table_6() {
    tune random < /dev/null
    by_length
    head_of 'choice'
    row random random '' '65.5 | 66.9'
    row 'tuned length' by-length '' '66.0 | 67.3'
}

table_7() {
    rule column "column = $score" 'minimum = [-0.2, -0.4, -0.6, -0.8, -1.0]' | tune by-cost
    rule perplexity "target = \"$output/held-out.arpa\"" \
        'maximum = [25, 50, 75, 100, 150, 200, 1e9]' | tune by-perplexity
    rule column "column = $probability" \
        'minimum = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]' | tune by-classifier
    head_of 'quality'
    row 'translation cost (bounds of the score)' by-cost '' '65.4 | 66.6'
    row 'language model' by-perplexity '' '65.5 | 66.7'
    row 'reference classifier' by-classifier '' '65.5 | 67.0'
    forget by-cost by-perplexity by-classifier
}

table_8() {
    printf '\n| classifier, negatives | references | translations | total |\n|---|---:|---:|---:|\n'
    for name in lstm-random lstm-hardest averaging-random averaging-hardest; do
        awk -F '\t' -v name="$name" '
            NR > 1 { figure[$1] = sprintf("%.1f", $2) }
            END { print "| " name " | " figure["references"] " | " figure["translations"] " | " \
                figure["total"] " |" }' "$output/$name.accuracy"
    done
    echo '| theirs: LSTM | | | 72.2–93.1 |'
    echo '| theirs: averaging | | | 71.2–92.5 |'
}

analysed() {
    measure analysis bitext_analyse
}

bitext_analyse() { # measure gives --threads, which this command has not
    bitext-paraphrase analyse -q --probability "$probability" -i "$output/pool.tsv"
}

table_9() {
    analysed
    printf '\n| figure | references | translations | difference | theirs |\n|---|---:|---:|---:|---:|\n'
    awk -F '\t' '
        BEGIN { theirs["entropy"] = "+0.46"; theirs["trigram_entropy"] = "+0.74"
                theirs["repetition"] = "-2.80"; theirs["trigram_repetition"] = "-2.26" }
        $1 in theirs { printf "| %s | %.2f | %.2f | %+.2f | %s |\n", $1, $2, $3, $4, theirs[$1] }' \
        "$output/analysis"
}

table_10() {
    analysed
    printf '\n| P(reference) and | Spearman | sentences | theirs |\n|---|---:|---:|---:|\n'
    awk -F '\t' '
        BEGIN { theirs["repetition"] = "-35.1"; theirs["trigram_repetition"] = "-18.4"
                theirs["idf"] = "27.8"; theirs["length"] = "-34.0" }
        $1 in theirs { printf "| %s | %.1f | %d | %s |\n", $1, $5, $6, theirs[$1] }' \
        "$output/analysis"
}

table_11() {
    printf '\n| P(reference) | reference | translation |\n|---:|---|---|\n'
    for order in -r ''; do # shellcheck disable=SC2086  # an option or none
        sort -t "$(printf '\t')" -k "$probability,$probability"n $order "$output/pool.tsv" |
            awk -F '\t' -v place="$probability" '
                $place != "" && length($1 $2) <= 160 && rows++ < 5 {
                    gsub(/\|/, "\\|"); print "| " $place " | " $1 " | " $2 " |" }'
    done
}

table_12() {
    for order in 1 2 3; do
        bounded column "column = $((overlap + order))" | tune "overlap$order"
    done
    bounded column "column = $bleu" | tune bleu
    head_of 'diversity'
    row 'overlap, n = 1' overlap1 '' '66.1 | 66.6'
    row 'overlap, n = 2' overlap2 '' '65.5 | 67.0'
    row 'overlap, n = 3' overlap3 '' '65.4 | 66.9'
    row 'BLEU' bleu '' '65.3 | 67.1'
    forget overlap1 overlap2 overlap3 bleu
}

table_13() { # by an eighth of the pairs, a quarter, a half, all
    head_of 'pairs'
    every=$(wc -l < "$output/pool.tsv")
    for part in 8 4 2 1; do
        (SAMPLE=$((every / part)) && tune "of-$part" < /dev/null)
        row "$((every / part))" "of-$part" '' '- | -'
        forget "of-$part"
    done
    cat <<'END'
| theirs: 100,000, cs; 168,000, de | | | | | | | | | -; 67.6 | 68.5; - |
END
}

[ $# -gt 0 ] || set -- 4 5 6 7 8 9 10 11 12 13
for number; do
    case $number in
        4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13) ;;
        *) echo "$0: there is no table $number here" >&2; exit 2 ;;
    esac
done
pool
for number; do "table_$number"; done
forget by-length random
