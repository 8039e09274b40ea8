/// The gzip format (RFC 1952).
package enum Gzip {
    /// The first two bytes of every gzip member, ID1 and ID2 (RFC 1952 §2.3.1).
    static let magic: [UInt8] = [0x1f, 0x8b]

    /// Whether `bytes` begin like a gzip member; JSON never does.
    package static func hasMagic(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.starts(with: magic)
    }
}
