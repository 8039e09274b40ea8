import BalloonWire

/// A class that holds a cipher stream, because a closure cannot hold a noncopyable value.
final class CipherStream {
    private var cipher: AES256CTR

    init(_ key: AttachmentKey) throws(WireError) { cipher = try AES256CTR(key: key.secret) }

    func apply(to piece: inout [UInt8]) { cipher.apply(to: &piece) }
}
