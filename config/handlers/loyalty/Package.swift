// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "loyalty",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "balloon", path: "../../..")],
    targets: [
        .executableTarget(
            name: "loyalty",
            dependencies: [
                .product(name: "HandlerKit", package: "balloon"),
                .product(name: "StdioHandler", package: "balloon"),
            ])
    ]
)
