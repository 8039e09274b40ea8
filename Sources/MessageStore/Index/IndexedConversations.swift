import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The index of a store's conversations, which each written line updates.
///
/// The index is off until it is needed. A start of the store loads it from its file in the background. Lines
/// that are written during the load are in the index at once. Before each checkpoint of the conversations,
/// the changed entries are appended to the file. A file that is complete through the journal's last
/// checkpoint therefore lacks only lines that the start writes again. Any other file is ignored, and the
/// index is built from the conversations.
package final class IndexedConversations: Sendable {
    /// Whether the index can be read.
    package enum Phase: Hashable, Sendable {
        /// No index is kept.
        case off
        /// The index is being read or built; the value is the finished part, from 0 to 1.
        case loading(Double)
        /// Lists are available.
        case ready
    }

    fileprivate struct State {
        var index = ConversationIndex()
        var phase = Phase.off
        /// The number of the current load; a load with a smaller number stops.
        var load = 0
        /// The last checkpoint of the conversations.
        var checkpoint: UInt64 = 0
        /// The conversations that were removed during the load, which must not restore their entries.
        var removed: Set<ConversationName> = []
        /// The conversations without an entry, because their last line is unreadable.
        ///
        /// A build with more than `maximumUnreadable` of them fails.
        var unreadable: Set<ConversationName> = []
        var isClosed = false
        /// The file, which only code on the queue uses; nil when a new file must be written.
        var file: IndexFile?
    }

    private let state = Mutex(State())
    /// Whether lines are recorded; atomic, because it is read for every line.
    private let isOn = Atomic(false)
    private let queue = DispatchQueue(label: "balloon.index")
    /// Interrupts the pauses of a build when the index is closed.
    private let stop = DispatchSemaphore(value: 0)
    private let path: String
    private let directory: String
    private let identity: String
    private let disk: any StoreDisk
    private let maximumFilesPerSecond: Int
    private let logger: Logger
    private static let filesBetweenPauses = 256
    /// The maximum number of unreadable files; a build with more fails.
    private static let maximumUnreadable = 1000
    /// The pause before a failed build is repeated; each further failure doubles it.
    private static let firstPause = Duration.seconds(1)
    private static let maximumPause = Duration.seconds(60)

    init(_ directory: DataDirectory, _ configuration: StoreConfiguration, identity: String, logger: Logger) {
        path = directory.conversationIndex
        self.directory = directory.conversations
        self.identity = identity
        disk = configuration.disk
        maximumFilesPerSecond = max(1, configuration.maximumIndexedFilesPerSecond)
        self.logger = logger
    }

    /// Whether the index can be read; never blocks for long.
    var phase: Phase { state.withLock { $0.phase } }

    /// Runs `body` on the index; for short steps.
    func withIndex<Result: Sendable>(_ body: (inout ConversationIndex) -> Result) -> Result {
        state.withLock { body(&$0.index) }
    }

    /// The number of conversations in this folder that have no entry because their last line is unreadable.
    func unreadableCount(of business: String) -> Int {
        state.withLock { state in
            state.unreadable.isEmpty ? 0 : state.unreadable.count { $0.business == business }
        }
    }

    /// Starts to record lines if the index is kept; otherwise removes its file.
    func prepare(isKept: Bool) {
        guard isKept else {
            // An error is ignored, because the file may not exist.
            try? disk.remove(path)
            return
        }
        state.withLock { $0.phase = .loading(0) }
        isOn.store(true, ordering: .sequentiallyConsistent)
    }

    /// Loads the file in the background, or builds the index when the file cannot be used.
    ///
    /// The file can be used when it fits a journal with this last checkpoint and this last record.
    func begin(checkpoint: UInt64, lastRecord: UInt64) {
        start { state in
            guard case .loading = state.phase else { return false }
            state.checkpoint = checkpoint
            return true
        } loading: { load in
            do throws(IndexFile.Misfit) {
                try self.load(load, checkpoint: checkpoint, lastRecord: lastRecord)
            } catch {
                if case .missing = error {
                } else {
                    self.logger.notice(
                        "index of conversations not used; building it from their files",
                        metadata: ["reason": "\(error)"])
                }
                self.build(load)
            }
        }
    }

    /// Starts a new load on the queue if `isWanted` changes the state for it and returns true.
    ///
    /// Without `load`, the index is built from the conversations.
    private func start(
        if isWanted: (inout State) -> Bool, loading load: (@Sendable (Int) -> Void)? = nil
    ) {
        let number = state.withLock { state -> Int? in
            guard !state.isClosed, isWanted(&state) else { return nil }
            state.load += 1
            return state.load
        }
        if let number { queue.async { if let load { load(number) } else { self.build(number) } } }
    }

    /// Starts to keep the index, and builds it in the background; does nothing when it is kept already.
    func turnOn(checkpoint: UInt64) {
        start { state in
            guard state.phase == .off else { return false }
            state.phase = .loading(0)
            state.checkpoint = max(state.checkpoint, checkpoint)
            // Set this before the build reads the first file: each line is then in its file before the read, or
            // recorded.
            isOn.store(true, ordering: .sequentiallyConsistent)
            return true
        }
    }

    /// Stops keeping the index, and drops it and its file.
    func turnOff() {
        isOn.store(false, ordering: .sequentiallyConsistent)
        state.withLock { state in
            state.index = ConversationIndex()
            state.phase = .off
            state.load += 1
            state.removed = []
            state.unreadable = []
        }
        queue.async { self.removeFile() }
    }

    /// Builds the index anew from the conversations; lists are unavailable until the build is complete.
    func rebuild() {
        start { state in
            guard state.phase != .off else { return false }
            state.index = ConversationIndex()
            state.phase = .loading(0)
            return true
        }
    }

    /// Records the last line of a conversation; called when the line is in the conversation's file.
    func record(_ line: @autoclosure () -> ConversationIndex.Line, of name: ConversationName) {
        guard isOn.load(ordering: .relaxed) else { return }
        let line = line()
        state.withLock { state in
            guard state.phase != .off else { return }
            state.index.record(line, of: name)
            if !state.removed.isEmpty { state.removed.remove(name) }
            if !state.unreadable.isEmpty { state.unreadable.remove(name) }
        }
    }

    /// Returns whether a conversation's last line has this number in the index; true when it is off.
    func has(lines: Int, of name: ConversationName) -> Bool {
        guard isOn.load(ordering: .relaxed) else { return true }
        return state.withLock { $0.index.entry(of: name)?.lines == UInt32(clamping: lines) }
    }

    /// Reads the last line of a conversation again, because its file was replaced or removed.
    func refresh(_ name: ConversationName) {
        guard isOn.load(ordering: .relaxed) else { return }
        do throws(StoreError) {
            if let line = try ConversationIndex.Line(lastIn: directory + "/" + name.path) {
                record(line, of: name)
            } else {
                remove(name)
            }
        } catch {
            logger.warning(
                "last line of a conversation not read; its entry in the index may be outdated",
                metadata: ["file": "\(name.path)", "error": "\(error)"])
        }
    }

    /// Removes the entry of a conversation whose file is removed.
    func remove(_ name: ConversationName) {
        guard isOn.load(ordering: .relaxed) else { return }
        state.withLock { state in
            state.index.remove(name)
            state.unreadable.remove(name)
            if case .loading = state.phase { state.removed.insert(name) }
        }
    }

    /// Appends the changed entries to the file; returns when they are on disk.
    ///
    /// Called before the journal gets a checkpoint through this record. After a failure, the next start
    /// builds a new index.
    func write(through record: UInt64) async {
        guard isOn.load(ordering: .relaxed) else { return }
        let isReady = state.withLock { state in
            state.checkpoint = max(state.checkpoint, record)
            return state.phase == .ready
        }
        // A load writes the file when it ends; a checkpoint, and the stop that waits for it, must not wait
        // for the load.
        guard isReady else { return }
        await queue.run { self.write() }
    }

    /// Stops a load, and returns when the queue is idle; must be called after the last ``write(through:)``.
    func close() async {
        state.withLock { state in
            state.isClosed = true
            state.load += 1
        }
        isOn.store(false, ordering: .sequentiallyConsistent)
        stop.signal()
        await queue.run { self.state.withLock { $0.file = nil } }
    }

    /// Returns when the current load has ended.
    func rest() async { await queue.run {} }
}

