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
    let files: DayFiles
    private let logger: Logger
    private let queue = DispatchQueue(label: "balloon.payments")

    init(dataDirectory: String, logger: Logger) {
        files = DayFiles(directory: dataDirectory + "/payments", prefix: "payments-")
        self.logger = logger
    }

    /// Appends a line about an attempt of this request's payment, unless the customer was erased with the
    /// lines of payments; syncs the file.
    ///
    /// A failure is only logged, because the open request has the state too.
    func append(
        _ id: String, of payment: Payment, in request: OpenRequest, at now: Timestamp, slug: String
    ) async {
        guard request.keepsRecords, let attempt = payment.attempt(id) else { return }
        let line = JSONWriter.object([
            "at": now.rfc3339,
            // The whole identifier reaches the payment's endpoints.
            "request": request.requestIdentifier.cut(toBytes: InboundEvent.shownIdentifierLength),
            "attempt": id, "amount": attempt.amount, "currency": payment.currency,
            "state": attempt.state.rawValue, "reference": attempt.reference,
            "transaction": attempt.transaction,
            "customer": Hex.encode(SHA256.hash(Array(request.customer.rawValue.utf8))),
        ])
        do {
            try await queue.run { [files] in try files.append(line, at: now, slug, isSynced: true) }
        } catch {
            logger.error(
                "a payment could not be recorded; balloon payments list shows an earlier state of it",
                metadata: ["business": "\(slug)", "attempt": "\(id)", "error": "\(error)"])
        }
    }

    /// Returns the transactions of decrypted tokens since `start`, with the attempts that used them.
    func transactions(
        of slug: String, since start: Timestamp
    ) throws -> [(transaction: String, attempt: String, at: Timestamp)] {
        var found: [(transaction: String, attempt: String, at: Timestamp)] = []
        for path in try files.paths(slug, since: start) {
            let text = try File(path, for: .reading).readAll()
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
}
