/* Sums and means of rows of tables: sentences as places of tokens, tokens as ids -> vectors.
 *
 * averages.py calls this, and computes the same bits in numpy. Every number is a sum of float32 in
 * the order of the text, rounded at each step; so no product may be fused with a sum.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif

#define CLONES "avx2"
#include "../io/wide.h"

/* A table of vectors as it is stored: see models/tensor_file.py. */
typedef struct {
    const void *numbers;
    const float *scales; /* of rows; NULL for float32 */
    int64_t bits;        /* of a number: 32, 8 or fewer */
    int64_t width;
} Table;

/* Rows, one behind the other: row k has lengths[k] numbers from starts[k] on. */
typedef struct {
    const int64_t *flat, *starts, *lengths;
} Rows;

WIDE static void add_row(const float *restrict row, int64_t width, float *restrict sum)
{
    for (int64_t k = 0; k < width; k++)
        sum[k] += row[k];
}

WIDE static void add_weighted(const float *restrict row, float weight, int64_t width,
                              float *restrict sum)
{
    for (int64_t k = 0; k < width; k++) {
        const float product = row[k] * weight;
        sum[k] += product;
    }
}

WIDE static void add_bytes(const int8_t *restrict row, float scale, int64_t width,
                           float *restrict sum)
{
    for (int64_t k = 0; k < width; k++) {
        const float number = (float)row[k] * scale;
        sum[k] += number;
    }
}

WIDE static void widen_bytes(const int8_t *restrict row, float scale, int64_t width,
                             float *restrict out)
{
    for (int64_t k = 0; k < width; k++)
        out[k] = (float)row[k] * scale;
}

/* Eight bytes, 0 or 1 each: the bits of a byte, the highest first. */
static uint64_t spread[256];

static void fill_spread(void)
{
    for (int byte = 0; byte < 256; byte++) {
        uint8_t each[8];
        for (int k = 0; k < 8; k++)
            each[k] = (uint8_t)(byte >> (7 - k) & 1);
        memcpy(&spread[byte], each, sizeof each);
    }
}

/* Planes of bits, the lowest first: number k is its place in the middle of all, times the scale. */
WIDE static void widen_bits(const uint8_t *restrict planes, int64_t bits, float scale,
                            int64_t width, float *restrict out)
{
    const float middle = (float)((1 << bits) - 1) / 2;
    for (int64_t k = 0; k < width / 8; k++) {
        uint64_t places = 0;
        for (int64_t bit = 0; bit < bits; bit++)
            places |= spread[planes[bit * (width / 8) + k]] << bit;
        uint8_t each[8];
        memcpy(each, &places, sizeof each);
        for (int i = 0; i < 8; i++)
            out[8 * k + i] = ((float)each[i] - middle) * scale;
    }
}

/* Of the form of all arguments: the same number stands in averages.py. */
int64_t averages_layout(void)
{
    fill_spread();
    return 1;
}

/* Write the sums of the vectors of the ids of rows first to last, each row's at its place in sums.
 * weights: a factor of each of the flat ids, or NULL. Returns 0, or 1 without memory.
 */
int64_t averages_sum(const Table *table, const Rows *rows, const float *weights, int64_t first,
                     int64_t last, float *sums)
{
    const int64_t width = table->width, bits = table->bits;
    float *wide = malloc((size_t)width * sizeof *wide);
    if (!wide)
        return 1;
    for (int64_t n = first; n < last; n++) {
        float *sum = sums + n * width;
        memset(sum, 0, (size_t)width * sizeof *sum);
        for (int64_t at = rows->starts[n]; at < rows->starts[n] + rows->lengths[n]; at++) {
            const int64_t id = rows->flat[at];
            const float *row = wide;
            if (bits == 32)
                row = (const float *)table->numbers + id * width;
            else if (bits == 8 && !weights) {
                add_bytes((const int8_t *)table->numbers + id * width, table->scales[id], width, sum);
                continue;
            } else if (bits == 8)
                widen_bytes((const int8_t *)table->numbers + id * width, table->scales[id], width,
                            wide);
            else
                widen_bits((const uint8_t *)table->numbers + id * bits * (width / 8), bits,
                           table->scales[id], width, wide);
            if (weights)
                add_weighted(row, weights[at], width, sum);
            else
                add_row(row, width, sum);
        }
    }
    free(wide);
    return 0;
}

WIDE static void divide(float *restrict out, int64_t width, float tokens, float each)
{
    for (int64_t k = 0; k < width; k++) {
        const float mean = out[k] / tokens;
        out[k] = mean / each;
    }
}

/* Write the means of the sums of tokens, over rows first to last, divided by the mean number of ids
 * of these tokens; row n's vector at out + n * pitch. Rows are not empty.
 */
void averages_mean(const float *sums, int64_t width, const int64_t *ids, const Rows *rows,
                   int64_t first, int64_t last, float *out, int64_t pitch)
{
    for (int64_t n = first; n < last; n++) {
        float *vector = out + n * pitch;
        float count = 0;
        memset(vector, 0, (size_t)width * sizeof *vector);
        for (int64_t at = rows->starts[n]; at < rows->starts[n] + rows->lengths[n]; at++) {
            const int64_t token = rows->flat[at];
            add_row(sums + token * width, width, vector);
            count += (float)ids[token];
        }
        const float tokens = (float)rows->lengths[n];
        divide(vector, width, tokens, count / tokens);
    }
}
