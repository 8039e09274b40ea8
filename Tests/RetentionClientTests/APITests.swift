import BalloonPOSIX
import BalloonTransport
import BalloonWire
import RetentionMessages
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import RetentionClient

/// A clock whose waits pass at once.
private final class SkippingClock: Sendable {
    private let passed = Mutex(Duration.zero)

    var elapsed: Duration { passed.withLock { $0 } }

    var clock: TimeSource {
        TimeSource(
            milliseconds: { 1_790_000_000_000 + Int(self.elapsed / .milliseconds(1)) },
            uptime: { self.elapsed },
            sleep: { time in self.passed.withLock { $0 += max(.zero, time) } })
    }
}

/// Fails at one call, before or after it reached the App Store, as a killed process does.
private final class InterruptedTransport: HTTPTransport {
    struct Killed: Error {}
    let transport: any HTTPTransport
    let callsBefore: Int
    let isSent: Bool
    private let calls = Mutex(0)

    init(_ transport: any HTTPTransport, after callsBefore: Int, isSent: Bool) {
        self.transport = transport
        self.callsBefore = callsBefore
        self.isSent = isSent
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let call = calls.withLock { calls in
            calls += 1
            return calls
        }
        if call > callsBefore + 1 || (call == callsBefore + 1 && !isSent) { throw Killed() }
        let response = try await transport.send(request)
        if call == callsBefore + 1 { throw Killed() }
        return response
    }
}

/// A PNG file without pixels.
private func png(width: Int, height: Int, _ comment: String = "") -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(content.count) + Array(type.utf8) + content + [0, 0, 0, 0]
    }
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    return signature + chunk("IHDR", number(width) + number(height) + [8, 2, 0, 0, 0])
        + chunk("tEXt", Array(comment.utf8)) + chunk("IDAT", [])
}

/// A simulated App Store, and an app with a folder on disk.
private struct AppStore {
    let directory = TemporaryDirectory()
    let server: SimulatedRetentionAPI
    let identity: AppIdentity
    let transport: CurlTransport
    let url: String
    let environment: RetentionEnvironment
    let time: SkippingClock

    init(
        _ environment: RetentionEnvironment = .sandbox, enforcesRates: Bool = false
    ) async throws {
        let key = try SigningKey(for: .es256)
        let time = SkippingClock()
        self.time = time
        identity = AppIdentity(
            bundleID: "com.example.app", appleID: 1, issuerID: "issuer", keyID: "KEY", key: key)
        server = SimulatedRetentionAPI(
            SimulatedRetentionAPI.App(
                bundleID: "com.example.app", issuerID: "issuer", keyID: "KEY", key: key.publicKey),
            environment, logger: LogCollector().logger, enforcesRates: enforcesRates,
            milliseconds: { time.clock.milliseconds() })
        transport = try CurlTransport()
        self.environment = environment
        url = try await server.start()
        try Directory.make(directory.file("messages"))
        try Directory.make(directory.file("images"))
    }

    var statesPath: String { directory.file("data/states.json") }

    func api(_ transport: (any HTTPTransport)? = nil, identity: AppIdentity? = nil) -> RetentionAPI {
        RetentionAPI(
            environment, identity ?? self.identity, transport: transport ?? self.transport, baseURL: url,
            clock: time.clock)
    }

    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }
    func write(_ bytes: [UInt8], to name: String) throws {
        try AtomicFile.write(bytes, to: directory.file(name))
    }

    /// Writes messages, the first of which has the image, and a default.
    func fill(messages: Int, images: Int, text: String = "Stay") throws {
        for number in 0..<images {
            try write(png(width: 3840, height: 160, "\(number)"), to: "images/i\(number).png")
        }
        for number in 0..<messages {
            let image = #","image":{"file":"i\#(number).png","altText":"a"}"#
            let message = #"{"header":"\#(text) \#(number)","body":"b"\#(number < images ? image : "")}"#
            try write(message, to: "messages/m\(number).json")
        }
        try write(#"{"p.monthly":{"en-US":"m0","de-DE":"m1"}}"#, to: "defaults.json")
    }

    func folder() throws -> RetentionFolder {
        let (folder, problems) = RetentionFolder.read(directory.path)
        try #require(problems.isEmpty, "\(problems)")
        return folder
    }

    func apply(
        _ transport: (any HTTPTransport)? = nil, longestWait: Duration = .seconds(60)
    ) async throws -> RetentionApplication.Outcome {
        try await RetentionApplication(
            api(transport), folder(), statesPath: statesPath, clock: time.clock
        ).run(longestWait: longestWait)
    }
}

