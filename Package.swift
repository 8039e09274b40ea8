// swift-tools-version: 6.2
// Targets and their arrows. The table in MessageServer.docc/Architecture.md says the same;
// scripts/arrows fails when the two differ.
import PackageDescription

/// Tests: warnings are errors, imports say who may see them.
let testSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // Each process of the compiler reads its whole module: few with many files each are faster (decision record 0348).
    .unsafeFlags(["-driver-batch-size-limit", "100"], .when(configuration: .debug)),
]

/// Every Swift target that ships: strict memory safety besides.
let swiftSettings = testSettings + [.strictMemorySafety()]

/// The target that a debug build optimises too, because a fifth of the time of the tests would pass in it
/// (decision record 0346).
let optimised = "BalloonJSON"

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

func target(_ name: String, _ arrows: [String] = [], _ products: [Target.Dependency] = []) -> Target {
    .target(
        name: name,
        dependencies: arrows.map { .byName(name: $0) } + products,
        swiftSettings: swiftSettings
            + (name == optimised ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : []))
}

func cTarget(_ name: String, _ libraries: [String] = []) -> Target {
    .target(name: name, linkerSettings: libraries.map { .linkedLibrary($0) })
}

func testTarget(_ name: String, _ arrows: [String]) -> Target {
    .testTarget(
        name: name,
        dependencies: arrows.map { .byName(name: $0) } + ["TestSupport", logging],
        swiftSettings: testSettings)
}

