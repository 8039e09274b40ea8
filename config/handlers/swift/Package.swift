// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "shop",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "balloon", path: "../../..")],
    targets: [
        .executableTarget(
            name: "shop",
            dependencies: [
                .product(name: "HandlerKit", package: "balloon"),
                .product(name: "MessageServer", package: "balloon"),
                .product(name: "StdioHandler", package: "balloon"),
            ])
    ]
)
