import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore
import Payments

/// An operator's decision about dead letters that are reversals of payment attempts.
struct ReversalDecision: Sendable {
    /// The change that the decision makes to each attempt.
    let action: Payment.ReversalAction
    /// The keys of the attempts at the payment provider, 64 hexadecimal digits each.
    let attempts: [String]

    /// Applies the decision to a data directory that no server uses; the next server asks the handlers.
    func apply(to store: Store, dataDirectory: String, logger: Logger) async throws {
        // This process has no configuration, so the slug of a business is found in the earlier records.
        let slugs = Dictionary(
            try PaymentRecordList(dataDirectory: dataDirectory).attempts().attempts.map {
                ($0.attempt, $0.slug)
            }
        ) { _, last in last }
        try await apply(
            to: store.requests, PaymentRecords(dataDirectory: dataDirectory, logger: logger), at: .now()
        ) { _, attempt in slugs[attempt] }
    }

    /// Applies the decision; throws ``ReversalNotDead``, before any change, when one of the attempts is no
    /// dead letter.
    ///
    /// When another command changes an attempt at the same time, the attempts before that one stay changed.
    func apply(
        to requests: OpenRequests, _ records: PaymentRecords, at now: Timestamp,
        slug: (BusinessID, _ attempt: String) -> String?
    ) async throws {
        var names: [String: RequestName] = [:]
        for name in try await requests.busyPayments() {
            let request = try await onDisk { try requests.find(name) }
            for attempt in request?.paymentPayload?.payment.attempts ?? [] where attempt.state == .unreversed
            {
                names[attempt.id] = name
            }
        }
        if let other = attempts.first(where: { names[$0] == nil }) { throw ReversalNotDead(attempt: other) }
        for id in attempts {
            guard let name = names[id] else { continue }
            let changed = try await requests.update(name) {
                [action] request, _ -> (OpenRequest, Payment)? in
                guard var payload = request?.paymentPayload, let open = request else { return nil }
                guard payload.payment.decideReversal(id, action, at: now) else { return nil }
                request?.set(payload)
                return (open, payload.payment)
            }
            // Another command has changed the attempt since the search.
            guard let (open, payment) = changed else { throw ReversalNotDead(attempt: id) }
            await records.append(
                id, of: payment, in: open, at: now, slug: slug(open.business, id) ?? "removed")
        }
    }
}

/// The error for an attempt whose reversal is not a dead letter, so that an operator has nothing to decide.
package struct ReversalNotDead: Error, CustomStringConvertible {
    /// The key of the attempt.
    package let attempt: String

    /// Creates the error.
    package init(attempt: String) { self.attempt = attempt }

    /// The reason for the operator.
    package var description: String { "the reversal of attempt \(attempt) is not a dead letter" }
}
