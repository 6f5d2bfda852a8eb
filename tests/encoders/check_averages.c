/* Averages random rows of random tables, each array in memory of its own size: for sanitizers. */
#include <stdio.h>

#include "averages.c"

static uint64_t state = 7;

static int64_t below(int64_t count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)count);
}

static float *numbers(int64_t count)
{
    float *made = malloc((size_t)count * sizeof *made);
    for (int64_t k = 0; k < count; k++)
        made[k] = (float)below(2000) / 1000 - 1;
    return made;
}

static int64_t *integers(int64_t count, int64_t bound)
{
    int64_t *made = malloc((size_t)count * sizeof *made);
    for (int64_t k = 0; k < count; k++)
        made[k] = below(bound);
    return made;
}

static Rows rows_of(int64_t count, int64_t bound, int64_t *total)
{
    int64_t *lengths = integers(count, 9), *starts = integers(count, 1);
    *total = 0;
    for (int64_t k = 0; k < count; k++) {
        starts[k] = *total;
        *total += ++lengths[k];
    }
    return (Rows){integers(*total, bound), starts, lengths};
}

static void free_rows(Rows rows)
{
    free((void *)rows.flat);
    free((void *)rows.starts);
    free((void *)rows.lengths);
}

static void average(int64_t bits)
{
    const int64_t ids = 20, tokens = 30, sentences = 12;
    const int64_t width = bits < 8 ? 8 * (1 + below(5)) : 1 + below(40), pitch = width + below(3);
    int64_t total, many;
    const int64_t bytes = ids * (bits == 32 ? 4 * width : bits * width / 8);
    float *table = numbers(bytes / 4 + 1), *scales = numbers(ids);
    char *stored = malloc((size_t)bytes);
    memcpy(stored, table, (size_t)bytes);
    const Table given = {stored, bits == 32 ? NULL : scales, bits, width};
    Rows read = rows_of(tokens, ids, &total), said = rows_of(sentences, tokens, &many);
    float *weights = numbers(total), *sums = numbers(tokens * width);
    float *out = numbers((sentences - 1) * pitch + width);
    for (int with = 0; with < 2; with++) {
        if (averages_sum(&given, &read, with ? weights : NULL, 0, 7, sums)
            || averages_sum(&given, &read, with ? weights : NULL, 7, tokens, sums))
            exit(1);
        averages_mean(sums, width, read.lengths, &said, 0, sentences, out, pitch);
    }
    free_rows(read);
    free_rows(said);
    free(table);
    free(stored);
    free(scales);
    free(weights);
    free(sums);
    free(out);
}

int main(void)
{
    const int64_t bits[] = {32, 8, 4, 3};
    if (averages_layout() != 1)
        return 1;
    for (int k = 0; k < 80; k++)
        average(bits[k % 4]);
    puts("done");
    return 0;
}
