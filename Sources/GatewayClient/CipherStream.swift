import BalloonWire

/// A cipher that a closure can keep.
final class CipherStream {
    private var cipher: AES256CTR

    init(_ key: AttachmentKey) throws(WireError) { cipher = try AES256CTR(key: key.secret) }

    func apply(to piece: inout [UInt8]) { cipher.apply(to: &piece) }
}
