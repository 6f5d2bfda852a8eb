/* Vectors scaled to length 1, and products of such rows: vectors.py says why no sum is rounded.
 *
 * So sums may be added in any order here, eight at a time; everything else is a number at a time.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif

#define CLONES "avx512f", "avx2"
#include "../io/wide.h"

#define LANES 16
#define GRID_BITS 26
#define UNIT_BITS 24

/* Of the form of all arguments: the same number stands in vectors.py. */
int64_t vectors_layout(void)
{
    return 1;
}

/* The largest magnitude. */
WIDE static double largest(const float *restrict row, int64_t width)
{
    float tops[LANES] = {0}, top = 0;
    int64_t k = 0;
    for (; k + LANES <= width; k += LANES)
        for (int64_t v = 0; v < LANES; v++) {
            const float size = fabsf(row[k + v]);
            tops[v] = size > tops[v] ? size : tops[v];
        }
    for (; k < width; k++)
        tops[0] = fabsf(row[k]) > tops[0] ? fabsf(row[k]) : tops[0];
    for (int64_t v = 0; v < LANES; v++)
        top = tops[v] > top ? tops[v] : top;
    return top;
}

/* The row on its grid, and the sum of its squares. */
WIDE static double put_on_grid(const float *restrict row, double anchor, int64_t width,
                               double *restrict grid)
{
    double sums[LANES] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + LANES <= width; k += LANES)
        for (int64_t v = 0; v < LANES; v++) {
            const double number = ((double)row[k + v] + anchor) - anchor;
            grid[k + v] = number;
            sums[v] += number * number;
        }
    for (; k < width; k++) {
        grid[k] = ((double)row[k] + anchor) - anchor;
        sums[0] += grid[k] * grid[k];
    }
    for (int64_t v = 0; v < LANES; v++)
        sum += sums[v];
    return sum;
}

WIDE static void scale(const double *restrict grid, double norm, int64_t width, float *restrict out)
{
    const double anchor = ldexp(1.5, 52 - UNIT_BITS);
    for (int64_t k = 0; k < width; k++) {
        const double number = grid[k] / norm;
        out[k] = (float)((number + anchor) - anchor);
    }
}

/* Write rows first to last scaled to length 1, on the grid of units. Returns 0, or 1 without
 * memory. */
int64_t vectors_units(const float *rows, int64_t width, int64_t first, int64_t last, float *out)
{
    double *grid = malloc((size_t)(width ? width : 1) * sizeof *grid);
    if (!grid)
        return 1;
    for (int64_t n = first; n < last; n++) {
        int exponent = 0;
        frexp(largest(rows + n * width, width) * sqrt((double)width), &exponent);
        const double anchor = ldexp(1.5, 52 + exponent - GRID_BITS);
        const double norm = sqrt(put_on_grid(rows + n * width, anchor, width, grid));
        scale(grid, norm > 0 ? norm : 1, width, out + n * width);
    }
    free(grid);
    return 0;
}

/* The products of rows i[n] of a and j[n] of b, both units. */
WIDE void vectors_products(const float *a, const float *b, const int64_t *i, const int64_t *j,
                           int64_t width, int64_t first, int64_t last, double *out)
{
    for (int64_t n = first; n < last; n++) {
        const float *restrict left = a + i[n] * width, *restrict right = b + j[n] * width;
        double sums[LANES] = {0}, sum = 0;
        int64_t k = 0;
        for (; k + LANES <= width; k += LANES)
            for (int64_t v = 0; v < LANES; v++)
                sums[v] += (double)left[k + v] * (double)right[k + v];
        for (; k < width; k++)
            sums[0] += (double)left[k] * (double)right[k];
        for (int64_t v = 0; v < LANES; v++)
            sum += sums[v];
        out[n] = sum;
    }
}
