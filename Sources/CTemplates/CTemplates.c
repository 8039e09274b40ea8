#include "CTemplates.h"

// clang supports #embed since version 19, and warns that it is an extension in versions of C before C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char python_shop[] = {
#embed "../../config/handlers/python/shop.py"
};
static const unsigned char python_library[] = {
#embed "../../config/handlers/python/balloon.py"
};
static const unsigned char node_shop[] = {
#embed "../../config/handlers/node/shop.mjs"
};
static const unsigned char node_library[] = {
#embed "../../config/handlers/node/balloon.mjs"
};
static const unsigned char shell_shop[] = {
#embed "../../config/handlers/shell/shop.sh"
};
static const unsigned char swift_package[] = {
#embed "../../config/handlers/swift/Package.swift"
};
static const unsigned char swift_main[] = {
#embed "../../config/handlers/swift/Sources/shop/main.swift"
};
static const unsigned char swift_shop[] = {
#embed "../../config/handlers/swift/Sources/shop/Shop.swift"
};

static const struct {
    const unsigned char *bytes;
    unsigned int size;
} files[] = {
    [BALLOON_PYTHON_SHOP] = { python_shop, sizeof python_shop },
    [BALLOON_PYTHON_LIBRARY] = { python_library, sizeof python_library },
    [BALLOON_NODE_SHOP] = { node_shop, sizeof node_shop },
    [BALLOON_NODE_LIBRARY] = { node_library, sizeof node_library },
    [BALLOON_SHELL_SHOP] = { shell_shop, sizeof shell_shop },
    [BALLOON_SWIFT_PACKAGE] = { swift_package, sizeof swift_package },
    [BALLOON_SWIFT_MAIN] = { swift_main, sizeof swift_main },
    [BALLOON_SWIFT_SHOP] = { swift_shop, sizeof swift_shop },
};

unsigned int balloon_template_size(enum balloon_template file) {
    return (unsigned int)file < sizeof files / sizeof files[0] ? files[file].size : 0;
}

unsigned char balloon_template_byte(enum balloon_template file, unsigned int index) {
    return index < balloon_template_size(file) ? files[file].bytes[index] : 0;
}