let package = Package(
    name: "balloon",
    products: [
        .executable(name: "balloon", targets: ["balloon"]),
        .library(name: "BusinessMessages", targets: ["BusinessMessages"]),
        .library(name: "HandlerKit", targets: ["HandlerKit"]),
        .library(name: "HandlerTestKit", targets: ["HandlerTestKit"]),
        .library(name: "MessageServer", targets: ["MessageServer"]),
        .library(name: "RetentionMessages", targets: ["RetentionMessages"]),
        .library(name: "StdioHandler", targets: ["StdioHandler"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        // `balloon --version` names a commit only when the build is told one; scripts/commit prints it.
        .target(
            name: "CBuild",
            cSettings: Context.environment["BALLOON_COMMIT"].map {
                [.define("BALLOON_COMMIT", to: "\"\($0)\"")]
            } ?? []),
        // Its files are read by #embed, and are no sources of their own.
        .target(name: "CWeb", exclude: ["web"]),
        // It embeds files of config/handlers.
        cTarget("CTemplates"),
        cTarget("CLinux"),
        cTarget("CZlib", ["z"]),
        cTarget("COpenSSL", ["ssl", "crypto"]),
        cTarget("CCurl"),
        cTarget("CPostgreSQL"),
        target("BalloonPOSIX", ["CLinux"]),
        target("Replication", ["BalloonWire", "BalloonPOSIX", "CPostgreSQL"], [logging]),
        target("BalloonJSON"),
        target("BalloonMetrics"),
        target("BalloonWire", ["BalloonJSON", "COpenSSL", "CZlib"]),
        target("BalloonTLS", ["COpenSSL"]),
        target("BalloonHTTP", ["BalloonTLS", "BalloonPOSIX"], [logging]),
        target("BalloonTransport", ["BalloonPOSIX", "CCurl"], [logging]),
        target("BusinessMessages", ["BalloonJSON"]),
        target("RetentionMessages", ["BalloonJSON"]),
        target("Review", ["BusinessMessages", "BalloonWire", "BalloonJSON"]),
        target("HandlerKit", ["BusinessMessages", "RetentionMessages"], [logging]),
        target("HandlerTestKit", ["HandlerKit"], [logging]),
        target("HandlerProtocol", ["HandlerKit", "BalloonJSON"], [logging]),
        target("StdioHandler", ["HandlerProtocol", "HandlerKit", "BalloonJSON", "BalloonPOSIX"], [logging]),
        target(
            "HandlerBridges",
            [
                "HandlerProtocol", "HandlerKit", "BalloonTransport", "BalloonWire", "BalloonPOSIX",
                "BalloonJSON",
            ], [logging]),
        target(
            "MessageStore",
            ["BusinessMessages", "BalloonJSON", "BalloonMetrics", "BalloonWire", "BalloonPOSIX"],
            [logging]),
        target(
            "GatewayClient",
            [
                "BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON", "BalloonMetrics",
                "BusinessMessages",
            ],
            [logging]),
        target("SignIn", ["BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON"]),
        target(
            "Payments",
            ["BusinessMessages", "BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON"]),
        target(
            "RetentionClient",
            ["RetentionMessages", "BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON"]),
        target(
            "Simulator",
            [
                "BalloonHTTP", "BalloonTLS", "BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON",
                "BusinessMessages", "RetentionMessages",
            ], [logging]),
        target(
            "MessageServer",
            [
                "GatewayClient", "SignIn", "Payments", "RetentionClient", "RetentionMessages", "MessageStore",
                "HandlerKit", "BalloonHTTP", "BalloonTLS", "BalloonTransport", "BalloonWire", "BalloonJSON",
                "BalloonMetrics", "BalloonPOSIX", "BusinessMessages", "Replication", "CWeb",
            ], [logging]),
        .executableTarget(
            name: "balloon",
            dependencies: [
                "MessageServer", "Simulator", "Review", "HandlerBridges", "GatewayClient", "SignIn",
                "Payments", "RetentionClient",
                "RetentionMessages", "MessageStore", "HandlerProtocol", "HandlerKit", "BalloonHTTP",
                "BalloonTransport", "BalloonWire",
                "BalloonJSON", "BalloonPOSIX", "BusinessMessages", "Replication", "CBuild", "CTemplates",
                logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: swiftSettings),
        .target(name: "CTestSupport", path: "Tests/CTestSupport"),
        .target(
            name: "TestSupport",
            dependencies: ["BalloonPOSIX", "COpenSSL", "CTestSupport", logging],
            path: "Tests/TestSupport",
            exclude: ["Fixtures"],
            swiftSettings: testSettings),
        .target(
            name: "ServerTestSupport",
            dependencies: [
                "MessageServer", "Simulator", "MessageStore", "HandlerKit", "BalloonTransport", "BalloonWire",
                "BalloonJSON", "BalloonPOSIX", "BusinessMessages", "SignIn", "RetentionClient",
                "RetentionMessages", "TestSupport", logging,
            ],
            path: "Tests/ServerTestSupport",
            swiftSettings: testSettings),
        .executableTarget(
            name: "CrashTestServer",
            dependencies: [
                "MessageServer", "HandlerKit", "SignIn", "Payments", "BalloonPOSIX", "BalloonWire",
                "BusinessMessages", logging,
            ],
            path: "Tests/CrashTestServer",
            swiftSettings: testSettings),
        testTarget("BalloonPOSIXTests", ["BalloonPOSIX"]),
        testTarget("ReplicationTests", ["Replication", "BalloonWire", "BalloonPOSIX"]),
        testTarget("BalloonJSONTests", ["BalloonJSON"]),
        testTarget("BalloonMetricsTests", ["BalloonMetrics"]),
        testTarget("BalloonWireTests", ["BalloonWire", "BalloonJSON"]),
        testTarget("BalloonTLSTests", ["BalloonTLS"]),
        testTarget("BalloonHTTPTests", ["BalloonHTTP", "BalloonTLS", "BalloonPOSIX", "COpenSSL"]),
        testTarget("BalloonTransportTests", ["BalloonTransport", "BalloonHTTP", "BalloonPOSIX", "COpenSSL"]),
        testTarget("BusinessMessagesTests", ["BusinessMessages", "BalloonJSON"]),
        testTarget("RetentionMessagesTests", ["RetentionMessages", "BalloonJSON"]),
        testTarget("ReviewTests", ["Review", "BusinessMessages", "BalloonJSON"]),
        testTarget("HandlerKitTests", ["HandlerKit", "BusinessMessages", "BalloonJSON"]),
        testTarget("HandlerTestKitTests", ["HandlerTestKit", "HandlerKit"]),
        testTarget(
            "StdioHandlerTests",
            ["StdioHandler", "HandlerProtocol", "HandlerKit", "BalloonJSON", "BalloonPOSIX"]),
        testTarget(
            "HandlerProtocolTests", ["HandlerProtocol", "HandlerKit", "RetentionMessages", "BalloonJSON"]),
        // The package in config/handlers/swift, built here too, so that the tests run it.
        .executableTarget(
            name: "ShopExample",
            dependencies: ["MessageServer", "StdioHandler", "HandlerKit"],
            path: "config/handlers/swift/Sources/shop",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "LoyaltyExample",
            dependencies: ["StdioHandler", "HandlerKit"],
            path: "config/handlers/loyalty/Sources/loyalty",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        testTarget(
            "HandlerBridgesTests",
            [
                "HandlerBridges", "HandlerProtocol", "HandlerKit", "MessageServer", "Simulator",
                "MessageStore", "BalloonHTTP", "BalloonTransport", "BalloonWire", "BalloonJSON",
                "BalloonPOSIX", "BusinessMessages", "Payments", "ServerTestSupport", "ShopExample",
                "LoyaltyExample", "RetentionMessages", "RetentionClient",
            ]),
        testTarget(
            "MessageStoreTests",
            ["MessageStore", "BusinessMessages", "BalloonJSON", "BalloonWire", "BalloonPOSIX"]),
        testTarget(
            "GatewayClientTests",
            [
                "GatewayClient", "Simulator", "BalloonTransport", "BalloonHTTP", "BalloonWire", "BalloonJSON",
                "BusinessMessages",
            ]),
        testTarget(
            "SignInTests",
            [
                "SignIn", "Simulator", "BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON",
            ]),
        testTarget(
            "PaymentsTests",
            [
                "Payments", "Simulator", "BalloonTransport", "BalloonWire", "BalloonPOSIX", "BalloonJSON",
                "BusinessMessages",
            ]),
        testTarget(
            "RetentionClientTests",
            [
                "RetentionClient", "RetentionMessages", "Simulator", "BalloonTransport", "BalloonWire",
                "BalloonPOSIX", "BalloonJSON",
            ]),
        testTarget(
            "SimulatorTests",
            [
                "Simulator", "BalloonTransport", "BalloonHTTP", "BalloonWire", "BalloonJSON",
                "BalloonPOSIX", "BusinessMessages", "RetentionMessages",
            ]),
        testTarget(
            "MessageServerTests",
            [
                "MessageServer", "Simulator", "GatewayClient", "SignIn", "Payments", "RetentionClient",
                "RetentionMessages", "MessageStore", "HandlerKit", "BalloonHTTP", "BalloonTransport",
                "BalloonWire", "BalloonJSON", "BalloonPOSIX",
                "BusinessMessages", "Replication", "ServerTestSupport", "CrashTestServer",
            ]),
        testTarget(
            "balloonTests",
            [
                "balloon", "MessageServer", "HandlerBridges", "GatewayClient", "MessageStore", "Simulator",
                "HandlerKit", "BalloonHTTP", "BalloonTransport", "BalloonWire", "BalloonJSON", "BalloonPOSIX",
                "BusinessMessages", "Replication", "Payments", "ShopExample", "LoyaltyExample",
            ]),
    ]
)

// The benchmark programs need `package` access, so they are targets of this package. Only `scripts/bench` and the
// gate ask for them: the Docker context has no folder `scripts`, and a target without its folder is an error.
if Context.environment["BALLOON_BENCH"] == "1" {
    package.targets += [
        .executableTarget(
            name: "BenchServer",
            dependencies: [
                "MessageServer", "MessageStore", "HandlerKit", "BalloonHTTP", "BalloonPOSIX",
                "BusinessMessages", logging,
            ],
            path: "scripts/bench.d/server",
            swiftSettings: testSettings),
        .executableTarget(
            name: "ValidationBench",
            dependencies: ["BusinessMessages", "BalloonPOSIX"],
            path: "scripts/bench.d/validate",
            swiftSettings: testSettings),
        .executableTarget(
            name: "RetentionBench",
            dependencies: [
                "Simulator", "RetentionClient", "RetentionMessages", "BalloonWire", "BalloonJSON",
                "BalloonPOSIX",
            ],
            path: "scripts/bench.d/retention",
            swiftSettings: testSettings),
        .executableTarget(
            name: "HandlerBench",
            dependencies: [
                "MessageServer", "HandlerBridges", "StdioHandler", "Simulator", "HandlerKit", "BalloonHTTP",
                "BalloonTransport", "BalloonWire", "BalloonJSON", "BalloonPOSIX", "BusinessMessages", logging,
            ],
            path: "scripts/bench.d/handlers",
            exclude: ["bad.py", "echo.py"],
            swiftSettings: testSettings),
        .executableTarget(
            name: "SignInBench",
            dependencies: [
                "MessageServer", "SignIn", "Simulator", "MessageStore", "HandlerKit", "BalloonTransport",
                "BalloonWire", "BalloonJSON", "BalloonPOSIX", "BusinessMessages", logging,
            ],
            path: "scripts/bench.d/signin",
            swiftSettings: testSettings),
        .executableTarget(
            name: "PaymentBench",
            dependencies: [
                "MessageServer", "HandlerBridges", "Payments", "Simulator", "HandlerKit", "BalloonTransport",
                "BalloonWire",
                "BalloonJSON", "BalloonPOSIX", "BusinessMessages", logging,
            ],
            path: "scripts/bench.d/payment",
            swiftSettings: testSettings),
    ]
}
