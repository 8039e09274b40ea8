import BalloonPOSIX
import Dispatch
import Synchronization

/// Reads standard input line by line, each line only when the caller asks for it.
final class InputLines: Sendable {
    private struct State: ~Copyable {
        let input = Descriptor(owning: 0)
        var read: [UInt8] = []
        var hasEnded = false
    }

    private static let maximumLineBytes = 1 << 20

    private let queue = DispatchQueue(label: "balloon.input")
    private let state = Mutex(State())

    /// The next line without its line feed; nil at the end.
    ///
    /// A line of more than 1 MiB is returned in pieces.
    func next() async -> String? {
        await withCheckedContinuation { continuation in
            // Reading from a terminal blocks until a person types, so it must not use a thread of Swift's pool.
            queue.async { continuation.resume(returning: self.readLine()) }
        }
    }

    private func readLine() -> String? {
        state.withLock { state in
            while true {
                let end = state.read.firstIndex(of: UInt8(ascii: "\n"))
                if let end, end <= Self.maximumLineBytes {
                    defer { state.read.removeSubrange(...end) }
                    return String(decoding: state.read[..<end], as: UTF8.self)
                }
                if state.read.count > Self.maximumLineBytes || (state.hasEnded && !state.read.isEmpty) {
                    let line = state.read.prefix(Self.maximumLineBytes)
                    defer { state.read.removeFirst(line.count) }
                    return String(decoding: line, as: UTF8.self)
                }
                if state.hasEnded { return nil }
                // A read error counts as the end of the input.
                let count = (try? state.input.read(onto: &state.read, maximumBytes: 65536)) ?? 0
                state.hasEnded = count == 0
            }
        }
    }
}
