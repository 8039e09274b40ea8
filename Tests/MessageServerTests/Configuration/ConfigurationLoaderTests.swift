import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerKit
import Logging
import MessageStore
import Replication
import TestSupport
import Testing

@testable import MessageServer

@Suite struct ConfigurationLoaderTests {
    private static let uuid = "5a6b7c8d-0000-4000-8000-000000000002"
    private static let length = "hexadecimal digits instead of 32"

    /// Identifiers with a part of the warning's reason or hint; nil for one without a warning.
    private static let identifiers: [(id: String, warning: String?)] = [
        (uuid, nil), ("Shop-1", nil), ("ABC", nil), ("demo", nil), ("b-1", nil), ("deadbeef", nil),
        ("1", nil),
        ("the-shop-at-the-corner", nil), ("bakery-number-one-in-hamburg", nil), ("a-b-c-d-e", nil),
        ("00000000-0000-4000-8000-000000000002", nil),
        ("5A6B7C8D-0000-4000-8000-000000000002", uuid), ("5a6b7c8d000040008000000000000002", uuid),
        ("5A6B7C8D000040008000000000000002", uuid), ("{\(uuid)}", uuid),
        ("{5A6B7C8D-0000-4000-8000-000000000002}", uuid), ("(\(uuid))", uuid), ("<\(uuid)>", uuid),
        ("\(uuid),", uuid), ("'\(uuid)'", uuid), ("urn:uuid:\(uuid)", uuid),
        ("5a6b7c8d_0000_4000_8000_000000000002", uuid), ("5a6b7c8d-00004000-8000-000000000002", uuid),
        (String(uuid.dropLast()), "31 " + length), (uuid + "0", "33 " + length),
        (uuid + uuid, "64 " + length),
        ("5a6b7c8d-0000-4000-8000", "20 " + length), ("{\(uuid.dropFirst())}", "31 " + length),
        ("5a6b7c8d-O000-4000-8000-000000000002", "characters other than 0-9, a-f"),
        ("5a6b7c8d-0000-4000-8000-00000000000l", "characters other than 0-9, a-f"),
    ]

    @Test(arguments: identifiers)
    func `an identifier that resembles a UUID but is not one as Apple spells it is named`(
        id: String, warning: String?
    ) throws {
        let business = #"{"businessID":"\#(id)","name":"A","handler":{"builtin":"none"}}"#
        for (server, business, file) in [
            ("msp", business, "businesses/a.json"), (id, ConfigurationFiles.demo, "server.json"),
        ] {
            let files = try ConfigurationFiles(
                server: #"{"mspID":"\#(server)","secret":{"env":"S"}}"#, businesses: ["a": business])
            let warnings = try files.load(["S": ConfigurationFiles.secret]).warnings
            #expect(warnings.map(\.place) == (warning == nil ? [] : [.file(files.directory.file(file))]))
            #expect(warnings.allSatisfy { "\($0.reason) \($0.hint)".contains(warning ?? "") })
        }
    }

    @Test func `the shipped examples load with a secret in the environment`() throws {
        let root = Fixture.directory.split(separator: "/Tests/").first.map(String.init) ?? ""
        let configuration = try ConfigurationLoader.load(
            file: root + "/config/server.json", environment: ["BALLOON_SECRET": ConfigurationFiles.secret])
        #expect(configuration.businesses.map(\.slug) == ["demo"])
        #expect(configuration.listen == SocketAddress("127.0.0.1:8080"))
        // The examples show the defaults where they exist.
        #expect(configuration.gateway == GatewayAddress())
        #expect(configuration.limits == ServerLimits())
        #expect(configuration.store == StoreSettings())
        #expect(configuration.http == HTTPLimits())
        #expect(configuration.api == APIConfiguration())
        #expect(configuration.dataDirectory == "data")
        let demo = try #require(configuration.businesses.first)
        #expect(demo.fallback?.after == FallbackConfiguration(.text("")).after)
        #expect(demo.concurrency == ServerLimits().handlerConcurrency)
        #expect(demo.deadline == ServerLimits().handlerDeadline)
        #expect(demo.logLevel?.rawValue == "info")
        var people = PeopleConfiguration(text: "A colleague answers in a few minutes.")
        people.queues = ["general", "returns"].map { QueueConfiguration(id: $0) }
        (people.queues[0].name, people.queues[1].name) = ("General", "Returns")
        (people.queues[1].languages, people.queues[1].priority) = (["en", "de"], 5)
        people.queues[1].capacity = 5
        people.queues[1].overflow = .init(queue: "general", time: .seconds(30 * 60))
        people.rules = [
            QueueRule(queue: "returns", intent: "returns"), QueueRule(queue: "returns", words: ["refund"]),
        ]
        for key in ServerText.allCases {
            #expect(demo.text(key)?.all == key.sample(in: "en"))
            #expect(demo.text(key)?.languages == ["de": key.sample(in: "de")])
            if key.setting != nil { people.texts[key] = demo.text(key) }
        }
        people.words = CustomerWords(
            words: Localized(["agent", "support", "help"]),
            phrases: Localized([], ["de": ["mit einem Menschen"]]))
        people.savedReplies = demo.people?.savedReplies ?? []
        #expect(people.savedReplies.map(\.id) == ["hours"])
        #expect(demo.notices?.types.map(\.id) == ["orders", "offers"])
        #expect(demo.people == people)
    }

    @Test func `each use of a configuration reads its own secrets only`() throws {
        let files = try ConfigurationFiles(
            server:
                #"{"mspID":"msp","secret":{"env":"NONE"},"tls":{"certificateFile":"none","keyFile":"none"}}"#)
        let file = files.directory.file("server.json")
        let development = try ConfigurationLoader.load(file: file, environment: [:], for: .development)
        #expect(development.tls == nil)
        #expect(development.businesses.map(\.slug) == ["demo"])
        let customer = try ConfigurationLoader.load(
            file: file, environment: ["NONE": ConfigurationFiles.secret], for: .customer)
        #expect(customer.tls != nil)
        #expect(customer.secret.bytes == Array("secret-secret-secret".utf8))
        #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader.load(file: file, environment: [:], for: .customer)
        }
        #expect(try ConfigurationLoader.dataDirectory(file: file, environment: [:]) == "data")
        let environment = ["BALLOON_DATA_DIRECTORY": "/srv/data", "BALLOON_UNKNOWN": "1"]
        #expect(try ConfigurationLoader.dataDirectory(file: nil, environment: environment) == "/srv/data")
        #expect(try ConfigurationLoader.dataDirectory(file: nil, environment: [:]) == nil)
        #expect(
            try ConfigurationLoader.businessConfigurations(file: file).map(\.businessID) == [
                BusinessID("b-1")
            ])
    }

