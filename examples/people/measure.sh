#!/bin/sh
# Measure scores by people's labels, and by mistakes that others made.
#
#     examples/people/measure.sh DATA MODEL [LANGUAGE...]
#
# MODEL is a model of English and another language, or of many; LANGUAGEs are the others (all that
# DATA has labels for, if none is said). Writes tab-separated lines: the set, the measure, the figure and the
# ends of its 95 % interval:
#   crawl.XX          AUC of rows of a crawl that people call a valid or free translation, against
#                     those they call misaligned or in a wrong language
#   crawl-all.XX      the same against every fault: also translation errors, machine translation and
#                     bad tokenisation
#   demetr.XX         the share of the single mistakes of DEMETR that lower the score: mean of 35 kinds
#   demetr.XX.KIND    each kind
#   catastrophic.XX   AUC of translations without against those with a critical error
#   mlqe.XX           Spearman's correlation with human ratings of machine translations, times 100
# In the environment, MEASURE is the measure (the model's default) and THREADS how many threads compute.
set -eu

data=$1 model=$2
shift 2
THREADS="${THREADS:-$(getconf _NPROCESSORS_ONLN)}"
MEASURE=${MEASURE:-$(bitext-models show "$model" | sed -n 's/^default measure[[:space:]]*//p')}
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

of() { # SOURCE TARGET: the model, opened for these languages where it has more than two
    case $(bitext-models show "$model" | sed -n 's/^languages[[:space:]]*//p') in
        *,*,*) echo "$model:$1,$2" ;;
        *) echo "$model" ;;
    esac
}
auc() { # NAME: of a TSV of a label (clean or not) and a pair, in $work/rows
    bitext-score -q --model "$opened" --similarity "$MEASURE" --threads "$THREADS" --scol 2 --tcol 3 "$work/rows" |
        bitext-evaluate filtering -q --labels 1 --column -1 - |
        awk -F '\t' -v OFS='\t' -v name="$1" '$1 == "auc" && $2 == "all" { print name, "AUC", $3, $4, $5 }'
}

if [ $# = 0 ]; then
    for file in "$data"/dev/crawl/paracrawl.en-*.tsv; do
        name=${file##*/paracrawl.en-}
        set -- "$@" "${name%.tsv}"
    done
fi
for language; do
    code=$language
    [ "$code" != nb ] || code=no
    opened=$(of en "$code")
    crawl=$data/dev/crawl/paracrawl.en-$language.tsv
    if [ -e "$crawl" ]; then
        awk -F '\t' -v OFS='\t' '/^[VFAL]\t/ { print ($1 ~ /[VF]/ ? "clean" : "noise"), $3, $4 }' \
            "$crawl" > "$work/rows"
        auc "crawl.$language"
        awk -F '\t' -v OFS='\t' '{ print ($1 ~ /^[VF]$/ ? "clean" : "noise"), $3, $4 }' \
            "$crawl" > "$work/rows"
        auc "crawl-all.$language"
    fi
    errors=$data/dev/quality/catastrophic.en-$language.tsv
    if [ -e "$errors" ]; then
        awk -F '\t' -v OFS='\t' '{ print ($1 == "NOT" ? "clean" : "noise"), $(NF - 1), $NF }' \
            "$errors" > "$work/rows"
        auc "catastrophic.$language"
    fi
    ratings=$data/dev/quality/mlqe.en-$language.tsv
    if [ -e "$ratings" ]; then
        bitext-score -q --model "$opened" --similarity "$MEASURE" --threads "$THREADS" --scol 3 --tcol 4 "$ratings" |
            bitext-evaluate sts -q --human 2 --column -1 - |
            awk -F '\t' -v OFS='\t' -v name="mlqe.$language" 'NR == 2 { print name, "Spearman", $8, $9, $10 }'
    fi
    contrasts=$data/dev/contrast/demetr.$language-en.tsv.xz
    if [ -e "$contrasts" ]; then
        bitext-evaluate contrasts -q --model "$opened" --similarity "$MEASURE" --threads "$THREADS" \
            --scol 3 --tcol 2 --worse-scol 4 --kinds 1 "$contrasts" |
            awk -F '\t' -v OFS='\t' -v name="demetr.$language" 'NR > 1 {
                print ($1 == "mean" ? name : name "." $1), "lower", $2, $3, $4 }'
    fi
done