/// Loads and builds the index, on the queue.
extension IndexedConversations {
    private func isCurrent(_ load: Int) -> Bool { state.withLock { $0.load == load } }

    private func load(
        _ load: Int, checkpoint: UInt64, lastRecord: UInt64
    ) throws(IndexFile.Misfit) {
        // The error is ignored, because the size is needed only to compute the progress.
        let sizeBytes = max(1, (try? File(path, for: .reading).sizeBytes()) ?? 1)
        let content = try IndexFile.read(path, identity: identity) { block, readBytes in
            state.withLock { state in
                guard state.load == load else { return false }
                state.apply(block)
                state.phase = .loading(min(1, Double(readBytes) / Double(sizeBytes)))
                return true
            }
        }
        guard isCurrent(load) else { return }
        guard content.through >= checkpoint, content.through <= lastRecord else {
            state.withLock { state in state.index.removeWritten() }
            throw .outdated(through: content.through)
        }
        do throws(SystemError) {
            let opened = try IndexFile(continuing: content, at: path, on: disk)
            state.withLock { $0.file = opened }
        } catch { report(error) }
        finish(load)
    }

    /// Builds the index from the conversations' files; repeats a failed build after a pause.
    ///
    /// Lists are unavailable until a build succeeds.
    private func build(_ load: Int, pause: Duration = firstPause) {
        removeFile()
        do throws(StoreError) {
            guard let count = try read(load), isCurrent(load) else { return }
            logger.info("index of conversations built", metadata: ["conversations": "\(count)"])
            finish(load)
        } catch {
            guard isCurrent(load) else { return }
            logger.warning(
                "build of the index of conversations failed; it is retried, and lists are unavailable until it succeeds",
                metadata: ["error": "\(error)", "pause": "\(pause)"])
            queue.asyncAfter(deadline: .now() + pause.dispatchInterval) {
                if self.isCurrent(load) { self.build(load, pause: min(pause * 2, Self.maximumPause)) }
            }
        }
    }

