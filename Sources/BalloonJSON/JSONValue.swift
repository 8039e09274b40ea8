/// A value inside a JSON document, decoded from the document's bytes on each access.
///
/// The value consists of a reference to the document and an index; no text is copied until a property returns
/// it. A property that does not fit the value's kind returns nil, or an empty collection.
public struct JSONValue: Sendable {
    let storage: JSONStorage
    /// The index of the value's first word on the tape; 32 bits are enough, because a tape has fewer than
    /// 2^31 words.
    private let node: Int32

    init(storage: JSONStorage, index: Int) {
        self.storage = storage
        node = Int32(truncatingIfNeeded: index)
    }

    var index: Int { Int(node) }
    var tag: JSONTag { storage.tape.tag(at: index) }
    var extent: Range<Int> { storage.tape.extent(at: index) }

    /// The six kinds of value (RFC 8259 §3; `true` and `false` are `boolean`).
    public enum Kind: Sendable, Equatable {
        /// Name/value pairs.
        case object
        /// Values in order.
        case array
        /// Text.
        case string
        /// A number of any precision.
        case number
        /// `true` or `false`.
        case boolean
        /// `null`.
        case null
    }

    /// The kind of this value.
    public var kind: Kind {
        switch tag {
        case .object: .object
        case .array: .array
        case .plainString, .escapedString: .string
        case .integer, .decimal: .number
        case .true, .false: .boolean
        case .null: .null
        }
    }

    /// The value of `true` or `false`; nil for every other kind.
    public var bool: Bool? {
        switch tag {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// Whether this is the literal `null`.
    public var isNull: Bool { tag == .null }

    /// The number as an integer; nil for other kinds, for a fraction, and for a number that does not fit 64
    /// bits.
    ///
    /// The notation does not matter: `1`, `1.0`, `10e-1` and `-0` are integers, `1.5` and `1e30` are not.
    public var int: Int? {
        switch tag {
        case .integer: Int(String(decoding: text, as: UTF8.self))
        case .decimal: exactInteger(text)
        default: nil
        }
    }

    /// The number as the nearest double; nil for other kinds, and for a number beyond the largest finite
    /// double.
    public var double: Double? {
        guard kind == .number, let value = Double(String(decoding: text, as: UTF8.self)) else { return nil }
        return value.isFinite ? value : nil
    }

    /// The number of members of an object or elements of an array; 0 for other kinds.
    public var count: Int {
        switch tag {
        case .object, .array: storage.tape.count(at: index)
        default: 0
        }
    }

    /// The bytes of this value as in the document's text, including a string's quotation marks.
    public var text: ArraySlice<UInt8> { storage.bytes[extent] }
}
