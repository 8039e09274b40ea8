import BalloonPOSIX
import BalloonWire
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// A data directory with a customer to forget, in every file that may name one, beside another customer.
struct ErasureFixture {
    static let forgotten = CustomerID("tel:+4930forgotten77")
    static let other = CustomerID("urn:mbid:other")
    static let second = BusinessID("a business whose folder is a hash")
    /// Parts of the customer's identifier, texts, and the identifiers of the messages.
    static let secrets = ["forgotten77", "SECRET-77", "id-77"]

    let directory: StoreDirectory
    let ownContent = Array("SECRET-77 photograph".utf8)
    let sharedContent = Array("a shared picture".utf8)

    init() async throws {
        directory = StoreDirectory()
        try await fill()
    }

    init(_ directory: StoreDirectory) { self.directory = directory }

    func copy() throws -> ErasureFixture { ErasureFixture(try directory.copy()) }

    func open(_ change: (inout StoreConfiguration) -> Void = { _ in }) throws -> Store {
        try directory.open {
            // Several segments.
            $0.maximumSegmentBytes = 1500
            change(&$0)
        }
    }

    func hash(_ content: [UInt8]) -> String { Hex.encode(SHA256.hash(content)) }

    func path(ofContent content: [UInt8]) -> String {
        "\(directory.path)/attachments/\(hash(content).prefix(2))/\(hash(content))"
    }

    func path(of customer: CustomerID, in folder: String = "conversations") -> String {
        let key = ConversationKey(business: business, customer: customer)
        return "\(directory.path)/\(folder)/\(ConversationPath.file(key))"
    }

    private func fill() async throws {
        let store = try open()
        for content in [ownContent, sharedContent] {
            try write(content, to: path(ofContent: content))
            // The file that says which business uses the content.
            try write([], to: path(ofContent: content) + ".0123456789abcdef0123456789abcdef")
        }
        let forgotten = Self.forgotten
        try await converse(
            store, "id-77-1", from: forgotten, files: [ownContent, sharedContent],
            state: "{\"s\":\"SECRET-77\"}")
        try await converse(store, "o-1", from: Self.other, files: [sharedContent], state: "{\"s\":1}")
        // A dead letter with a reason.
        _ = await store.append(message("id-77-2", from: forgotten, text: "SECRET-77"))
        try await store.finish(
            try await store.lease(), result: .rejected(reason: "SECRET-77 is not for sale"))
        // A conversation that waits for a person, with another business.
        _ = await store.append(message("id-77-3", from: forgotten, to: Self.second, text: "SECRET-77"))
        let handedOff = try await store.lease(Self.second)
        try await store.decide(
            handedOff, DecidedOutcome(.handedOff(reason: "SECRET-77 wants a person"), waitsForPerson: true))
        try await store.finish(handedOff, result: .handedOff(reason: "SECRET-77 wants a person"))
        // A decided delivery with a queued reply, and one that waits.
        _ = await store.append(message("id-77-4", from: forgotten, text: "SECRET-77"))
        let decided = try await store.lease()
        let reply = DecidedReply(
            id: MessageID("id-77-r4"), kind: .text, message: Array("{\"body\":\"SECRET-77\"}".utf8))
        try await store.decide(decided, DecidedOutcome(.handled, replies: [reply]))
        try await store.finish(decided, result: .handled)
        _ = await store.append(message("id-77-5", from: forgotten, text: "SECRET-77"))
        _ = try await store.requests.request(of: ReplyID(record: 3, index: 0)) { now in
            (
                "secret",
                OpenRequest(
                    .signIn, business: business, customer: forgotten, requestIdentifier: "SECRET-77",
                    entry: ReplyID(record: 3, index: 0), payload: Array("{}".utf8),
                    stateLifetime: .seconds(600),
                    releaseLifetime: .zero, at: now)
            )
        }
        await store.close()
        try addFiles()
    }

    /// Writes the files that other parts of the server write.
    private func addFiles() throws {
        let line = "{\"at\":\"2026-11-21T10:00:00.000Z\",\"customer\":"
        let customers = [Self.forgotten, Self.other].map { Hex.encode(SHA256.hash($0.rawValue.utf8)) }
        let payments = customers.map { "\(line)\"\($0)\"}\n" }.joined()
        try write(Array(payments.utf8), to: directory.path + "/payments/shop/payments-2026-11-21.jsonl")
        let scratch = "{\"customer\":\"\(Self.forgotten.rawValue)\",\"body\":\"SECRET-77\"}"
        try write(Array(scratch.utf8), to: directory.path + "/handlers/shop/57.json")
        try write(Array("SECRET-77".utf8), to: path(of: Self.forgotten, in: "damaged") + ".before")
        try write(Array("SECRET-77".utf8), to: path(of: Self.forgotten) + ".12.new")
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        try Directory.make(Directory.parent(of: path))
        try AtomicFile.write(bytes, to: path)
    }

    /// A message with files, a state and an accepted reply.
    private func converse(
        _ store: Store, _ id: String, from customer: CustomerID, files: [[UInt8]], state: String
    ) async throws {
        let text = customer == Self.forgotten ? "SECRET-77" : "hello"
        _ = await store.append(message(id, from: customer, text: text))
        let delivery = try await store.lease()
        try await store.recordResults(
            delivery, files: files.map { .stored(sha256: hash($0), sizeBytes: $0.count) })
        let reply = DecidedReply(
            id: MessageID(id + "-r"), kind: .text, message: Array("{\"body\":\"\(text)\"}".utf8))
        try await store.decide(
            delivery, DecidedOutcome(.handled, replies: [reply], state: Array(state.utf8)))
        try await store.settleReply(0, of: delivery, .accepted(status: 200))
        try await store.finish(delivery, result: .handled)
    }

    /// The files with one of the secrets in their content or their path; without secrets, with any trace of the customer.
    func traces(of secrets: [String]? = nil) throws -> [String] {
        let all = Self.secrets + [Hex.encode(SHA256.hash(Self.forgotten.rawValue.utf8))]
        return try paths(in: directory.path).filter { path in
            let bytes = try File(path, for: .reading).readAll()
            return (secrets ?? all).contains { secret in
                path.contains(secret) || bytes[...].firstPosition(of: Array(secret.utf8)) != nil
            }
        }
    }

    private func paths(in folder: String) throws -> [String] {
        try Directory.names(in: folder).flatMap { name in
            let path = folder + "/" + name
            return Directory.isDirectory(path) ? try paths(in: path) : [path]
        }
    }

    /// The events of the other customer in the journal.
    func otherEvents() throws -> [String] {
        try JournalFiles(dataDirectory: directory.path).events { $0.customer == Self.other }.map {
            "\($0.record) \($0.status) \($0.replies) \(String(decoding: $0.message.text, as: UTF8.self))"
        }
    }
}
