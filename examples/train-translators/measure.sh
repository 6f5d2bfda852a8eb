#!/bin/sh
# BLEU and chrF of a German-English translator on two test sets, by sacreBLEU, with signatures.
#
#     examples/train-translators/measure.sh DATA MODEL [BEAM...]
#
# Translates test/captions2016.en-de and test/newstest2021.de-en of DATA by beams of 5 and of 1, or by
# those named, and prints a TSV: test set, beam, measure, score, signature. Needs
# `pip install 'bitextfilter[bleu]'`. THREADS in the environment is how many threads compute (all cores).
set -eu

data=$1
model=$2
shift 2
[ $# -gt 0 ] || set -- 5 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in captions2016.en-de newstest2021.de-en; do
    case $name in *.en-de) german=2 english=1 ;; *) german=1 english=2 ;; esac
    cut -f "$german" "$data/test/$name.tsv" > "$work/source"
    cut -f "$english" "$data/test/$name.tsv" > "$work/reference"
    for beam; do
        bitext-translate -q --model "$model" --beam "$beam" ${THREADS:+--threads "$THREADS"} \
            < "$work/source" > "$work/translations"
        sacrebleu "$work/reference" -i "$work/translations" -m bleu chrf --width 2 -f text |
            sed -n 's/^ *\(BLEU\|chrF2\)|\([^ ]*\) = \([0-9.]*\).*/\1\t\3\t\1|\2/p' |
            sed "s/^/$name\t$beam\t/"
    done
done
