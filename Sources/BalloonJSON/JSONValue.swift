/// A value inside a JSON document, decoded from the document's bytes on access.
///
/// It consists of a reference to the document and an index; no text is copied before a property returns it. A
/// property for another kind returns nil, and a collection property is empty.
public struct JSONValue: Sendable {
    let storage: JSONStorage
    /// The index of the value's first word on the tape; an index has fewer words than 2^31.
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

    /// The number as an integer; nil when it is no integer, or does not fit 64 bits.
    ///
    /// The spelling is irrelevant: `1`, `1.0`, `10e-1` and `-0` are integers, `1.5` and `1e30` are not.
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

    /// The verbatim bytes of this value, including a string's quotation marks.
    public var text: ArraySlice<UInt8> { storage.bytes[extent] }
}
