/// A valid JSON text with an index of its values.
///
/// Exactly the texts of RFC 8259 are accepted: one value of any kind, in UTF-8, without a byte order mark,
/// optionally surrounded by white space. Copying a document copies only a reference.
public struct JSONDocument: Sendable {
    let storage: JSONStorage

    /// Validates and indexes a text in one pass; throws when it violates the grammar or a limit.
    public init(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        var words: [UInt64] = []
        let used = try indexJSON(bytes.span, limits: limits, into: &words)
        words.removeLast(words.count - used)
        storage = JSONStorage(bytes: bytes, tape: JSONTape(words: words))
    }

    /// Validates and indexes a text, and stores the index in `memory`.
    ///
    /// The next document reuses this memory without a copy if this document and all its values were released
    /// before.
    public init(
        _ bytes: [UInt8], limits: JSONLimits = JSONLimits(), reusing memory: inout JSONMemory
    ) throws(JSONError) {
        _ = try indexJSON(bytes.span, limits: limits, into: &memory.words)
        storage = JSONStorage(bytes: bytes, tape: JSONTape(words: memory.words))
        // An unusually large index is not kept in `memory`; the document still owns it.
        if memory.words.count > JSONMemory.maximumKeptWords { memory.words = [] }
    }

    /// The value that the text consists of.
    public var root: JSONValue { JSONValue(storage: storage, index: 0) }

    /// The text as given, including surrounding white space.
    public var bytes: [UInt8] { storage.bytes }
}

/// Reusable memory for the indexes of consecutive documents.
public struct JSONMemory: Sendable {
    fileprivate var words: [UInt64] = []
    fileprivate static let maximumKeptWords = 16384

    /// Creates empty memory.
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
