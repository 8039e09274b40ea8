/// A class that holds a cipher stream, because a closure cannot hold a noncopyable value.
package final class CipherStream {
    private var cipher: AES256CTR

    /// Starts at the first byte.
    package init(_ key: AttachmentKey) throws(WireError) { cipher = try AES256CTR(key: key.secret) }

    /// Encrypts or decrypts the next bytes.
    package func apply(to piece: inout [UInt8]) { cipher.apply(to: &piece) }
}
