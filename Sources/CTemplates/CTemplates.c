#include "CTemplates.h"
#include "../CWeb/EmbeddedFiles.h"

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

static const struct balloon_file files[] = {
    [HandlerTemplatePythonShop] = BALLOON_FILE("python/shop.py", python_shop),
    [HandlerTemplatePythonLibrary] = BALLOON_FILE("python/balloon.py", python_library),
    [HandlerTemplateNodeShop] = BALLOON_FILE("node/shop.mjs", node_shop),
    [HandlerTemplateNodeLibrary] = BALLOON_FILE("node/balloon.mjs", node_library),
    [HandlerTemplateShellShop] = BALLOON_FILE("shell/shop.sh", shell_shop),
    [HandlerTemplateSwiftPackage] = BALLOON_FILE("swift/Package.swift", swift_package),
    [HandlerTemplateSwiftMain] = BALLOON_FILE("swift/Sources/shop/main.swift", swift_main),
    [HandlerTemplateSwiftShop] = BALLOON_FILE("swift/Sources/shop/Shop.swift", swift_shop),
};

BALLOON_FILES(balloon_template, enum HandlerTemplate)
