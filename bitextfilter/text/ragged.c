/* Rows of different length, gathered from one flat array: ragged.py calls it. */
#include <stdint.h>
#include <string.h>

/* Of the arguments below. */
int64_t ragged_layout(void)
{
    return 1;
}

/* Copy the chosen rows of numbers of `size` bytes, 4 or 8, one behind the other.
 *
 * flat: all numbers, `total` of them.
 * starts, lengths: of all `count` rows, in numbers; chosen: their places, `n` of them.
 * Returns 1, having written nothing beyond `room` numbers, if a row is not there, or the
 * chosen ones have not `room` numbers together.
 */
int64_t ragged_take(const char *flat, int64_t total, int64_t size, const int64_t *starts,
                    const int64_t *lengths, int64_t count, const int64_t *chosen, int64_t n,
                    char *out, int64_t room)
{
    int64_t at = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = chosen[k];
        if (row < 0 || row >= count)
            return 1;
        const int64_t length = lengths[row], start = starts[row];
        if (length < 0 || length > room - at || start < 0 || start > total - length)
            return 1;
        if (size == 4)
            for (int64_t i = 0; i < length; i++)
                ((uint32_t *)out)[at + i] = ((const uint32_t *)flat)[start + i];
        else
            memcpy(out + 8 * at, flat + 8 * start, (size_t)length * 8);
        at += length;
    }
    return at != room;
}
