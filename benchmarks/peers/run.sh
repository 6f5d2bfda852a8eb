#!/bin/sh
# Put bitextfilter beside its peers, on the same open sets, in one run: docs/compare.md.
#
#     benchmarks/peers/run.sh DATA [OUT]
#
# Writes OUT/results.tsv (table, set, system, figure, value), OUT/tables.md and, once, OUT/venv with the pinned packages.
# OUT is peers without it.
#   ROWS, 300: the first rows of each set that the slow encoder E5 reads, and all others in the same table
#   PARTS: which of "recovery sample crawl documents speed" to measure; others stay as they are in results.tsv
#   SYSTEMS: which systems to measure anew; others stay
#   HUNALIGN: the program hunalign; VECALIGN: a checkout of vecalign. Neither is in a registry; without them their rows are missing
set -eu

data=$1 out=${2:-peers}
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
mkdir -p "$out"
out=$(cd "$out" && pwd)
python=$out/venv/bin/python
if [ ! -e "$out/venv/installed" ]; then
    python3 -m venv "$out/venv"
    "$python" -m pip install -q -c "$root/constraints.txt" torch numpy
    "$python" -m pip install -q -c "$root/constraints.txt" -r "$here/requirements.txt" -e "$root[use,e5]"
    # Its own requirements are a fork of fastText and language identifiers whose models are downloaded, and are left out.
    "$python" -m pip install -q --no-deps bicleaner-hardrules==2.10.8 PyYAML==6.0.3
    [ -z "${VECALIGN:-}" ] || "$python" -m pip install -q cython scipy
    [ -z "${VECALIGN:-}" ] || "$python" -m pip install -q --no-deps "$VECALIGN"
    touch "$out/venv/installed"
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PATH=$out/venv/bin:$PATH "$python" "$here/measure.py" "$data" "$out"
