/// A JSON text that was found valid, and the index by which its values are walked.
///
/// Accepts exactly RFC 8259: one value of any kind, in UTF-8, without a byte order mark, white space around it.
/// A copy costs one reference.
public struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Validates and indexes a text in one pass; throws where it breaks the grammar or a limit.
    public init(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        var words: [UInt64] = []
        let used = try indexJSON(bytes.span, limits: limits, into: &words)
        words.removeLast(words.count - used)
        storage = JSONStorage(bytes: bytes, tape: JSONTape(words: words))
    }

    /// Does the same with the index in `memory`, which is used again once this document, and every value of it, is gone.
    public init(
        _ bytes: [UInt8], limits: JSONLimits = JSONLimits(), reusing memory: inout JSONMemory
    ) throws(JSONError) {
        _ = try indexJSON(bytes.span, limits: limits, into: &memory.words)
        storage = JSONStorage(bytes: bytes, tape: JSONTape(words: memory.words))
        // What one large text needed is not kept for the small ones; the document has it still.
        if memory.words.count > JSONMemory.maximumKeptWords { memory.words = [] }
    }

    /// The value that the text consists of.
    public var root: JSONValue { JSONValue(storage: storage, index: 0) }

    /// The text as it was given, white space around the value included.
    public var bytes: [UInt8] { storage.bytes }
}

/// Memory for the indexes of documents that come one after the other.
public struct JSONMemory: Sendable {
    fileprivate var words: [UInt64] = []
    fileprivate static let maximumKeptWords = 16384

    /// Begins with none.
    public init() {}
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