    /// Removes the file before a build.
    ///
    /// ``IndexVerification`` would otherwise compare an outdated file, during the build or after a crash or a
    /// power loss.
    private func removeFile() {
        state.withLock { $0.file = nil }
        do throws(SystemError) {
            guard try Directory.holds(path) else { return }
            try disk.remove(path)
            try disk.synchronizeDirectory(Directory.parent(of: path))
        } catch {
            if !error.isMissing { report(error) }
        }
    }

    /// Adds the last line of each file, and returns the number of files; nil when a newer load has started.
    private func read(_ load: Int) throws(StoreError) -> Int? {
        state.withLock { state in if state.load == load { state.unreadable = [] } }
        let files = DataFiles()
        let folders = try files.conversationFolders(in: directory)
        let began = ContinuousClock.now
        var count = 0
        for (done, folder) in folders.enumerated() {
            for file in try files.names(in: directory + "/" + folder) {
                guard let name = ConversationName(path: folder + "/" + file) else { continue }
                count += 1
                if count % Self.filesBetweenPauses == 0, !pause(behind: count, since: began, of: load) {
                    return nil
                }
                try add(name, load)
            }
            state.withLock { state in
                if state.load == load { state.phase = .loading(Double(done + 1) / Double(folders.count)) }
            }
        }
        return count
    }

    /// Waits to keep to the maximum number of files in a second; returns false when the load must stop.
    private func pause(behind count: Int, since began: ContinuousClock.Instant, of load: Int) -> Bool {
        let due = began + .seconds(1) * count / maximumFilesPerSecond
        if due > .now { _ = stop.wait(timeout: .now() + (due - .now).dispatchInterval) }
        return isCurrent(load)
    }

    private func add(_ name: ConversationName, _ load: Int) throws(StoreError) {
        do throws(StoreError) {
            guard let line = try ConversationIndex.Line(lastIn: directory + "/" + name.path) else { return }
            state.withLock { state in
                if state.load == load, !state.removed.contains(name) { state.index.restore(line, of: name) }
            }
        } catch {
            let count = state.withLock { state in
                // If a line was written during the build, the conversation has an entry and is not missing.
                if state.load == load, state.index.entry(of: name) == nil { state.unreadable.insert(name) }
                return state.unreadable.count
            }
            guard error.isOfOneFile, count <= Self.maximumUnreadable else { throw error }
            logger.warning(
                "a conversation is missing from lists, because the last line of its file is unreadable; run balloon conversations verify",
                metadata: ["file": "\(name.path)", "error": "\(error)"])
        }
    }

    private func finish(_ load: Int) {
        let isDone = state.withLock { state in
            guard state.load == load else { return false }
            state.phase = .ready
            state.removed = []
            return true
        }
        if isDone { write() }
    }
}

