import BalloonWire
import BusinessMessages

/// The identity of a message's trace: a hash of business and message id.
///
/// It is the same in every process, attempt and log line, without being stored.
struct TraceID: Sendable, Hashable {
    /// 32 hexadecimal digits, as in W3C Trace Context.
    let text: String

    /// Derives the identity.
    init(_ business: BusinessID, _ message: MessageID) {
        text = Self.hash([business.rawValue, message.rawValue], bytes: 16)
    }

    /// The header `traceparent` of an attempt to deliver the message: version, trace, span and the flag `sampled`.
    ///
    /// The span is derived too, so the attempt has the same one in the server's log and in the handler's traces.
    func parent(delivery: UInt64, attempt: Int) -> String {
        "00-\(text)-\(Self.hash([text, "\(delivery)", "\(attempt)"], bytes: 8))-01"
    }

    /// A part of the SHA-256 of texts, each with a zero byte after it, which no identifier contains.
    private static func hash(_ parts: [String], bytes: Int) -> String {
        var input: [UInt8] = []
        for part in parts {
            input += part.utf8
            input.append(0)
        }
        return Hex.encode(SHA256.hash(input).prefix(bytes))
    }
}

extension StageEvent {
    /// The trace of the customer's message; nil before the message is known, and for a reply, whose lines have the delivery.
    var trace: TraceID? {
        guard stage != .reply, let business, let message else { return nil }
        return TraceID(business, message)
    }
}
