/// HMAC-SHA-256 (RFC 2104) with the key schedule computed once.
package struct HMACSHA256: Sendable {
    /// The hash states after the padded key: `inner` then hashes the text, and `outer` hashes the result of
    /// `inner`.
    private let inner: SHA256
    private let outer: SHA256

    private static let blockBytes = 64

    /// Computes the key schedule.
    package init(key: Secret) {
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        // RFC 2104 §2: a key longer than a block is hashed first.
        let bytes = key.bytes.count > Self.blockBytes ? SHA256.hash(key.bytes) : key.bytes
        block.replaceSubrange(..<bytes.count, with: bytes)
        inner = Self.start(block, padding: 0x36)
        outer = Self.start(block, padding: 0x5C)
    }

    /// Computes the tag of `bytes`.
    func tag(of bytes: Span<UInt8>) -> InlineArray<32, UInt8> {
        var text = inner
        text.update(bytes)
        let digest = text.finish()
        var tag = outer
        tag.update(digest.span)
        return tag.finish()
    }

    /// Computes the tag of the bytes of an array.
    package func bytes(of bytes: [UInt8]) -> [UInt8] {
        let tag = tag(of: bytes.span)
        return tag.indices.map { tag[$0] }
    }

    private static func start(_ key: [UInt8], padding: UInt8) -> SHA256 {
        let padded = key.map { $0 ^ padding }
        var hash = SHA256()
        hash.update(padded.span)
        return hash
    }
}
