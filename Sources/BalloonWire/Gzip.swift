/// The gzip format (RFC 1952).
package enum Gzip {
    /// The first two bytes of every gzip member, ID1 and ID2 (RFC 1952 §2.3.1).
    static let magic: [UInt8] = [0x1f, 0x8b]

    /// Returns whether `bytes` begin with the first two bytes of a gzip member; a JSON text never does.
    package static func hasMagic(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.starts(with: magic)
    }
}
