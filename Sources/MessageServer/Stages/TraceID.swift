import BalloonWire
import BusinessMessages

/// The identity of a message's trace: a hash of business and message id.
///
/// The identity is the same in every process, attempt and log line, without being stored. Deriving it for a
/// log line takes 0.4 µs and no allocation, because the threads that read requests write one line for each
/// message.
struct TraceID: Sendable, Hashable {
    private let bits: UInt128

    /// Derives the identity.
    init(_ business: BusinessID, _ message: MessageID) {
        bits = Self.hash(business.rawValue, message.rawValue)
    }

    /// 32 hexadecimal digits, as in W3C Trace Context.
    var text: String {
        var digits: [UInt8] = []
        append(to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    /// Appends the digits of ``text``.
    func append(to bytes: inout [UInt8]) {
        for shift in stride(from: 124, through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: bits >> shift) & 15
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// The header `traceparent` of an attempt to deliver the message: version, trace, span and the flag `sampled`.
    ///
    /// The span is derived too, so an attempt has the same span in the server's log and in the handler's
    /// traces.
    func parent(delivery: UInt64, attempt: Int) -> String {
        let text = text
        let span = Hex.encode(SHA256.hash(Array("\(text)\0\(delivery)\0\(attempt)\0".utf8)).prefix(8))
        return "00-\(text)-\(span)-01"
    }

    /// Returns the first 16 bytes of the SHA-256 of two texts; each text is followed by a zero byte as a
    /// separator.
    private static func hash(_ first: String, _ second: String) -> UInt128 {
        let zero: InlineArray<1, UInt8> = [0]
        var hash = SHA256()
        hash.update(first.utf8Span.span)
        hash.update(zero.span)
        hash.update(second.utf8Span.span)
        hash.update(zero.span)
        let digest = hash.finish()
        return (0..<16).reduce(0) { $0 << 8 | UInt128(digest[$1]) }
    }
}

extension StageEvent {
    /// The trace of the customer's message; nil before the message is known, and for a sent message that is
    /// no reply.
    var trace: TraceID? {
        guard let business, let message = stage == .reply ? inReplyTo : message else { return nil }
        return TraceID(business, message)
    }
}
