import CTemplates

/// A sample of `config/handlers` that `balloon init` writes; the compiler puts its bytes into the program.
enum HandlerTemplate {
    case pythonShop, pythonLibrary, nodeShop, nodeLibrary, shellShop, swiftPackage, swiftMain, swiftShop

    /// The content of the file.
    var text: String {
        let bytes = (0..<balloon_template_size(file)).map { balloon_template_byte(file, $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private var file: balloon_template {
        switch self {
        case .pythonShop: BALLOON_PYTHON_SHOP
        case .pythonLibrary: BALLOON_PYTHON_LIBRARY
        case .nodeShop: BALLOON_NODE_SHOP
        case .nodeLibrary: BALLOON_NODE_LIBRARY
        case .shellShop: BALLOON_SHELL_SHOP
        case .swiftPackage: BALLOON_SWIFT_PACKAGE
        case .swiftMain: BALLOON_SWIFT_MAIN
        case .swiftShop: BALLOON_SWIFT_SHOP
        }
    }
}