/// Writing the file, on the queue.
extension IndexedConversations {
    private func write() {
        // Write nothing while conversations are missing, because the next start would consider the file
        // complete.
        let (isComplete, current, count) = state.withLock { state in
            (state.phase == .ready && state.unreadable.isEmpty, state.file, state.index.count)
        }
        guard isComplete else { return }
        var written: IndexFile?
        do throws(SystemError) {
            // Write a new file when this one has two outdated entries for each current one.
            if var file = current, file.sizeBytes <= (1 << 20) + 3 * IndexEntry.encodedBytes * count {
                try appendChanges(to: &file)
                try file.synchronize()
                written = file
            } else {
                written = try rewritten()
            }
        } catch { report(error) }
        state.withLock { $0.file = written }
    }

    /// Appends all changed entries, and then a block that marks the file as complete to the last checkpoint.
    private func appendChanges(to file: inout IndexFile) throws(SystemError) {
        // Read the checkpoint before the changes: the index now has all lines through it.
        let checkpoint = state.withLock { $0.checkpoint }
        try append(to: &file) { $0.takeUnwritten(maximum: IndexBlock.maximumElements) }
        try file.append(IndexBlock(through: checkpoint))
    }

    /// Appends the entries that `next` returns, until it returns none.
    private func append(
        to file: inout IndexFile, _ next: (inout ConversationIndex) -> [IndexEntry]
    ) throws(SystemError) {
        while true {
            let (entries, folders) = withIndex { index in (next(&index), index.businesses) }
            if entries.isEmpty { return }
            try file.append(entries, of: folders)
        }
    }

    /// Writes a new file with every entry, and returns it.
    private func rewritten() throws(SystemError) -> IndexFile {
        var file = try IndexFile(replacing: path, identity: identity, on: disk)
        withIndex { while !$0.takeUnwritten(maximum: IndexBlock.maximumElements).isEmpty {} }
        var cursor = ConversationIndex.Cursor()
        try append(to: &file) { $0.next(&cursor, maximum: IndexBlock.maximumElements) }
        // An entry that moved during the walk may be missing in the file, but is marked as unwritten.
        try appendChanges(to: &file)
        try file.install()
        return file
    }

    private func report(_ error: SystemError) {
        logger.warning(
            "write of the index of conversations failed; the next start may build it from their files",
            metadata: ["error": "\(error)"])
    }
}

extension IndexedConversations.State {
    /// Adds the entries of a block of the file, unless their conversations were removed during the load.
    fileprivate mutating func apply(_ block: IndexBlock) {
        guard !block.entries.isEmpty, let number = index.number(of: block.folder) else { return }
        for entry in block.entries {
            let name = ConversationName(entry.digest, in: block.folder)
            if !removed.isEmpty, removed.contains(name) { continue }
            if entry.lines == 0 { index.removeWritten(name) } else { index.restore(entry.numbered(number)) }
        }
    }
}

extension ConversationIndex.Line {
    /// Reads the last complete line of a file; nil when the file has none or does not exist.
    init?(lastIn path: String) throws(StoreError) {
        let text: [UInt8]?
        let first: Timestamp?
        do throws(SystemError) {
            let file = try File(path, for: .reading)
            text = try ConversationTail.lines(of: file, maximum: 1).lines.last
            first = try Self.firstTime(in: file)
        } catch {
            if error.isMissing { return nil }
            throw .unavailable(path: path, error)
        }
        guard let text else { return nil }
        guard let line = ConversationLine(text) else { throw .damaged(file: path, line: 0) }
        self.init(
            at: line.at, kind: line.kind, isOutbound: line.direction == .outbound, sequence: line.sequence,
            oldestDay: IndexEntry.day(of: min(first ?? line.at, line.at)))
    }

    /// Returns the time of a file's first line; nil when the line is not in the form that the store writes.
    ///
    /// Only the beginning of the line is read.
    private static func firstTime(in file: File) throws(SystemError) -> Timestamp? {
        let beginning = try file.read(at: 0, count: ConversationHeader.maximumBytes + 128)
        let line = beginning.dropFirst(ConversationHeader(beginning).sizeBytes)
        let marker = Array(",\"at\":\"".utf8)
        guard let place = line.firstPosition(of: marker) else { return nil }
        let text = line[(place + marker.count)...].prefix { $0 != UInt8(ascii: "\"") }
        return Timestamp(rfc3339: String(decoding: text, as: UTF8.self))
    }
}

extension StoreError {
    /// Whether the error is about one file that is damaged or unreadable, so that other files can be read.
    var isOfOneFile: Bool {
        switch self {
        case .damaged: true
        case .unavailable(_, let reason): reason.isUnreadable || reason.isForbidden
        default: false
        }
    }
}
