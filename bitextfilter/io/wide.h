/* WIDE before a function: it is compiled for the instructions CLONES of the file, too, and the loader
 * chooses. To be included behind a header of the C library.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) \
    && !defined(PLAIN)
#define WIDE __attribute__((target_clones(CLONES, "default")))
#else
#define WIDE
#endif
