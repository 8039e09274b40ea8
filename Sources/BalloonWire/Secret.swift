import BalloonJSON

/// One or more bytes that are never printed; the property ``bytes`` is the only access to them.
package struct Secret: Sendable {
    /// The secret bytes: only for a cipher or a file with mode 0600, never for a log line or an error.
    package let bytes: [UInt8]

    /// Creates a secret; throws `WireError.secretEmpty` when `bytes` is empty.
    package init(_ bytes: [UInt8]) throws(WireError) {
        guard !bytes.isEmpty else { throw .secretEmpty }
        self.bytes = bytes
    }

    /// Decodes standard Base64, the form of Apple's MSP secrets; ignores surrounding white space.
    ///
    /// Throws `WireError.base64Malformed`, or `.secretEmpty` when nothing is left.
    package init(base64 text: String) throws(WireError) {
        let text = text.utf8.span
        var (start, end) = (0, text.count)
        while start < end, isWhiteSpace(text[start]) { start += 1 }
        while end > start, isWhiteSpace(text[end - 1]) { end -= 1 }
        guard let bytes = Base64.decode(text.extracting(start..<end), alphabet: .standard) else {
            throw .base64Malformed
        }
        try self.init(bytes)
    }

    /// Creates a secret of `byteCount` random bytes.
    package static func random(byteCount: Int) -> Secret {
        precondition(byteCount > 0, "a secret has at least one byte")
        return Secret(unchecked: randomBytes(byteCount))
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

extension Secret: Equatable {
    /// Compares in constant time.
    package static func == (left: Secret, right: Secret) -> Bool {
        constantTimeEquals(left.bytes, right.bytes)
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A mask that shows neither the bytes nor their number.
    package var description: String { "********" }

    /// A mask of constant length, like ``description``.
    package var debugDescription: String { description }

    /// A mirror without children, so that `dump` and the interpolation of a value with a secret show no byte.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

private func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
}
