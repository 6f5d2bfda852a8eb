/* Rounds and searches random rows, each array in memory of its own size: for sanitizers. */
#include <stdio.h>
#include <stdlib.h>

#include "nearest_rows.c"

static uint64_t state = 7;

static float number(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)((state >> 33) % 2001) / 1000.0f - 1;
}

static void *claim(int64_t count, size_t size)
{
    return calloc((size_t)count, size);
}

static Side side_of(int s, int64_t rows, int64_t dim, int64_t split, int64_t k, Search *search)
{
    const int64_t width = s ? COLUMNS : ROWS, tiles = (rows + width - 1) / width * width;
    float *units = claim(rows * dim, sizeof *units);
    for (int64_t at = 0; at < rows * dim; at++)
        units[at] = number() / sqrtf((float)dim);
    uint8_t *beyond = claim(rows, 1);
    Rounding how = {dim, split, search->head, search->tail, search->spares, {0.01f, 0.008f},
                    (uint8_t)(128 * s), width, claim(tiles * search->head, 1),
                    claim(rows * search->tail, 1), claim(tiles, 4), claim(2 * rows, 4),
                    claim(4 * rows, 4), beyond};
    memset(how.heads, how.flip, (size_t)(tiles * search->head));
    memset(how.tails, how.flip, (size_t)(rows * search->tail));
    nearest_rows_round(&how, units, 0, rows);
    float *loose = claim(rows, 4), *floors = claim(rows, 4), *cosines = claim(rows * k, 4);
    int32_t *numbers = claim(rows * k, 4);
    for (int64_t row = 0; row < rows; row++)
        loose[row] = beyond[row] ? 4 : 0.1f, floors[row] = -2;
    for (int64_t at = 0; at < rows * k; at++)
        cosines[at] = -INFINITY, numbers[at] = -1;
    free(beyond);
    return (Side){rows, units, how.heads, how.tails, how.start, how.more, how.lengths, loose,
                  floors, claim(tiles, 4), cosines, numbers};
}

int main(void)
{
    const int64_t sizes[][5] = {{1, 1, 1, 1, 1}, {13, 33, 7, 3, 2}, {40, 100, 65, 20, 5},
                                {24, 64, 150, 150, 70}};
    for (int at = 0; at < 4; at++)
        for (int64_t kind = 0; kind <= nearest_rows_kind(); kind++) {
            const int64_t *n = sizes[at], first[2] = {0, 0}, last[2] = {n[0], n[1]};
            int64_t counts[2] = {0};
            Search search = {n[2], (n[3] + 3) / 4 * 4 + 8, (n[2] - n[3] + 63) / 64 * 64, 8, n[4],
                             1e-4, 6.4e-5, 0.01, {{0}}};
            for (int s = 0; s < 2; s++)
                search.sides[s] = side_of(s, n[s], n[2], n[3], n[4], &search);
            nearest_rows_begin(&search);
            nearest_rows(&search, first, last, kind, counts);
            if (counts[1] < 1)
                return 1;
            for (int s = 0; s < 2; s++) {
                const Side *side = &search.sides[s];
                void *all[] = {(void *)side->units, (void *)side->heads, (void *)side->tails,
                               (void *)side->start, (void *)side->more, (void *)side->lengths,
                               (void *)side->loose, side->floors, side->limits, side->cosines,
                               side->numbers};
                for (size_t part = 0; part < sizeof all / sizeof *all; part++)
                    free(all[part]);
            }
        }
    puts("done");
    return 0;
}