private func key(_ locale: String = "en-US") throws -> DefaultMessages.Key {
    DefaultMessages.Key(try #require(ProductID("p.monthly")), try #require(StoreLocale(locale)))
}

@Suite struct RetentionAPITests {
    private let id = RetentionID("a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890")
    private let other = RetentionID("b1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890")

    @Test func `each call gets its good answer`() async throws {
        let store = try await AppStore()
        let api = store.api()
        let (image, message) = (try #require(id), try #require(other))
        try await api.uploadImage(image, .full, png: png(width: 3840, height: 160))
        #expect(try await api.images() == [image: .approved])
        let content = RetentionMessage(
            header: "h", body: "b", image: RetentionMessage.Image(image, alternativeText: "a"))
        try await api.uploadMessage(message, content)
        #expect(try await api.messages() == [message: .approved])
        #expect(try await api.defaultMessage(key()) == nil)
        try await api.setDefault(key(), to: message)
        try await api.setDefault(key(), to: message)
        #expect(try await api.defaultMessage(key()) == message)
        try await api.deleteDefault(key())
        try await api.deleteDefault(key())
        #expect(try await api.defaultMessage(key()) == nil)
        #expect(try await api.realtimeURL() == nil)
        try await api.setRealtimeURL(#require(RealtimeURL("https://example.com/retention/shop/sandbox")))
        #expect(try await api.realtimeURL() == "https://example.com/retention/shop/sandbox")
        try await api.deleteRealtimeURL()
        try await api.deleteMessage(message)
        try await api.deleteImage(image)
        #expect(try await api.messages().isEmpty)
        #expect(try await api.images().isEmpty)
        await store.server.stop()
    }

    @Test func `each error of the App Store is typed by its code`() async throws {
        let store = try await AppStore(.production)
        let api = store.api()
        let (image, message) = (try #require(id), try #require(other))
        let full = png(width: 3840, height: 160)
        let plain = RetentionMessage(header: "h", body: "b")
        let withImage = RetentionMessage(
            header: "h", body: "b", image: RetentionMessage.Image(image, alternativeText: "a"))
        let long = RetentionMessage(header: String(repeating: "a", count: 67), body: "b")
        let key = try key()
        func expect(
            _ code: RetentionErrorCode, _ call: () async throws(RetentionAPIError) -> Void
        ) async {
            do throws(RetentionAPIError) {
                try await call()
                Issue.record("no error instead of \(code)")
            } catch {
                #expect(error.knownCode == code, "\(error)")
            }
        }
        await expect(.imageNotFound) { () async throws(RetentionAPIError) in try await api.deleteImage(image)
        }
        await expect(.invalidImage) { () async throws(RetentionAPIError) in
            try await api.uploadImage(image, .full, png: [1])
        }
        await expect(.imageSize) { () async throws(RetentionAPIError) in
            try await api.uploadImage(image, .bulletPoint, png: full)
        }
        try await api.uploadImage(image, .full, png: full)
        await expect(.imageExists) { () async throws(RetentionAPIError) in
            try await api.uploadImage(image, .full, png: full)
        }
        await expect(.headerTooLong) { () async throws(RetentionAPIError) in
            try await api.uploadMessage(message, long)
        }
        await expect(.messageNotFound) { () async throws(RetentionAPIError) in
            try await api.setDefault(key, to: message)
        }
        try await api.uploadMessage(message, withImage)
        await expect(.messageExists) { () async throws(RetentionAPIError) in
            try await api.uploadMessage(message, plain)
        }
        await expect(.imageInUse) { () async throws(RetentionAPIError) in try await api.deleteImage(image) }
        await expect(.messageNotApproved) { () async throws(RetentionAPIError) in
            try await api.setDefault(key, to: message)
        }
        store.server.review { $0 == image ? .rejected : .approved }
        await expect(.imageNotApproved) { () async throws(RetentionAPIError) in
            try await api.setDefault(key, to: message)
        }
        await expect(.realtimeURLNotFound) { () async throws(RetentionAPIError) in
            try await api.deleteRealtimeURL()
        }
        await #expect(throws: RetentionAPIError.noAccess) {
            try await api.startPerformanceTest(originalTransactionID: "1")
        }
        await store.server.stop()
    }

    @Test func `another key, issuer or bundle is unauthorized`() async throws {
        let store = try await AppStore()
        let key = store.identity.key
        let others = [
            AppIdentity(
                bundleID: "com.example.app", appleID: 1, issuerID: "issuer", keyID: "KEY",
                key: try SigningKey(for: .es256)),
            AppIdentity(bundleID: "other", appleID: 1, issuerID: "issuer", keyID: "KEY", key: key),
            AppIdentity(bundleID: "com.example.app", appleID: 1, issuerID: "other", keyID: "KEY", key: key),
            AppIdentity(bundleID: "com.example.app", appleID: 1, issuerID: "issuer", keyID: "X", key: key),
        ]
        for identity in others {
            await #expect(throws: RetentionAPIError.unauthorized) {
                try await store.api(identity: identity).messages()
            }
        }
        #expect(store.server.calls.isEmpty)
        await store.server.stop()
    }

    @Test func `429 waits until its time in milliseconds, and a temporary error is retried`() async throws {
        let store = try await AppStore()
        let start = 1_790_000_000_000
        store.server.misbehave(.limitsRate(untilMilliseconds: start + 50_000))
        store.server.misbehave(.fails(.internalErrorToRetry))
        #expect(try await store.api().messages().isEmpty)
        #expect(store.time.elapsed >= .seconds(52))
        #expect(store.server.calls.count == 3)
        // A wait of more than two minutes is the caller's decision.
        let late = start + Int(store.time.elapsed / .milliseconds(1)) + 200_000
        store.server.misbehave(.limitsRate(untilMilliseconds: late))
        await #expect(throws: RetentionAPIError.rateLimited(untilMilliseconds: late)) {
            try await store.api().messages()
        }
        store.server.misbehave(.fails(.internalError))
        await #expect(throws: RetentionAPIError.refused(status: 500, errorCode: 5_000_000)) {
            try await store.api().messages()
        }
        await store.server.stop()
    }

    @Test(arguments: [(RetentionEnvironment.sandbox, 10), (.production, 1)])
    func `calls of a kind are spread by Apple's table`(_ environment: RetentionEnvironment, _ factor: Int)
        async throws
    {
        let store = try await AppStore(environment)
        let api = store.api()
        for _ in 0..<3 { _ = try await api.messages() }
        #expect(store.time.elapsed == .seconds(2 * factor))
        _ = try await api.images()
        #expect(store.time.elapsed == .seconds(2 * factor))
        let before = store.time.elapsed
        for _ in 0..<3 { try? await api.setDefault(key(), to: #require(id)) }
        #expect(store.time.elapsed - before == .milliseconds(200 * factor))
        await store.server.stop()
    }
}

@Suite struct RetentionApplicationTests {
    @Test func `an application uploads, sets defaults and records states, and a second one changes nothing`()
        async throws
    {
        let store = try await AppStore()
        try store.fill(messages: 4, images: 2)
        #expect(try await store.apply() == .done)
        let folder = try store.folder()
        #expect(store.server.messages == Set(folder.messages.map(\.id)))
        #expect(store.server.images == Set(folder.images.map(\.id)))
        #expect(
            store.server.defaults.values.sorted { $0.text < $1.text }
                == ["m0", "m1"].compactMap { folder.message($0)?.id }.sorted { $0.text < $1.text })
        let states = try #require(try RetentionStates.read(store.statesPath))
        #expect(folder.messages.allSatisfy { states.isApproved($0) })
        let calls = store.server.calls.count
        #expect(try await store.apply() == .done)
        let later = store.server.calls.dropFirst(calls)
        #expect(later.allSatisfy { $0.hasPrefix("GET") || $0.hasPrefix("PUT default/") }, "\(later)")
        await store.server.stop()
    }

    @Test func `a changed message is a new one, and the old one goes after the default moved`() async throws {
        let store = try await AppStore()
        try store.fill(messages: 2, images: 1)
        _ = try await store.apply()
        let old = try store.folder()
        try store.fill(messages: 2, images: 1, text: "Come back")
        try store.write(png(width: 3840, height: 160, "new"), to: "images/i0.png")
        #expect(try await store.apply() == .done)
        let folder = try store.folder()
        #expect(Set(old.messages.map(\.id)).isDisjoint(with: store.server.messages))
        #expect(store.server.messages == Set(folder.messages.map(\.id)))
        #expect(store.server.images == Set(folder.images.map(\.id)))
        #expect(Set(store.server.defaults.values) == Set(folder.messages.map(\.id)))
        await store.server.stop()
    }

    @Test func `content from elsewhere is not deleted`() async throws {
        let store = try await AppStore()
        try store.fill(messages: 2, images: 0)
        let foreign = try #require(RetentionID("a1b2c3d4-e5f6-4890-a1b2-c3d4e5f67890"))
        try await store.api().uploadMessage(foreign, RetentionMessage(header: "h", body: "b"))
        #expect(try await store.apply() == .done)
        #expect(store.server.messages.contains(foreign))
        await store.server.stop()
    }

    @Test func `a message that Apple still checks ends as pending, a rejected one stops everything`()
        async throws
    {
        let store = try await AppStore(.production)
        try store.fill(messages: 2, images: 0)
        #expect(try await store.apply() == .pending(["m0", "m1"]))
        #expect(store.time.elapsed >= .seconds(60))
        #expect(store.server.defaults.isEmpty)
        let bad = try #require(try store.folder().message("m1")).id
        store.server.review { $0 == bad ? .rejected : .approved }
        let calls = store.server.calls.count
        #expect(try await store.apply() == .rejected(["m1"]))
        #expect(store.server.calls.dropFirst(calls).allSatisfy { $0.hasPrefix("GET") })
        try store.write(#"{"header":"Better","body":"b"}"#, to: "messages/m1.json")
        #expect(try await store.apply(longestWait: .zero) == .pending(["m1"]))
        store.server.review { _ in .approved }
        #expect(try await store.apply() == .done)
        #expect(!store.server.messages.contains(bad))
        await store.server.stop()
    }

    @Test(arguments: [false, true])
    func `an application that is killed at any call and repeated ends in the same state`(_ isSent: Bool)
        async throws
    {
        let store = try await AppStore()
        try store.fill(messages: 3, images: 1)
        let folder = try store.folder()
        var interruptions = 0
        for calls in 0..<40 {
            let transport = InterruptedTransport(store.transport, after: calls, isSent: isSent)
            if (try? await store.apply(transport)) == .done { break }
            interruptions += 1
        }
        #expect(interruptions > 5)
        #expect(try await store.apply() == .done)
        #expect(store.server.messages == Set(folder.messages.map(\.id)))
        #expect(store.server.images == Set(folder.images.map(\.id)))
        #expect(store.server.defaults.count == 2)
        await store.server.stop()
    }

    @Test func `40 messages and 10 images that are killed at random end in one state, and nothing twice`()
        async throws
    {
        var generator = SeededGenerator(seed: 20)
        let store = try await AppStore()
        try store.fill(messages: 40, images: 10)
        let folder = try store.folder()
        var kills = 0
        var isDone = false
        while !isDone, kills < 200 {
            let transport = InterruptedTransport(
                store.transport, after: Int.random(in: 2...25, using: &generator),
                isSent: Bool.random(using: &generator))
            isDone = (try? await store.apply(transport)) == .done
            if !isDone { kills += 1 }
        }
        #expect(kills > 5)
        #expect(try await store.apply() == .done)
        #expect(store.server.messages == Set(folder.messages.map(\.id)))
        #expect(store.server.messages.count == 40)
        #expect(store.server.images == Set(folder.images.map(\.id)))
        #expect(store.server.images.count == 10)
        #expect(store.server.defaults.count == 2)
        // Nothing is deleted on the way, so nothing was uploaded under another identifier.
        #expect(!store.server.calls.contains { $0.hasPrefix("DELETE") })
        let calls = store.server.calls.count
        #expect(try await store.apply() == .done)
        #expect(!store.server.calls.dropFirst(calls).contains { $0.hasPrefix("PUT message/") })
        await store.server.stop()
    }

    @Test func `an upload whose answer was lost is an upload that exists`() async throws {
        let store = try await AppStore()
        try store.fill(messages: 2, images: 1)
        for (number, call) in ["PUT image/", "PUT message/"].enumerated() {
            try store.write(#"{"header":"New \#(number)","body":"b"}"#, to: "messages/new.json")
            store.server.misbehave(.losesAnswer, at: call)
            // libcurl may repeat the call on a new connection, and then gets 409.
            _ = try? await store.apply()
            #expect(store.server.lostCount == number + 1)
        }
        #expect(try await store.apply() == .done)
        let folder = try store.folder()
        #expect(store.server.messages == Set(folder.messages.map(\.id)))
        await store.server.stop()
    }

    @Test func `a default that the folder does not have any more is deleted, also after a kill`() async throws
    {
        let store = try await AppStore()
        try store.fill(messages: 2, images: 0)
        #expect(try await store.apply() == .done)
        try store.write(#"{"p.monthly":{"en-US":"m0"}}"#, to: "defaults.json")
        let application = RetentionApplication(
            store.api(), try store.folder(), statesPath: store.statesPath, clock: store.time.clock)
        #expect(try application.oldDefaults() == [key("de-DE")])
        for isSent in [false, true] {
            // The lists, the lists again and the default that stays come first.
            let transport = InterruptedTransport(store.transport, after: 5, isSent: isSent)
            _ = try? await store.apply(transport)
            #expect(try application.oldDefaults() == [key("de-DE")])
        }
        #expect(try await store.apply() == .done)
        #expect(try store.server.defaults.keys.map(\.self) == [key()])
        #expect(try application.oldDefaults().isEmpty)
        let calls = store.server.calls.count
        #expect(try await store.apply() == .done)
        #expect(!store.server.calls.dropFirst(calls).contains { $0.hasPrefix("DELETE") })
        await store.server.stop()
    }

    @Test(arguments: RetentionEnvironment.allCases)
    func `a client that waits for its turn gets no 429 of an App Store that counts`(
        _ environment: RetentionEnvironment
    ) async throws {
        let store = try await AppStore(environment, enforcesRates: true)
        let api = store.api()
        for _ in 0..<3 { _ = try await api.messages() }
        for _ in 0..<12 { try await api.deleteDefault(key()) }
        #expect(store.server.limitedCount == 0)
        let hasty = RetentionAPI(
            environment, store.identity, transport: store.transport, baseURL: store.url, isPaced: false,
            clock: store.time.clock)
        // The client waits until the time that the answer names, and then succeeds.
        for _ in 0..<2 { _ = try await hasty.images() }
        #expect(store.server.limitedCount == 1)
        await store.server.stop()
    }
}
