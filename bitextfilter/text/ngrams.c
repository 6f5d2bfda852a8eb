/* The n-grams of words, and sums over them: identifier.py and trigrams.py call it.
 *
 * All numbers are integers, so that no result depends on an order.
 */
#include <stdint.h>

#define LONGEST 4 /* of identifier.py */
#define STEP 0xC2B2AE3D27D4EB4FULL
#define SPREAD 0x9E3779B97F4A7C15ULL
#define SPACE 32
#define LANGUAGES 512
#define AHEAD 64 /* n-grams whose weights are fetched before they are added */

/* Of the arguments below. */
int64_t ngrams_layout(void)
{
    return 2;
}

static void add(int32_t *sums, const int8_t *row, int64_t width)
{
    for (int64_t k = 0; k < width; k++)
        sums[k] = (int32_t)((uint32_t)sums[k] + (uint32_t)row[k]);
}

/* Add up the weights of the n-grams of runs of letters, a space at either end of each.
 *
 * characters: of all runs; sizes: of each run, at least 2; owners: the word of each, below `words`.
 * weights: buckets x width; a key's bucket is its highest bits, without the lower `shift`.
 * out: words x (width + 1), 0 before: the sums, and the number of n-grams.
 */
void ngrams_evidence(const uint32_t *characters, const int64_t *sizes, const int64_t *owners,
                     int64_t runs, const int8_t *weights, int64_t width, int64_t shift,
                     int32_t *out)
{
    const int8_t *waiting[AHEAD];
    for (int64_t run = 0; run < runs; characters += sizes[run++]) {
        int32_t *sums = out + owners[run] * (width + 1);
        int64_t held = 0;
        for (int64_t start = 0; start < sizes[run]; start++) {
            uint64_t mixed = 0;
            for (int64_t n = 1; n <= LONGEST && start + n <= sizes[run]; n++) {
                mixed = mixed * STEP + characters[start + n - 1] + 1;
                if (n == 1 && characters[start] == SPACE)
                    continue;
                const uint64_t key = (mixed + (uint64_t)n) * SPREAD;
                const int64_t bucket = shift < 64 ? (int64_t)(key >> shift) : 0;
                __builtin_prefetch(waiting[held++] = weights + bucket * width);
            }
            if (held > AHEAD - LONGEST || start + 1 == sizes[run]) {
                sums[width] += (int32_t)held;
                while (held)
                    add(sums, waiting[--held], width);
            }
        }
    }
}

/* Add up rows, int8 if `bytes` is 1, else int32, at the places of each group: out, groups x width.
 *
 * flat: `total` places of all groups, one group after the other; lengths: of each group.
 * Returns 1 if a place is not below `count`, or the lengths do not fit.
 */
int64_t ngrams_sums(const void *rows, int64_t bytes, int64_t count, int64_t width,
                    const int64_t *flat, int64_t total, const int64_t *lengths, int64_t groups,
                    int32_t *out)
{
    int64_t at = 0;
    for (int64_t group = 0; group < groups; group++) {
        int32_t *sums = out + group * width;
        for (int64_t k = 0; k < width; k++)
            sums[k] = 0;
        if (lengths[group] < 0 || lengths[group] > total - at)
            return 1;
        for (const int64_t end = at + lengths[group]; at < end; at++) {
            if (flat[at] < 0 || flat[at] >= count)
                return 1;
            if (bytes == 1) {
                add(sums, (const int8_t *)rows + flat[at] * width, width);
                continue;
            }
            const int32_t *row = (const int32_t *)rows + flat[at] * width;
            for (int64_t k = 0; k < width; k++)
                sums[k] = (int32_t)((uint32_t)sums[k] + (uint32_t)row[k]);
        }
    }
    return at != total;
}

/* The longest runs of words that another language explains better than `own` does.
 *
 * rows: count x (width + 1), the evidence of words; flat, lengths: as in ngrams_sums.
 * out: groups x 3: the largest sum, over neighbouring words, of what any language has more than
 * `own`; that of `other`, a language, or -1 for none; and the number of n-grams. Sums are 0 where
 * all languages have less.
 * Returns 1 as ngrams_sums does, or for more languages than LANGUAGES.
 */
int64_t ngrams_runs(const int32_t *rows, int64_t count, int64_t width, int64_t own, int64_t other,
                    const int64_t *flat, int64_t total, const int64_t *lengths, int64_t groups,
                    int32_t *out)
{
    int32_t run[LANGUAGES], best[LANGUAGES];
    int64_t at = 0;
    if (width > LANGUAGES)
        return 1;
    for (int64_t group = 0; group < groups; group++, out += 3) {
        for (int64_t k = 0; k < width; k++)
            run[k] = best[k] = 0;
        out[0] = out[1] = out[2] = 0;
        if (lengths[group] < 0 || lengths[group] > total - at)
            return 1;
        for (const int64_t end = at + lengths[group]; at < end; at++) {
            if (flat[at] < 0 || flat[at] >= count)
                return 1;
            const int32_t *row = rows + flat[at] * (width + 1), base = row[own];
            for (int64_t k = 0; k < width; k++) {
                const int32_t sum = run[k] + row[k] - base;
                run[k] = sum > 0 ? sum : 0;
                best[k] = best[k] > run[k] ? best[k] : run[k];
            }
            out[2] += row[width];
        }
        for (int64_t k = 0; k < width; k++)
            if (best[k] > out[0])
                out[0] = best[k];
        if (other >= 0)
            out[1] = best[other];
    }
    return at != total;
}

/* A table of keys: slots whose number is a power of 2, and at least twice that of the keys. */
typedef struct {
    uint64_t key;
    int64_t id; /* 0 for none */
} Slot;

static int64_t place(uint64_t key, uint64_t secret, int64_t mask)
{
    key = (key ^ secret) * SPREAD;
    return (int64_t)(((key ^ (key >> 32)) * STEP) >> 20) & mask;
}

/* Fill empty slots; ids are not 0. */
void ngrams_index(const uint64_t *keys, const int32_t *ids, int64_t count, uint64_t secret,
                  Slot *slots, int64_t mask)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t at = place(keys[k], secret, mask);
        while (slots[at].id)
            at = (at + 1) & mask;
        slots[at] = (Slot){keys[k], ids[k]};
    }
}

/* ids -> of the keys, 0 for unknown ones. */
void ngrams_find(const uint64_t *keys, int64_t count, uint64_t secret, const Slot *slots,
                 int64_t mask, int32_t *ids)
{
    for (int64_t k = 0; k < count; k++) {
        if (k + 16 < count)
            __builtin_prefetch(slots + place(keys[k + 16], secret, mask));
        int64_t at = place(keys[k], secret, mask);
        while (slots[at].id && slots[at].key != keys[k])
            at = (at + 1) & mask;
        ids[k] = (int32_t)slots[at].id;
    }
}
