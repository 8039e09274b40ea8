#include "CBuild.h"

#ifndef BALLOON_COMMIT
#define BALLOON_COMMIT ""
#endif

static const char commit[] = BALLOON_COMMIT;

unsigned char balloon_commit_byte(unsigned int index) {
    return index < sizeof commit ? (unsigned char)commit[index] : 0;
}
