// The samples of config/handlers that `balloon init` writes, which the compiler puts into the program.
#ifndef CTEMPLATES_H
#define CTEMPLATES_H

// The files, in the order of their numbers.
enum balloon_template {
    BALLOON_PYTHON_SHOP,
    BALLOON_PYTHON_LIBRARY,
    BALLOON_NODE_SHOP,
    BALLOON_NODE_LIBRARY,
    BALLOON_SHELL_SHOP,
    BALLOON_SWIFT_PACKAGE,
    BALLOON_SWIFT_MAIN,
    BALLOON_SWIFT_SHOP,
};

// The number of bytes of a file; 0 for an unknown number.
unsigned int balloon_template_size(enum balloon_template file);

// The byte at `index` of a file; 0 behind the file's end.
unsigned char balloon_template_byte(enum balloon_template file, unsigned int index);

#endif
