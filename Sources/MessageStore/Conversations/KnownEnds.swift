/// The ends of recently closed conversation files, with which a file is reopened without a read.
///
/// Their number is limited.
struct KnownEnds: Sendable {
    /// The end of a file.
    struct End: Sendable {
        let sizeBytes: Int
        let lastSequence: Int
        var contact: Contact?
    }

    /// The ends of the most recently closed files.
    private var younger: [ConversationName: End] = [:]
    /// The ends of files that were closed earlier; all of them are dropped when `younger` is full.
    private var older: [ConversationName: End] = [:]
    private let maximumCount: Int

    /// Limits the number of ends, which take about 130 bytes each.
    init(maximumCount: Int) { self.maximumCount = maximumCount }

    /// Adds the end of a closed file.
    mutating func insert(_ end: End, of name: ConversationName) {
        if younger.count >= maximumCount / 2 {
            older = younger
            younger = [:]
        }
        younger[name] = end
    }

    /// Removes and returns the end of a file before it is opened or replaced.
    @discardableResult
    mutating func remove(_ name: ConversationName) -> End? {
        let old = older.isEmpty ? nil : older.removeValue(forKey: name)
        return younger.isEmpty ? old : younger.removeValue(forKey: name) ?? old
    }
}
