import BalloonPOSIX
import BalloonWire
package import BusinessMessages
import Dispatch
import Synchronization

/// A memory of the contents that Apple stores, so that each content is uploaded only once.
///
/// Apple stores an upload for 30 days (Apple MSP API, "Receiving an Interactive Message"); an entry is used
/// for 25 days. When there are more than the maximum number of entries, the oldest is removed. With a path,
/// the entries survive a restart.
///
/// The file has one line for each upload, `{"key":"…","at":1795253400,"value":{…}}`. The last line of a key
/// is valid; a line without `value` removes the key.
package final class KnownUploads: Sendable {
    /// The key of an upload: the SHA-256 of the business and the content.
    package struct Key: Hashable, Sendable {
        let text: String

        /// Makes the lookup key of an upload of `content` by this business.
        package init(_ content: some Collection<UInt8>, of business: BusinessID) {
            text = Hex.encode(SHA256.hash(Array(business.rawValue.utf8) + [0] + content))
        }

        init(text: String) { self.text = text }
    }

    private struct Entry {
        /// The entries are numbered in the order of recording.
        let number: Int
        let at: Int
        let value: [UInt8]
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var lastNumber = 0
        /// Contents that were sent recently; ``recordSeen(_:)`` adds them.
        var seen: Set<Key> = []
    }

    /// The open file and its number of lines; only code on `queue` writes to the file.
    private struct Output {
        var file: File?
        var lines = 0
    }

    private static let lifetimeSeconds = 25 * 86_400
    private static let maximumSeen = 1024

    private let maximumCount: Int
    private let path: String?
    private let state = Mutex(State())
    private let output = Mutex(Output())
    private let queue = DispatchQueue(label: "balloon.uploads")

    /// Creates a memory of at most `maximumCount` uploads, and loads the readable entries of the file at
    /// `path`.
    package init(path: String? = nil, maximumCount: Int = 1000) {
        self.path = path
        self.maximumCount = maximumCount
        guard let path, Directory.exists(path), let bytes = try? File(path, for: .reading).readAll() else {
            return
        }
        // Skip a malformed line; its content is uploaded again when it is next sent.
        state.withLock { state in
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let root = (try? JSONDocument(Array(line)))?.root, let key = root["key"]?.string,
                    let at = root["at"]?.int
                else { continue }
                insert(Key(text: key), root["value"].map { Array($0.text) }, at: at, into: &state)
            }
        }
    }

    /// Returns the JSON value recorded for a content; nil when there is none, or when it is older than 25
    /// days.
    package func value(for key: Key, now: Int? = nil) -> [UInt8]? {
        let now = now ?? SystemClock.secondsSince1970()
        return state.withLock { state in
            guard let entry = state.entries[key], entry.at <= now, entry.at > now - Self.lifetimeSeconds
            else {
                return nil
            }
            return entry.value
        }
    }

    /// Records a JSON value, such as a reference, for a content.
    package func remember(_ value: [UInt8], for key: Key, now: Int? = nil) {
        record(key, value, at: now ?? SystemClock.secondsSince1970())
    }

    /// Forgets an upload, for example when Apple no longer accepts the reference to it.
    package func forget(_ key: Key) { record(key, nil, at: 0) }

    /// Forgets every upload and empties the file before it returns.
    ///
    /// Each content is uploaded again when it is next sent.
    package func forgetAll() {
        queue.sync {
            state.withLock { $0 = State() }
            output.withLock { output in
                guard let path else { return }
                // If emptying the file fails, the next recorded upload writes the whole file again.
                output = Output()
                try? AtomicFile.write([], to: path)
            }
        }
    }

    /// Records that this content is being sent; returns whether it was sent recently.
    package func recordSeen(_ key: Key) -> Bool {
        state.withLock { state in
            if state.seen.count >= Self.maximumSeen { state.seen = [] }
            return !state.seen.insert(key).inserted
        }
    }

    /// Waits until every recorded upload is in the file.
    package func flush() { queue.sync {} }

    private func record(_ key: Key, _ value: [UInt8]?, at: Int) {
        state.withLock { insert(key, value, at: at, into: &$0) }
        guard path != nil else { return }
        // Do not wait for the write: a lost line costs only one repeated upload.
        queue.async { self.write(key, value, at: at) }
    }

    private func insert(_ key: Key, _ value: [UInt8]?, at: Int, into state: inout State) {
        state.lastNumber += 1
        state.entries[key] = value.map { Entry(number: state.lastNumber, at: at, value: $0) }
        guard state.entries.count > maximumCount else { return }
        let oldest = state.entries.min { $0.value.number < $1.value.number }
        if let oldest { state.entries[oldest.key] = nil }
    }

    /// Appends a line to the file; rewrites the file without outdated lines when it has too many lines.
    private func write(_ key: Key, _ value: [UInt8]?, at: Int) {
        output.withLock { output in
            // A disk failure is not logged here, because other writers report it.
            do throws(SystemError) {
                guard let path else { return }
                if output.file == nil || output.lines > 2 * maximumCount {
                    let entries = state.withLock { $0.entries }
                    let lines = entries.sorted { $0.value.at < $1.value.at }
                        .flatMap { line($0.key, $0.value.value, at: $0.value.at) }
                    try AtomicFile.write(lines, to: path)
                    output.file = try File(path, for: .appending)
                    output.lines = entries.count
                } else {
                    try output.file?.append(line(key, value, at: at))
                    output.lines += 1
                }
            } catch { output.file = nil }
        }
    }
}

private func line(_ key: KnownUploads.Key, _ value: [UInt8]?, at: Int) -> [UInt8] {
    let json = JSONWriter.object(reservingCapacity: 512) { writer in
        writer.field("key", key.text)
        writer.field("at", at)
        if let value {
            writer.raw("value", value)
        }
    }
    return json + [UInt8(ascii: "\n")]
}