    @Test func `an absent setting has its default`() throws {
        let configuration = try ConfigurationFiles().load()
        #expect(configuration.mspID == "msp")
        #expect(configuration.secret.bytes == Array("secret-secret-secret".utf8))
        #expect(configuration.publicURL == nil)
        #expect(configuration.listen == .tcp(host: "127.0.0.1", port: 8080))
        #expect(configuration.dataDirectory == "data")
        #expect(configuration.gateway.url == "https://mspgw.push.apple.com/v1")
        #expect(configuration.gateway.downloadHosts == ["icloud-content.com", "icloud.com", "apple.com"])
        #expect(configuration.limits.tokenAge == .seconds(3600))
        #expect(configuration.limits.shards == ProcessorCount.available())
    }

    @Test func `a secret file that others can read is a warning`() throws {
        let service =
            #"{"businessID":"b","name":"B","handler":{"http":{"url":"https://x.example","#
            + #""secret":[{"file":"hook"},{"env":"HOOK"}]}}}"#
        let files = try ConfigurationFiles(
            server: #"{"mspID":"msp","secret":{"file":"secret"}}"#, businesses: ["service": service])
        for name in ["secret", "businesses/hook"] { try files.write(ConfigurationFiles.secret, to: name) }
        #expect(try files.load([:]).warnings.isEmpty)
        for name in ["secret", "businesses/hook"] {
            try Directory.makeExecutable(files.directory.file(name))
        }
        let warnings = try files.load([:]).warnings
        #expect(
            warnings.map(\.place)
                == [.file(files.directory.file("secret")), .file(files.directory.file("businesses/hook"))])
        // The environment replaces the file's reference.
        #expect(try files.load(["BALLOON_SECRET": ConfigurationFiles.secret]).warnings.count == 1)
        let elsewhere = ["BALLOON_SECRET_FILE": files.directory.file("secret")]
        #expect(try files.load(elsewhere).warnings.count == 2)
    }

