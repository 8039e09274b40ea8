import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import HandlerKit
import Logging
import TestSupport
import Testing

@testable import MessageServer

/// A reload applies each setting, or reports that it needs a restart.
@Suite struct ReloadableSettingTests {
    /// Another value for each key of the server's file, below `/`.
    private static let changes: [String: String] = [
        "mspID": #""other""#, "secret": #"{"file":"other"}"#, "previousSecret": #"{"file":"other"}"#,
        "publicURL": #""https://other.example.com""#, "listen": #""127.0.0.1:9""#, "adminListen": #""off""#,
        "inspectorListen": #""127.0.0.1:9""#,
        "dataDirectory": #""other""#, "removedBusinessDays": "8", "landing": "true", "shutdownSeconds": "26",
        "drainDelaySeconds": "6", "gateway/url": #""https://other.example.com/v1""#,
        "gateway/downloadHosts": #"["example.com"]"#, "gateway/agent": #""Other""#,
        "gateway/giveUpAfterHours": "71", "attachments/maximumBytes": "1",
        "attachments/deadlineSeconds": "121",
        "attachments/retentionDays": "366", "attachments/concurrency": "9", "store/deduplicationHours": "73",
        "store/maximumRememberedMessages": "4000001", "store/maximumPendingDeliveries": "1000001",
        "store/minimumFreeMegabytes": "65", "store/erasureLedger": #""/other.jsonl""#,
        "store/erasureLedgerDays": "731", "store/auditDays": "731", "limits/maximumBodyBytes": "10485761",
        "limits/maximumInflatedBytes": "10485761", "limits/maximumInflationRatio": "201",
        "limits/tokenAgeSeconds": "3601", "limits/handlerDeadlineSeconds": "31",
        "limits/handlerConcurrency": "17", "limits/referenceConcurrency": "17", "limits/shards": "33",
        "api/tokens": "[]", "api/origins": #"["https://other.example.com"]"#,
        "api/hosts": #"["other.example.com"]"#, "api/requestsPerMinute": "601", "api/inbox": "true",
        "tls": #"{"certificateFile":"\#(certificate)","keyFile":"\#(key)"}"#,
    ]

    private static let certificate = Fixture.directory + "/tls/certificate.pem"
    private static let key = Fixture.directory + "/tls/key.pem"

    /// The keys of objects in the server's file.
    private static let objects: [String: [String]] = [
        "gateway": ServerFile.gatewayKeys, "attachments": AttachmentSettings.keys,
        "store": StoreSettings.keys, "limits": ServerLimits.keys, "http": HTTPLimits.keys,
        "api": APIConfiguration.keys,
    ]

    /// Every key of the server's file; a key of an object has the object's name before it.
    private static let keys = ServerFile.keys.flatMap { name in
        objects[name].map { $0.map { name + "/" + $0 } } ?? [name]
    }

    /// The JSON of the server's file with one other value.
    private static func file(_ key: String, _ value: String) -> String {
        var members = ["mspID": #""msp""#, "secret": #"{"file":"secret"}"#]
        members["api"] = #"{"tokens":[\#(token)]}"#
        let parts = key.split(separator: "/").map(String.init)
        members[parts[0]] = parts.count == 1 ? value : #"{"\#(parts[1])":\#(value)}"#
        if key.hasPrefix("api/"), key != "api/tokens" {
            members["api"] = #"{"tokens":[\#(token)],"\#(parts[1])":\#(value)}"#
        }
        return "{" + members.sorted { $0.key < $1.key }.map { #""\#($0)":\#($1)"# }.joined(separator: ",")
            + "}"
    }

    private static let token =
        #"{"name":"crm","sha256":"\#(String(repeating: "0a", count: 32))","may":["read"]}"#

    private func load(_ server: String) throws -> ServerConfiguration {
        let files = try ConfigurationFiles(server: server)
        try files.write(ConfigurationFiles.secret, to: "secret")
        try files.write("b3RoZXItb3RoZXItb3RoZXItb3RoZXI=", to: "other")
        return try files.load(["BALLOON_INSPECTOR_TOKEN": String(repeating: "t", count: 32)])
    }

    @Test(arguments: keys)
    func `a change of a server's setting is applied by a reload, or reported as needing a restart`(
        key: String
    )
        throws
    {
        let value = try #require(
            Self.changes[key] ?? Self.httpValue(of: key),
            "\(key) is new: add another value of it, and let a reload apply or report it")
        let before = try load(Self.file("mspID", #""msp""#))
        let after = try load(Self.file(key, value))
        let needsRestart = before.settingsThatNeedRestart(comparedTo: after)
        let isApplied =
            before.api != after.api || before.secret != after.secret
            || before.previousSecret != after.previousSecret
            || before.limits.handlerDeadline != after.limits.handlerDeadline
            || before.limits.handlerConcurrency != after.limits.handlerConcurrency
        #expect(isApplied || !needsRestart.isEmpty, "\(key)")
    }

    /// A value of a limit of HTTP that differs from the default and is in every range; nil for another key.
    private static func httpValue(of key: String) -> String? {
        guard key.hasPrefix("http/") else { return nil }
        return switch key {
        case "http/maximumBufferedBytes", "http/maximumBufferedBytesPerPeer": "33554433"
        case let key where key.hasSuffix("Seconds"): "11"
        case let key where key.hasSuffix("Bytes"): "17000"
        default: "501"
        }
    }

    @Test(arguments: [
        ("name", #""Other""#), ("handler", #"{"builtin":"other"}"#), ("fallback", #"{"text":"Later."}"#),
        ("people", #"{"text":"Soon."}"#), ("concurrency", "3"), ("deadlineSeconds", "7"),
        ("logLevel", #""debug""#), ("quota", #"{"pendingMessages":9}"#),
        ("retention", #"{"messagesDays":9}"#), ("businessID", #""b-2""#),
    ])
    func `a change of a business's setting reaches the parts that a reload replaces`(
        key: String, value: String
    ) throws {
        func load(_ business: String) throws -> ServerConfiguration {
            try ConfigurationFiles(businesses: ["demo": business]).load(handlers: [
                AnyFactory(), OtherFactory(),
            ])
        }
        let rest = ["businessID": #""b-1""#, "name": #""Demo""#, "handler": #"{"builtin":"demo"}"#]
        let text = { (members: [String: String]) in
            "{" + members.sorted { $0.key < $1.key }.map { #""\#($0)":\#($1)"# }.joined(separator: ",") + "}"
        }
        let before = try load(text(rest))
        let after = try load(text(rest.merging([key: value]) { $1 }))
        let builder = HandlerBuilder(
            factories: [AnyFactory(), OtherFactory()], unasked: ProactiveMessages(),
            logger: LogCollector().logger)
        let old = try builder.make(before)
        // The folder of the business's file is another one, so compare without it.
        var moved = after
        moved.businesses[0].directory = before.businesses[0].directory
        let replaced = try builder.make(moved) { id in old.first { $0.business == id }?.fingerprint }
        let isApplied =
            !replaced.isEmpty || before.businesses[0].people != after.businesses[0].people
            || before.businesses[0].maximumPendingMessages != after.businesses[0].maximumPendingMessages
            || before.businesses[0].retention != after.businesses[0].retention
            // The name is for commands that read the file; the server does not use it.
            || key == "name"
        #expect(isApplied)
    }
}

private struct AnyFactory: HandlerFactory {
    let name = "demo"
    func make(configuration: JSONValue?) -> any Handler { RecordingHandler() }
}

private struct OtherFactory: HandlerFactory {
    let name = "other"
    func make(configuration: JSONValue?) -> any Handler { RecordingHandler() }
}
