/// The position of one field line: offsets from the request's first byte.
struct HTTPField: Sendable, Hashable {
    let nameStart: UInt32
    let nameEnd: UInt32
    let valueStart: UInt32
    let valueEnd: UInt32

    func hasName(_ name: [UInt8], in bytes: [UInt8], from base: Int) -> Bool {
        guard Int(nameEnd - nameStart) == name.count else { return false }
        let start = base + Int(nameStart)
        for index in 0..<name.count where lowercase(bytes[start + index]) != name[index] { return false }
        return true
    }
}

/// The name of a header field in lower case, prepared for lookups.
package struct HTTPFieldName: Sendable, Hashable {
    let bytes: [UInt8]

    /// Prepares a name; names are ASCII, and their case is ignored (RFC 9110 §5.1).
    package init(_ name: String) { bytes = name.lowercased().utf8.map { $0 } }
}

@inline(__always)
func lowercase(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
