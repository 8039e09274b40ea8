// The reading of files that the compiler puts into the program, byte by byte, so that no pointer leaves C.
//
// clang supports #embed since version 19, and warns that it is an extension in versions of C before C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

struct balloon_file {
    const char *name;
    const unsigned char *bytes;
    unsigned int size;
};

#define BALLOON_FILE(name, bytes) { name, bytes, sizeof bytes }

// Defines `prefix_size` and `prefix_byte` for a table `files`.
#define BALLOON_FILES(prefix, number)                                                              \
    unsigned int prefix##_size(number file) {                                                      \
        return (unsigned int)file < sizeof files / sizeof files[0] ? files[file].size : 0;         \
    }                                                                                              \
    unsigned char prefix##_byte(number file, unsigned int index) {                                 \
        return index < prefix##_size(file) ? files[file].bytes[index] : 0;                         \
    }
