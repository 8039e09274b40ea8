import BalloonPOSIX
import BusinessMessages
import MessageServer
import Payments

/// Formats reversals for standard output, as text or JSON; each result ends with a line feed.
enum ReversalRendering {
    /// Formats a reversal as one line of text.
    ///
    /// `ATTEMPT  2026-11-21T10:00:00.123Z  unreversed  BUSINESS  CUSTOMER  reversal: 59.00 EUR ch_1  (7 attempts)`.
    static func text(_ reversal: AttemptReversal) -> String {
        let attempt = reversal.attempt
        let state = attempt.state.rawValue
        return terminalText("\(attempt.id)  \(attempt.changedAt)  ")
            + (reversal.isDeadLetter ? TerminalStyle.output.failure(state) : state)
            + terminalText(
                "  \(reversal.business)  \(reversal.customer)  reversal: \(attempt.amount) \(reversal.currency)"
                    + "\(attempt.reference.map { " " + $0 } ?? "")  (\(attempt.failures) attempts)") + "\n"
    }

    /// Formats a reversal as one line of JSON.
    ///
    /// `{"attempt":"…","kind":"reversal","at":"…","status":"unreversed","business":"…","customer":"…","amount":"59.00",`
    /// `"currency":"EUR","reference":"…","attempts":7}`.
    static func json(_ reversal: AttemptReversal) -> String {
        let attempt = reversal.attempt
        return jsonLine([
            "attempt": attempt.id, "kind": "reversal", "at": attempt.changedAt.rfc3339,
            "status": attempt.state.rawValue, "business": reversal.business.rawValue,
            "customer": reversal.customer.rawValue, "amount": attempt.amount, "currency": reversal.currency,
            "reference": attempt.reference, "attempts": attempt.failures,
        ])
    }
}
