import BalloonPOSIX
import BusinessMessages

/// A line that was found in its file, or was written a moment ago.
struct FoundLine: Sendable {
    let sequence: Int
    let at: Timestamp
    let id: MessageID
    let kind: Kind
    let isInternal: Bool
    /// The text without its line feed; nil when it is too large for an event.
    let text: [UInt8]?

    init(
        sequence: Int, at: Timestamp, id: MessageID, kind: Kind, isInternal: Bool = false,
        text: ArraySlice<UInt8>
    ) {
        self.sequence = sequence
        self.at = at
        self.id = id
        self.kind = kind
        self.isInternal = isInternal
        self.text = text.count <= StoreEvent.maximumLineBytes ? Array(text) : nil
    }
}

/// The result of a search for lines of one conversation.
struct FoundLines: Sendable {
    /// The lines that were found.
    fileprivate(set) var lines: [LineIdentity: FoundLine] = [:]
    /// Whether the search covered the whole file, so that a line that was not found does not exist.
    fileprivate(set) var isComplete = true
    /// The offset behind the last found line, where the next search begins; nil when nothing was found.
    fileprivate(set) var place: Int?
    /// The bytes that were read.
    fileprivate(set) var readBytes = 0
}

/// A search for lines of one conversation's file, which can be interrupted and continued.
///
/// It needs no lock, and works while the server writes the file.
struct LineSearch: Sendable {
    private let path: String
    /// The file; nil when the search has ended.
    private var file: File?
    private var missing: Set<LineIdentity>
    /// The range of offsets that is still to be read forward; `backward` is the other direction.
    private var forward = 0..<0
    private var backward = 0..<0
    /// Whether both ranges together cover the whole file.
    private var coversFile = true
    /// The beginning of a line whose end is not read yet.
    private var rest: [UInt8] = []
    private(set) var result = FoundLines()

    private static let stepBytes = 1 << 20

    /// Begins a search in parts of about 1 MiB.
    ///
    /// The search reads forward from `place`, and then backward from `place`, in each direction at most
    /// `maximumBytes`; without a place, backward from the file's end. A missing or quarantined file has no
    /// lines. The search of a file that cannot be read is incomplete. Throws errors that may be temporary,
    /// such as too many open files.
    init(
        for wanted: Set<LineIdentity>, in conversation: ConversationKey, of directory: DataDirectory,
        from place: Int? = nil, maximumBytes: Int = 64 << 20
    ) throws(StoreError) {
        path = directory.conversations + "/" + ConversationPath.file(conversation)
        missing = wanted
        result.place = place
        do throws(SystemError) {
            let file = try File(path, for: .reading)
            let end = try file.sizeBytes()
            let start = min(place ?? end, end)
            forward = start..<min(end, start + maximumBytes)
            backward = max(0, start - maximumBytes)..<start
            coversFile = end - start <= maximumBytes && start <= maximumBytes
            self.file = file
        } catch {
            try end(with: error)
        }
    }

    /// Searches without an interruption.
    mutating func finish() throws(StoreError) -> FoundLines {
        var budget = Int.max
        while try !advance(&budget) {}
        return result
    }

    /// Continues the search until the budget of bytes is used up; returns whether the search has ended.
    ///
    /// The last read may exceed the budget.
    mutating func advance(_ budget: inout Int) throws(StoreError) -> Bool {
        while let file, !missing.isEmpty, !forward.isEmpty || !backward.isEmpty {
            guard budget > 0 else { return false }
            let before = result.readBytes
            do throws(SystemError) {
                if forward.isEmpty { try readBackward(file) } else { try readForward(file) }
            } catch {
                try end(with: error)
            }
            budget -= result.readBytes - before
        }
        if file != nil { result.isComplete = missing.isEmpty || coversFile }
        (file, rest) = (nil, [])
        return true
    }

    /// Ends the search of a file that is missing or unreadable; throws other errors, which may be temporary.
    private mutating func end(with error: SystemError) throws(StoreError) {
        file = nil
        if error.isMissing { return }
        guard error.isUnreadable || error.isForbidden else { throw .unavailable(path: path, error) }
        // Followers of all conversations would otherwise wait for this file.
        result.isComplete = false
    }

    private mutating func readForward(_ file: File) throws(SystemError) {
        let piece = try file.read(at: forward.lowerBound, count: min(Self.stepBytes, forward.count))
        forward = piece.isEmpty ? 0..<0 : forward.lowerBound + piece.count..<forward.upperBound
        let offset = forward.lowerBound
        result.readBytes += piece.count
        rest += piece
        var begin = 0
        while let feed = rest[begin...].firstIndex(of: UInt8(ascii: "\n")) {
            check(Array(rest[begin..<feed]), endingAt: offset - rest.count + feed + 1)
            begin = feed + 1
        }
        rest.removeFirst(begin)
    }

    private mutating func readBackward(_ file: File) throws(SystemError) {
        let part = try ConversationTail.lines(
            of: file, endingAt: backward.upperBound, maximum: .max,
            maximumBytes: min(Self.stepBytes, backward.count))
        var lineEnd = part.completeBytes
        for text in part.lines.reversed() {
            check(text, endingAt: lineEnd)
            lineEnd -= text.count + 1
        }
        result.readBytes += backward.upperBound - lineEnd
        let isAtEnd = part.lines.isEmpty || lineEnd <= backward.lowerBound
        backward = isAtEnd ? 0..<0 : backward.lowerBound..<lineEnd
    }

    private mutating func check(_ text: [UInt8], endingAt end: Int) {
        guard let identity = LineScan.identity(of: text[...]) ?? ConversationLine(text)?.identity,
            missing.contains(identity), let line = ConversationLine(text)
        else { return }
        missing.remove(identity)
        result.lines[identity] = FoundLine(
            sequence: line.sequence, at: line.at, id: line.id, kind: line.kind,
            isInternal: line.direction == .internal, text: text[...])
        result.place = max(result.place ?? 0, end)
    }
}
