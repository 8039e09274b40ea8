// swift-tools-version: 6.2
// Outside the product: it compares with the whole of Foundation, which no shipped target may import.
import PackageDescription

let package = Package(
    name: "typed-decode",
    dependencies: [.package(name: "balloon", path: "../../..")],
    targets: [
        .executableTarget(
            name: "typed-decode", dependencies: [.product(name: "BusinessMessages", package: "balloon")])
    ]
)
