import BalloonWire

/// A cipher stream in a class, so that a closure can hold it.
final class CipherStream {
    private var cipher: AES256CTR

    init(_ key: AttachmentKey) throws(WireError) { cipher = try AES256CTR(key: key.secret) }

    func apply(to piece: inout [UInt8]) { cipher.apply(to: &piece) }
}
