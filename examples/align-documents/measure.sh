#!/usr/bin/env bash
# Align the development documents, and measure the links where gold links exist.
#
#     examples/align-documents/measure.sh DATA
#
# DATA/dev/align has bleualign.dev.de, .fr and their gold links .defr, and *.jsonl.tsv.gz: a name, an
# English text and a German one, as JSON strings. Writes strict and lax figures by the de-fr model,
# without and with its classifier, by words and by lengths; then, for each file of English and German
# texts, how many documents and links there are, and what looks wrong, by the default model.
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
