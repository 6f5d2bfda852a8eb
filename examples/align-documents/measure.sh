#!/usr/bin/env bash
# Align the development documents, and measure the links where gold links exist.
#
#     examples/align-documents/measure.sh DATA [TEST]
#
# DATA/dev/align has bleualign.dev.de, .fr and their gold links .defr, and *.jsonl.tsv.gz: a name, an
# English text and a German one, as JSON strings. Writes strict and lax figures by the de-fr model,
# without and with its classifier, by words and by lengths; then, for each file of English and German
# texts, how many documents and links there are, and what looks wrong, by the default model.
#
# TEST is the folder bleualign_data of vecalign's repository, with the test part (test0.de, test0.fr,
# test0.defr to test6): strict and lax figures by de-fr and multi.
set -euo pipefail

data=$1/dev/align
gold=$data/bleualign.dev.defr
for by in "model --model de-fr" "model --model de-fr --classifier" words length; do
    # shellcheck disable=SC2086  # words
    bitext-align-documents -q --links --by $by \
        "$data/bleualign.dev.de" "$data/bleualign.dev.fr" |
        bitext-evaluate alignment -q "$gold" |
        awk -F '\t' -v OFS='\t' -v by="$by" 'NR > 1 { print by, $1, $2, $3, $4, $5 }'
done
for file in "$data"/*.en-de.jsonl.tsv.gz; do
    gzip -dc "$file" |
        awk -F '\t' '{ printf "{\"name\": \"%s\", \"source\": %s, \"target\": %s}\n", $1, $2, $3 }' |
        bitext-align-documents --documents - --on-error reject 2>&1 >/dev/null
done
if [ $# -gt 1 ]; then
    found=$(mktemp -d)
    trap 'rm -r "$found"' EXIT
    for by in "--model de-fr" "--model multi --languages de,fr"; do
        pairs=()
        for number in 0 1 2 3 4 5 6; do
            # shellcheck disable=SC2086  # words
            bitext-align-documents -q --links $by "$2/test$number.de" "$2/test$number.fr" \
                >"$found/$number.links"
            pairs+=("$2/test$number.defr" "$found/$number.links")
        done
        bitext-evaluate alignment -q "${pairs[@]}" |
            awk -F '\t' -v OFS='\t' -v by="$by" 'NR > 1 { print "test " by, $1, $2, $3, $4, $5 }'
    done
fi
