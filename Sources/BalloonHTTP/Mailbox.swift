import BalloonPOSIX
import Synchronization

/// What other threads ask of a shard, in the order they asked.
final class Mailbox: Sendable {
    /// One request of another thread.
    enum Post: Sendable {
        case accepted(raw: Int32, from: PeerAddress, listener: Int)
        case answer(ExchangeID, HTTPResponse)
        case streamHead(ExchangeID, HTTPStreamHead)
        case chunk(ExchangeID, [UInt8], CheckedContinuation<Void, any Error>)
        case streamEnd(ExchangeID)
        case abort(ExchangeID)
        case pull(ExchangeID, CheckedContinuation<[UInt8]?, any Error>)
        case drain(within: Duration, CheckedContinuation<Void, Never>)
    }

    private struct State {
        var posts: [Post] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeUp: WakeUp

    init() throws(SystemError) { wakeUp = try WakeUp() }

    /// Readable while something may be in the box.
    var raw: Int32 { wakeUp.raw }

    /// Puts `post` into the box; false once that is closed.
    func put(_ post: Post) -> Bool {
        let wasEmpty = state.withLock { state -> Bool? in
            if state.isClosed { return nil }
            state.posts.append(post)
            return state.posts.count == 1
        }
        if wasEmpty == true { wakeUp.signal() }
        return wasEmpty != nil
    }

    /// Gives everything in the box in exchange for `posts`, which must be empty and lends its storage.
    func exchange(_ posts: inout [Post]) {
        // Before the exchange: what is put in after it signals again.
        wakeUp.clear()
        state.withLock { swap(&$0.posts, &posts) }
    }

    /// Takes nothing more; returns what was still in the box.
    func close() -> [Post] {
        state.withLock { state in
            state.isClosed = true
            defer { state.posts = [] }
            return state.posts
        }
    }
}
