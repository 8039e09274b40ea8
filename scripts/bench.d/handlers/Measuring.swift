import BalloonPOSIX
import Glibc
import Logging
import Synchronization

/// A log that only counts ready handlers.
struct ReadinessCount: LogHandler {
    private final class Count: Sendable {
        private let state = Mutex<(count: Int, waiters: [(Int, CheckedContinuation<Void, Never>)])>((0, []))

        func add() {
            let ready = state.withLock { state in
                state.count += 1
                let ready = state.waiters.filter { $0.0 <= state.count }
                state.waiters.removeAll { $0.0 <= state.count }
                return ready
            }
            for (_, waiter) in ready { waiter.resume() }
        }

        func wait(for count: Int) async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.count < count { state.waiters.append((count, continuation)) }
                    return state.count >= count
                }
                if isThere { continuation.resume() }
            }
        }

        func reset() { state.withLock { $0.count = 0 } }
    }

    var logLevel = Logger.Level.notice
    var metadata: Logger.Metadata = [:]
    private let count = Count()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if "\(event.message)" == "handler is ready" { count.add() }
        if event.level >= .error { StandardStream.error.write("\(event.message) \(event.metadata ?? [:])\n") }
    }

    /// Waits until this many handlers became ready since the last ``reset()``.
    func wait(for ready: Int) async { await count.wait(for: ready) }

    func reset() { count.reset() }
}

/// Memory as the system counts it.
struct Memory {
    let kiB: Int
    let count: Int

    /// The resident memory of this process.
    static func own() -> Memory { Memory(kiB: read("self", "Rss:"), count: 1) }

    /// The memory of the children; shared pages are divided among their users.
    static func children() -> Memory {
        let own = Int(getpid())
        let ids = ((try? Directory.names(in: "/proc")) ?? []).filter { id in
            Int(id) != nil && parent(of: id) == own
        }
        return Memory(kiB: ids.reduce(0) { $0 + read($1, "Pss:") }, count: ids.count)
    }

    private static func read(_ process: String, _ field: String) -> Int {
        let lines = text("/proc/\(process)/smaps_rollup").split(separator: "\n")
        let words = lines.first { $0.hasPrefix(field) }?.split(separator: " ")
        return words.flatMap { Int($0[1]) } ?? 0
    }

    private static func parent(of process: String) -> Int? {
        // `pid (name) state parent …`
        let fields = text("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ")
        return fields.flatMap { $0.count > 1 ? Int($0[1]) : nil }
    }

    private static func text(_ path: String) -> String {
        guard let file = try? Descriptor.open(reading: path),
            let bytes = try? file.readToEnd(maximumBytes: 1 << 16)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
