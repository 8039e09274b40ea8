/// How conversations ended whose files are closed, so that opening one again reads nothing: a bounded number of them.
struct KnownEnds: Sendable {
    /// The end of a file.
    struct End: Sendable {
        let sizeBytes: Int
        let lastSequence: Int
    }

    /// Those that were closed last.
    private var younger: [ConversationName: End] = [:]
    /// Those before them; all are forgotten at once.
    private var older: [ConversationName: End] = [:]
    private let maximumCount: Int

    /// Takes how many may be known; about 100 bytes each.
    init(maximumCount: Int) { self.maximumCount = maximumCount }

    /// Adds the end of a file that is closed.
    mutating func insert(_ end: End, of name: ConversationName) {
        if younger.count >= maximumCount / 2 {
            older = younger
            younger = [:]
        }
        younger[name] = end
    }

    /// Removes and returns the end of a file that is about to be opened or replaced.
    @discardableResult
    mutating func remove(_ name: ConversationName) -> End? {
        let old = older.isEmpty ? nil : older.removeValue(forKey: name)
        return younger.isEmpty ? old : younger.removeValue(forKey: name) ?? old
    }
}
