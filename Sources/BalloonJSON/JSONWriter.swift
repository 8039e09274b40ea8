/// A writer of JSON text that inserts the commas.
///
/// The output has no white space, and equal calls give equal bytes. In an object, each `key` call is followed
/// by one value; in an array, values follow each other.
public struct JSONWriter: Sendable {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []
    /// Whether the next value or name needs a comma: false at the start of a container and after a member
    /// name.
    private var needsComma = false

    /// Creates an empty writer with the given capacity.
    public init(reservingCapacity capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// Creates a writer that appends to `bytes`, whose content is not checked.
    public init(appendingTo bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    /// Returns the text of an object whose members `body` writes.
    public static func object(
        reservingCapacity capacity: Int = 0, _ body: (inout JSONWriter) throws -> Void
    ) rethrows -> [UInt8] {
        try value(reservingCapacity: capacity) { try $0.object(body) }
    }

    /// Returns the text of the one value that `body` writes.
    public static func value(
        reservingCapacity capacity: Int = 0, _ body: (inout JSONWriter) throws -> Void
    ) rethrows -> [UInt8] {
        var writer = JSONWriter(reservingCapacity: capacity)
        try body(&writer)
        return writer.finish()
    }

    /// Returns a string in its JSON form.
    package static func quoted(_ text: String) -> [UInt8] { value { $0.string(text) } }

    /// Writes an object whose members `body` writes.
    public mutating func object(_ body: (inout JSONWriter) throws -> Void) rethrows {
        beginValue()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        try body(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Writes an array whose elements `body` writes.
    public mutating func array(_ body: (inout JSONWriter) throws -> Void) rethrows {
        beginValue()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        try body(&self)
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Writes a member's name; exactly one value must follow.
    public mutating func key(_ name: String) {
        beginValue()
        appendQuoted(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string; only quotation marks, backslashes and control characters are escaped.
    public mutating func string(_ value: String) {
        beginValue()
        appendQuoted(value, to: &bytes)
    }

    /// Writes an integer.
    public mutating func int(_ value: Int) {
        raw(String(value).utf8)
    }

    /// Writes the shortest number that parses as the same double; `null` for infinities and NaN.
    public mutating func double(_ value: Double) {
        // JSON cannot express infinities and NaN (RFC 8259 §6).
        raw((value.isFinite ? value.description : "null").utf8)
    }

    /// Writes `true` or `false`.
    public mutating func bool(_ value: Bool) {
        raw((value ? "true" : "false").utf8)
    }

    /// Writes `null`.
    public mutating func null() {
        raw("null".utf8)
    }

    /// Writes a value from a document verbatim, except that line breaks between its tokens become spaces.
    public mutating func value(_ value: JSONValue) {
        beginValue()
        let start = bytes.count
        bytes += value.text
        // A valid string contains no unescaped line break, so all of them are between tokens.
        var written = bytes.mutableSpan
        for index in start..<written.count {
            let byte = written[index]
            written[index] = byte == 0x0A || byte == 0x0D ? 0x20 : byte
        }
    }

    /// Writes bytes that must be one JSON value; they are not checked.
    public mutating func raw(_ json: some Collection<UInt8>) {
        beginValue()
        bytes.append(contentsOf: json)
    }

    /// Writes the output of `append`, which must be one JSON value; it is not checked.
    public mutating func raw(_ append: (inout [UInt8]) -> Void) {
        beginValue()
        append(&bytes)
    }

    /// Returns the bytes written.
    public consuming func finish() -> [UInt8] { bytes }

    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}
