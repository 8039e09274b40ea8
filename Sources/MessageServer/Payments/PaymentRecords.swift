import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Dispatch
import Logging
import MessageStore
import Payments

/// The attempts of payments, one JSON line for each change in `DATA/payments/SLUG/payments-YYYY-MM-DD.jsonl`.
///
/// A line has no token, no card and no contact; the customer is a hash, and the request is the beginning of
/// its identifier. The server acts on the open request
/// only; the lines are for accounting, and at the start for the transactions that were used.
final class PaymentRecords: Sendable {
    private static let prefix = "payments-"
    private let directory: String
    private let logger: Logger
    private let queue = DispatchQueue(label: "balloon.payments")

    init(dataDirectory: String, logger: Logger) {
        directory = dataDirectory + "/payments"
        self.logger = logger
    }

    /// One line of a file: an attempt after a change.
    struct Line: Sendable {
        let at: Timestamp
        let requestIdentifier: String
        let customer: CustomerID
        let currency: String
        let attempt: PaymentAttempt

        var json: [UInt8] {
            JSONWriter.object { writer in
                writer.field("at", at.rfc3339)
                // The whole identifier reaches the payment's endpoints.
                writer.field(
                    "request", requestIdentifier.cut(toBytes: InboundEvent.shownIdentifierLength))
                writer.field("attempt", attempt.id)
                writer.field("amount", attempt.amount)
                writer.field("currency", currency)
                writer.field("state", attempt.state.rawValue)
                writer.field("reference", attempt.reference)
                writer.field("transaction", attempt.transaction)
                writer.field("customer", Hex.encode(SHA256.hash(Array(customer.rawValue.utf8))))
            }
        }
    }

    /// Appends a line about an attempt of this request, unless the customer was erased with the lines of
    /// payments; syncs the file.
    ///
    /// A failure is only logged, because the open request has the state too.
    func append(_ line: Line, of request: OpenRequest, slug: String) async {
        guard request.keepsRecords else { return }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            queue.async { [self] in
                do { try write(line, slug) } catch {
                    logger.error(
                        "a payment could not be recorded; balloon payments list shows an earlier state of it",
                        metadata: [
                            "business": "\(slug)", "attempt": "\(line.attempt.id)", "error": "\(error)",
                        ])
                }
                continuation.resume()
            }
        }
    }

    private func write(_ line: Line, _ slug: String) throws {
        let folder = directory + "/" + slug
        try Directory.make(folder)
        let path = "\(folder)/\(Self.prefix)\(line.at.rfc3339.prefix(10)).jsonl"
        let isNew = !Directory.exists(path)
        let file = try File(path, for: .appending)
        try file.appendLine(line.json)
        try file.synchronize()
        if isNew {
            try Directory.synchronize(folder)
            try Directory.synchronize(directory)
        }
    }

    /// Returns the transactions of decrypted tokens since `start`, with the attempts that used them.
    func transactions(
        of slug: String, since start: Timestamp
    ) throws -> [(transaction: String, attempt: String, at: Timestamp)] {
        let folder = directory + "/" + slug
        guard Directory.exists(folder) else { return [] }
        let first = start.rfc3339.prefix(10)
        var found: [(transaction: String, attempt: String, at: Timestamp)] = []
        for name in try Directory.names(in: folder)
        where name.hasPrefix(Self.prefix) && name.dropFirst(Self.prefix.count).prefix(10) >= first {
            let text = try File(folder + "/" + name, for: .reading).readAll()
            for line in text.split(separator: 0x0A) {
                // Skip an incomplete line: a crash during the first write about an attempt prevents the call.
                guard let root = (try? JSONDocument(Array(line)))?.root,
                    let transaction = root["transaction"]?.string, let attempt = root["attempt"]?.string,
                    let at = root["at"]?.string.flatMap({ Timestamp(rfc3339: $0) }), at >= start
                else { continue }
                found.append((transaction, attempt, at))
            }
        }
        return found
    }

    /// Runs `change` while no line is appended.
    func excluding(_ change: () -> Void) { queue.sync(execute: change) }

    /// Removes the files of a business that are older than `days`.
    func sweep(_ slug: String, keeping days: Int, at now: Timestamp) throws {
        let folder = directory + "/" + slug
        guard Directory.exists(folder) else { return }
        let first = Timestamp(milliseconds: now.milliseconds - Int64(days) * 86_400_000).rfc3339.prefix(10)
        for name in try Directory.names(in: folder)
        where name.hasPrefix(Self.prefix) && name.hasSuffix(".jsonl") {
            // Dates of this form sort as texts.
            if name.dropFirst(Self.prefix.count).prefix(10) < first {
                try Directory.remove(folder + "/" + name)
            }
        }
    }
}
