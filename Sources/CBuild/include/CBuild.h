// The commit and date that the build was given.
#ifndef CBUILD_H
#define CBUILD_H

// The byte at `index` of BALLOON_COMMIT, as scripts/commit prints it; 0 behind its end. The build knows a commit only
// when the variable BALLOON_COMMIT was set for it; without it the first byte is 0.
unsigned char balloon_commit_byte(unsigned int index);

#endif