    @Test func `keys of requests that are forgotten before a message expires are a warning`() throws {
        func warnings(_ hours: Int, tokens: String) throws -> [ConfigurationProblem] {
            let files = try ConfigurationFiles(
                server: #"{"mspID":"msp","secret":{"file":"secret"},"store":{"deduplicationHours":100},"#
                    + #""gateway":{"giveUpAfterHours":\#(hours)},"api":{"tokens":[\#(tokens)]}}"#)
            try files.write(ConfigurationFiles.secret, to: "secret")
            return try files.load([:]).warnings
        }
        let digest = String(repeating: "0a", count: 32)
        let token = #"{"name":"crm","sha256":"\#(digest)","businesses":["demo"],"may":["send"]}"#
        #expect(try warnings(100, tokens: token).isEmpty)
        #expect(try warnings(101, tokens: "").isEmpty)
        #expect(try warnings(101, tokens: token).map(\.reason).count { $0.contains("giveUpAfterHours") } == 1)
    }

    @Test(arguments: [
        (25, 10, nil), (25, 11, "27"), (25, 0, nil), (10, 2, nil), (10, 3, "11"), (4, 1, nil), (3, 1, "4"),
        (605, 300, nil), (604, 300, "605"), (1, 300, "605"),
    ])
    func `a drain that the time of a stop would cut short is a warning`(
        shutdown: Int, drain: Int, enough: String?
    ) throws {
        let files = try ConfigurationFiles(
            server: #"{"mspID":"msp","secret":{"file":"secret"},"shutdownSeconds":\#(shutdown),"#
                + #""drainDelaySeconds":\#(drain)}"#)
        try files.write(ConfigurationFiles.secret, to: "secret")
        let warnings = try files.load([:]).warnings
        #expect(warnings.map { $0.reason.contains("drainDelaySeconds") } == (enough == nil ? [] : [true]))
        #expect(
            warnings.map(\.hint)
                == (enough.map { ["make shutdownSeconds at least \($0), or lower drainDelaySeconds"] } ?? []))
    }

    @Test func `every key of the server's file is read`() throws {
        let server = """
            {"mspID":"m","secret":{"file":"secret"},"publicURL":"https://example.com/balloon/",
             "listen":"[::1]:0","adminListen":"off","dataDirectory":"/data","shutdownSeconds":7,"drainDelaySeconds":3,
             "gateway":{"url":"http://127.0.0.1:9000/v1/","downloadHosts":["Example.com","127.0.0.1:9000"],"agent":"Shop 1.0"},
             "store":{"deduplicationHours":24,"maximumRememberedMessages":5000,"maximumPendingDeliveries":7,"minimumFreeMegabytes":8},
             "limits":{"maximumBodyBytes":2048,"maximumInflatedBytes":4096,"maximumInflationRatio":20,
             "tokenAgeSeconds":60,"handlerDeadlineSeconds":5,"handlerConcurrency":4,"shards":3}}
            """
        let files = try ConfigurationFiles(server: server)
        try files.write(ConfigurationFiles.secret + "\n", to: "secret")
        let configuration = try files.load([:])
        #expect(configuration.secret.bytes == Array("secret-secret-secret".utf8))
        #expect(configuration.publicURL == "https://example.com/balloon")
        #expect(configuration.listen == .tcp(host: "::1", port: 0))
        #expect(configuration.adminListen == .off)
        #expect(configuration.dataDirectory == "/data")
        #expect(configuration.shutdownTime == .seconds(7))
        #expect(configuration.drainDelay == .seconds(3))
        #expect(configuration.store.minimumFreeBytes == 8 << 20)
        #expect(configuration.gateway.url == "http://127.0.0.1:9000/v1")
        #expect(configuration.gateway.downloadHosts == ["example.com", "127.0.0.1:9000"])
        #expect(configuration.gateway.agent == "Shop 1.0")
        var limits = ServerLimits()
        limits.maximumBodyBytes = 2048
        limits.maximumInflatedBytes = 4096
        limits.maximumInflationRatio = 20
        limits.tokenAge = .seconds(60)
        limits.handlerDeadline = .seconds(5)
        limits.handlerConcurrency = 4
        limits.shards = 3
        #expect(configuration.limits == limits)
        let store = configuration.store.configuration(directory: "d")
        #expect(store.deduplicationWindow == .seconds(86_400))
        #expect(store.maximumRememberedMessages == 5000)
        #expect(store.maximumPendingDeliveries == 7)
    }

    @Test func `a store in PostgreSQL has its URL and key from the environment or a file`() throws {
        let (key, other) = (
            Base64.encode([UInt8](repeating: 7, count: 32)), Base64.encode([UInt8](repeating: 8, count: 32))
        )
        func load(_ store: String, _ environment: [String: String]) throws -> ServerConfiguration {
            try ConfigurationFiles(server: #"{"mspID":"m","secret":{"env":"S"},"store":{\#(store)}}"#)
                .load(["S": ConfigurationFiles.secret].merging(environment) { $1 })
        }
        let store =
            #""postgres":{"url":{"env":"BALLOON_DATABASE"},"leaseSeconds":3,"sealKey":{"env":"K"}}"#
        let change = store.replacing(#"{"env":"K"}"#, with: #"{"env":"K"},"otherSealKey":{"env":"O"}"#)
        let found = try load(store, ["BALLOON_DATABASE": "host=/run", "K": key]).postgres
        #expect(found?.url == "host=/run")
        #expect(found?.lease == .seconds(3))
        #expect((found?.sealingKey != nil, found?.otherSealingKey != nil) == (true, false))
        let both = try load(change, ["BALLOON_DATABASE": "host=/run", "K": key, "O": other]).postgres
        #expect(both?.sealingKey == found?.sealingKey)
        #expect(both?.otherSealingKey != nil && both?.otherSealingKey != both?.sealingKey)
        let refused: [(String, [String: String])] = [
            (store, ["BALLOON_DATABASE": "host=/run"]),
            (store, ["BALLOON_DATABASE": "host=/run", "K": "AAAA"]),
            (change, ["BALLOON_DATABASE": "host=/run", "K": key, "O": "AAAA"]), (store, ["K": key]),
            (#""postgres":{"leaseSeconds":3}"#, [:]),
            (#""postgres":{"url":{"env":"U"},"leaseSeconds":2}"#, ["U": "host=/run"]),
            (#""erasureLedger":"/ledger","postgres":{"url":{"env":"U"}}"#, ["U": "host=/run"]),
        ]
        for (store, environment) in refused {
            #expect(throws: ConfigurationError.self) { try load(store, environment) }
        }
    }

    @Test func `every HTTP limit is read`() throws {
        let keys = [
            "maximumRequestLineBytes", "maximumFieldLineBytes", "maximumFieldCount", "maximumHeaderBytes",
            "maximumRequestsPerConnection", "maximumConnections", "maximumConnectionsPerPeer",
            "maximumBufferedBytes", "maximumBufferedBytesPerPeer", "maximumPendingOutputBytes",
            "firstByteSeconds", "headerSeconds",
            "bodySeconds", "bodyGraceSeconds", "minimumBodyBytesPerSecond", "requestSeconds", "idleSeconds",
            "answerSeconds", "writeSeconds", "lingerSeconds",
        ]
        let sizes = [101, 1102, 103, 2104, 105, 106, 107, 16_777_216, 16_777_217, 4109]
        let values = sizes + Array(10..<20)
        let members = zip(keys, values).map { "\"\($0)\":\($1)" }.joined(separator: ",")
        let files = try ConfigurationFiles(
            server: #"{"mspID":"m","secret":{"env":"S"},"http":{\#(members)}}"#)
        let http = try files.load(["S": ConfigurationFiles.secret]).http
        let read = [
            http.maximumRequestLineBytes, http.maximumFieldLineBytes, http.maximumFieldCount,
            http.maximumHeaderBytes, http.maximumRequestsPerConnection, http.maximumConnections,
            http.maximumConnectionsPerPeer, http.maximumBufferedBytes, http.maximumBufferedBytesPerPeer,
            http.maximumPendingOutputBytes,
        ]
        #expect(read == sizes)
        #expect(http.minimumBodyBytesPerSecond == 14)
        let waits = [
            http.firstByteTimeout, http.headTimeout, http.bodyTimeout, http.bodyGrace, http.requestTimeout,
            http.idleTimeout, http.answerTimeout, http.writeTimeout, http.lingerTimeout,
        ]
        #expect(waits == [10, 11, 12, 13, 15, 16, 17, 18, 19].map { .seconds($0) })
    }

    @Test func `TLS files are found next to the server's file, or at their absolute paths`() throws {
        let key = Fixture.directory + "/tls/key.pem"
        let files = try ConfigurationFiles(
            server: """
                {"mspID":"m","secret":{"env":"S"},"tls":{"certificateFile":"own.pem","keyFile":"\(key)"}}
                """)
        try files.write(
            String(decoding: Fixture.bytes("tls/certificate.pem"), as: UTF8.self), to: "own.pem")
        let tls = try files.load(["S": ConfigurationFiles.secret]).tls
        #expect(tls == TLSFiles(certificateFile: files.directory.file("own.pem"), keyFile: key))
        #expect(try ConfigurationFiles().load().tls == nil)
    }

    @Test func `businesses are sorted by slug and have their handler configuration`() throws {
        let files = try ConfigurationFiles(businesses: [
            "b": #"{"businessID":"2","name":"B","handler":{"builtin":"none"}}"#,
            "a-1": #"{"businessID":"1","name":"A","handler":{"builtin":"x","config":{"n":1}}}"#,
        ])
        try files.write("left by an editor", to: "businesses/.a.json")
        try files.write("not ours", to: "businesses/README")
        let businesses = try files.load().businesses
        #expect(businesses.map(\.slug) == ["a-1", "b"])
        #expect(businesses.map(\.businessID) == [BusinessID("1"), BusinessID("2")])
        #expect(businesses.map(\.name) == ["A", "B"])
        guard case .builtin("x", let configuration) = businesses[0].handler else {
            Issue.record("not the handler that was named")
            return
        }
        #expect(configuration?["n"]?.int == 1)
    }

    @Test func `an inspector's address needs a token, which is in the environment only`() throws {
        let listening = #"{"mspID":"m","secret":{"env":"S"},"inspectorListen":"127.0.0.1:8026"}"#
        let off = #"{"mspID":"m","secret":{"env":"S"},"inspectorListen":"off"}"#
        let secret = ["S": ConfigurationFiles.secret]
        let token = ["BALLOON_INSPECTOR_TOKEN": "0123456789abcdef"]
        func with(_ more: [String: String]) -> [String: String] { secret.merging(more) { $1 } }
        let files = try ConfigurationFiles(server: listening)
        let settings = try files.load(with(token)).inspector
        #expect(settings?.address == .tcp(host: "127.0.0.1", port: 8026))
        #expect(settings?.token == "0123456789abcdef")
        #expect(settings?.mayUseOtherPort == false)
        #expect(
            files.problems(secret) == [
                "server.json: has \"inspectorListen\", but there is no token for it (set BALLOON_INSPECTOR_TOKEN or BALLOON_INSPECTOR_TOKEN_FILE)"
            ])
        let short = files.problems(with(["BALLOON_INSPECTOR_TOKEN": "short-secret"]))
        #expect(short.count == 1 && short.first?.contains("at least 16 visible") == true)
        #expect(short.first?.contains("short-secret") == false)
        #expect(try ConfigurationFiles(server: off).load(secret).inspector == nil)
        let environment = with(token.merging(["BALLOON_INSPECTOR_LISTEN": "0.0.0.0:1"]) { $1 })
        #expect(
            try ConfigurationFiles(server: off).load(environment).inspector?.address
                == .tcp(host: "0.0.0.0", port: 1))
        let unix = #"{"mspID":"m","secret":{"env":"S"},"inspectorListen":"unix:/run/inspector"}"#
        #expect(try ConfigurationFiles(server: unix).problems(with(token)).count == 1)
    }

    @Test func `the environment overrides the file`() throws {
        let files = try ConfigurationFiles(
            server:
                #"{"mspID":"file","secret":{"file":"absent"},"listen":"127.0.0.1:1","dataDirectory":"file"}"#)
        try files.write("from-a-file\r\n", to: "msp")
        let configuration = try files.load([
            "BALLOON_MSP_ID_FILE": files.directory.file("msp"), "BALLOON_SECRET": ConfigurationFiles.secret,
            "BALLOON_PUBLIC_URL": "http://localhost:8080", "BALLOON_LISTEN": "0.0.0.0:80",
            "BALLOON_ADMIN_LISTEN": "127.0.0.1:81",
            "BALLOON_DATA_DIRECTORY": "/data",
            "BALLOON_GATEWAY_URL": "https://gateway.example.com/v1", "BALLOON_LOG_LEVEL": "debug",
        ])
        #expect(configuration.mspID == "from-a-file")
        #expect(configuration.publicURL == "http://localhost:8080")
        #expect(configuration.listen == .tcp(host: "0.0.0.0", port: 80))
        #expect(configuration.adminListen == .required(.tcp(host: "127.0.0.1", port: 81)))
        #expect(configuration.dataDirectory == "/data")
        #expect(configuration.gateway.url == "https://gateway.example.com/v1")
    }

    @Test func `a variable named in the file or set by Kubernetes is known`() throws {
        let files = try ConfigurationFiles(server: #"{"mspID":"m","secret":{"env":"BALLOON_KEY"}}"#)
        let environment = [
            "BALLOON_KEY": ConfigurationFiles.secret, "BALLOON_PORT": "tcp://10.0.0.1:80",
            "BALLOON_PORT_80_TCP_ADDR": "10.0.0.1", "BALLOON_SERVICE_HOST": "10.0.0.1",
            "BALLOON_SERVICE_PORT_HTTP": "80",
        ]
        #expect(files.problems(environment) == [])
    }
}
