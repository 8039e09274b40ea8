/// A JSON text that was found valid, and the index by which its values are walked.
///
/// Accepts exactly RFC 8259: one value of any kind, in UTF-8, without a byte order mark, white space around it.
/// A copy costs one reference.
public struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Validates and indexes a text in one pass; throws where it breaks the grammar or a limit.
    public init(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        storage = JSONStorage(bytes: bytes, tape: try indexJSON(bytes.span, limits: limits))
    }

    /// The value that the text consists of.
    public var root: JSONValue { JSONValue(storage: storage, index: 0) }

    /// The text as it was given, white space around the value included.
    public var bytes: [UInt8] { storage.bytes }
}

/// A text and its index, shared by all values of a document.
final class JSONStorage: Sendable {
    let bytes: [UInt8]
    let tape: JSONTape

    init(bytes: [UInt8], tape: JSONTape) {
        self.bytes = bytes
        self.tape = tape
    }
}
