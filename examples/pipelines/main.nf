// Cleans, scores and ranks data sets: nextflow run examples/pipelines/main.nf
// Each file of --corpus becomes cleaned/NAME.best.tsv.

params.corpus = "examples/pairs.*.tsv"
params.languages = "en,de"
params.model = "en-de"
params.out = "cleaned"

process CLEAN {
    publishDir params.out, pattern: "*.dropped.tsv", mode: "copy"
    cpus 2

    input:
    path corpus

    output:
    path "${corpus.baseName}.kept.tsv.gz", emit: kept
    path "${corpus.baseName}.dropped.tsv"

    script:
    """
    set -o pipefail
    bitext-fix --threads ${task.cpus} --input ${corpus} \
        | bitext-filter --threads ${task.cpus} --languages ${params.languages} --rejects ${corpus.baseName}.dropped.tsv \
        | bitext-dedup --match normalised --output ${corpus.baseName}.kept.tsv.gz
    """
}

process SCORE {
    cpus 4

    input:
    path kept

    output:
    path "${kept.name.replace('.kept', '.scored')}"

    script:
    """
    bitext-score --threads ${task.cpus} --model ${params.model} --input ${kept} --output ${kept.name.replace('.kept', '.scored')}
    """
}

process RANK {
    publishDir params.out, mode: "copy"

    input:
    path scored

    output:
    path "${scored.name.replace('.scored.tsv.gz', '.best.tsv')}"

    script:
    """
    bitext-rank --min-score balanced --model ${params.model} --input ${scored} --output ${scored.name.replace('.scored.tsv.gz', '.best.tsv')}
    """
}

workflow {
    CLEAN(channel.fromPath(params.corpus))
    SCORE(CLEAN.out.kept)
    RANK(SCORE.out)
}
