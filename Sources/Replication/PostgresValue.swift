/// A value in PostgreSQL's binary form.
///
/// A result has only ``bytes(_:)``, which ``text`` and ``number`` read; NULL has no bytes.
enum PostgresValue: Sendable {
    case text(String)
    case number(Int64)
    case bytes([UInt8])
    case texts([String])
    case numbers([Int64])
    case pieces([[UInt8]])

    /// The number of the type in PostgreSQL's catalogue.
    var type: UInt32 {
        switch self {
        case .text: 25
        case .number: 20
        case .bytes: 17
        case .texts: 1009
        case .numbers: 1016
        case .pieces: 1001
        }
    }

    /// Appends the binary form.
    func write(onto bytes: inout [UInt8]) {
        switch self {
        case .text(let text): bytes += text.utf8
        case .number(let number): bytes.append(bigEndian: number)
        case .bytes(let value): bytes += value
        case .texts(let texts):
            Self.write(texts, of: 25, onto: &bytes) { $1 += $0.utf8 }
        case .numbers(let numbers):
            Self.write(numbers, of: 20, onto: &bytes) { $1.append(bigEndian: $0) }
        case .pieces(let pieces):
            Self.write(pieces, of: 17, onto: &bytes) { $1 += $0 }
        }
    }

    /// Writes an array of one dimension: dimensions, whether it has NULL, the type, the size, the lower bound, and then each
    /// element with its length.
    private static func write<Element>(
        _ elements: [Element], of type: Int32, onto bytes: inout [UInt8],
        _ body: (Element, inout [UInt8]) -> Void
    ) {
        bytes.append(bigEndian: Int32(elements.isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: type)
        if elements.isEmpty { return }
        bytes.append(bigEndian: Int32(elements.count))
        bytes.append(bigEndian: Int32(1))
        for element in elements {
            let place = bytes.count
            bytes.append(bigEndian: Int32(0))
            body(element, &bytes)
            var length: [UInt8] = []
            length.append(bigEndian: Int32(bytes.count - place - 4))
            bytes.replaceSubrange(place..<place + 4, with: length)
        }
    }

    /// The text of a result.
    var text: String {
        if case .bytes(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { "" }
    }

    /// The `bigint` of a result; 0 for NULL.
    var number: Int64 {
        guard case .bytes(let bytes) = self, bytes.count == 8 else { return 0 }
        return bytes.reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The `bytea` of a result.
    var content: [UInt8] { if case .bytes(let bytes) = self { bytes } else { [] } }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
