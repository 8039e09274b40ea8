import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Dispatch
import Logging
import TestSupport
import Testing

@testable import MessageStore

/// A test's own data directory, with stores opened in it.
final class StoreDirectory: Sendable {
    let temporary = TemporaryDirectory()
    let log = LogCollector()

    var path: String { temporary.file("data") }
    var journal: String { path + "/journal" }

    var configuration: StoreConfiguration {
        var configuration = StoreConfiguration(directory: path)
        configuration.lazyDelay = .milliseconds(1)
        // Tests compare files, so preallocation is disabled by default.
        configuration.preparedBytes = 0
        // Rounds of syncs in tests start without waiting for the sync interval.
        configuration.conversationSyncInterval = .zero
        return configuration
    }

    /// Opens a store; it records messages as `kind`, or no messages when that is nil.
    func open(
        recordingAs kind: Kind? = .text, repeating original: MessageID? = nil,
        _ change: (inout StoreConfiguration) -> Void = { _ in }
    ) throws -> Store {
        var configuration = configuration
        // Tests count records, so by default no probe writes any.
        configuration.probeInterval = .seconds(3600)
        configuration.checkpointInterval = .seconds(3600)
        change(&configuration)
        let store = try Store.open(configuration, logger: log.logger)
        if let kind { store.startRecording { try store.write($0, as: kind, repeating: original) } }
        return store
    }

    /// The files of a killed process: a copy of every file as it is now, except files that are removed meanwhile.
    func copy() throws -> StoreDirectory {
        let copy = StoreDirectory()
        try copyTree(path, to: copy.path)
        return copy
    }

    /// Writes the file of calls that a process leaves when it dies while it delivers these records.
    func leave(_ records: [UInt64], _ step: InFlightCalls.Step = .delivers) throws {
        let lines = records.map { record in
            let digits = "\(record)"
            return String(decoding: [step.rawValue], as: UTF8.self)
                + String(repeating: "0", count: 18 - digits.count) + digits + "\n"
        }
        try AtomicFile.write(Array(lines.joined().utf8), to: path + "/calls")
    }

    /// The names of the journal's files.
    func segments() throws -> [String] { try Directory.names(in: journal) }

    /// The lines of a segment, without line feeds.
    func lines(_ segment: String) throws -> [[UInt8]] {
        try File(journal + "/" + segment, for: .reading).readAll()
            .split(separator: UInt8(ascii: "\n")).map(Array.init)
    }

    /// Every record of the journal, parsed.
    func records() throws -> [JSONValue] {
        try segments().flatMap { try lines($0) }.map { try JSONDocument($0).root }
    }

    /// The journal's records of this type.
    func records(_ type: String) throws -> [JSONValue] { try records().filter { $0["type"]?.string == type } }

    /// Replaces the content of a journal file.
    func write(_ bytes: [UInt8], to segment: String) throws {
        try Directory.make(journal)
        try AtomicFile.write(bytes, to: journal + "/" + segment)
    }

    /// Makes the directory look like a store's.
    func prepare() throws {
        try Directory.make(journal)
        try AtomicFile.write(Array("1\n".utf8), to: path + "/VERSION")
    }
}

func copyTree(_ source: String, to target: String) throws {
    try Directory.make(target)
    for name in try Directory.names(in: source) {
        let path = source + "/" + name
        if Directory.isDirectory(path) {
            try copyTree(path, to: target + "/" + name)
        } else {
            let bytes: [UInt8]
            do throws(SystemError) { bytes = try File(path, for: .reading).readAll() } catch {
                if error.isMissing { continue }
                throw error
            }
            try AtomicFile.write(bytes, to: target + "/" + name)
        }
    }
}

/// A line of the journal in the documented format, built without the store's code.
func journalLine(_ record: Int, batch: Int, _ members: String) -> [UInt8] {
    let covered = Array("{\"record\":\(record),\"batch\":\(batch),\(members)".utf8)
    let digits = String(CRC32.checksum(of: covered), radix: 16)
    let checksum = String(repeating: "0", count: 8 - digits.count) + digits
    return covered + Array(",\"crc32\":\"\(checksum)\"}\n".utf8)
}

/// The members of a message's record.
func messageMembers(_ id: String, customer: String = "urn:mbid:c") -> String {
    "\"type\":\"message\",\"at\":\"2026-11-21T10:00:00.123Z\",\"business\":\"b\",\"customer\":\"\(customer)\","
        + "\"id\":\"\(id)\",\"message\":{\"id\":\"\(id)\"}"
}

let segmentMembers = "\"type\":\"segment\",\"format\":1,\"at\":\"2026-11-21T10:00:00.000Z\""

let business = BusinessID("b")
let customer = CustomerID("urn:mbid:c")

func message(
    _ id: String, from customer: CustomerID = customer, to business: BusinessID = business,
    text: String = "hello",
    reference: Bool = false
) -> ReceivedMessage {
    ReceivedMessage(
        business: business, customer: customer, id: MessageID(id),
        attributes: ReceivedAttributes(capabilityList: "QUICK,LIST", locale: "en_US"),
        message: Array("{\"id\":\"\(id)\",\"type\":\"text\",\"body\":\"\(text)\"}".utf8),
        hasPayloadReference: reference)
}

extension Store {
    /// Appends a message, and waits until it is answered and recorded.
    ///
    /// Conversations are recorded in any order, so messages of several customers would otherwise be leased in any
    /// order.
    func append(_ message: ReceivedMessage) async -> AppendResult {
        let result = await withCheckedContinuation { continuation in
            append(message) { continuation.resume(returning: $0) }
        }
        let key = ConversationKey(business: message.business, customer: message.customer)
        await conversations.partition(of: key).rest()
        return result
    }

    /// Ends a reply of a delivery as a sender would.
    func settleReply(_ index: Int, of delivery: Delivery, _ result: ReplyResult) async throws {
        let entry = try #require(leaseReply(ReplyID(record: delivery.record, index: index)))
        try await settle(entry, result)
    }

    /// Returns when the recorder has tried every message that it was given, also those from earlier processes.
    func rest() async { for partition in conversations.all { await partition.rest() } }

    /// Leases the next delivery; throws when there is none within ``WaitLimit``.
    func lease(_ business: BusinessID = business) async throws -> Delivery {
        let waiter = Task { await nextDelivery(for: business) }
        let delivery = await WaitLimit.apply(expire: { waiter.cancel() }) { await waiter.value }
        return try #require(delivery, "no delivery within \(WaitLimit.seconds) s")
    }
}

extension ConversationPartition {
    /// Returns when the recorder has tried every message that it was given.
    func rest() async { await Task(executorPreference: executor) {}.value }
}

extension Delivery {
    var text: String { String(decoding: message, as: UTF8.self) }
}
