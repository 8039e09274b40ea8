import BalloonPOSIX
import Synchronization

/// The tasks that other threads post to a shard, such as sending an answer, in the order of posting.
final class Mailbox: Sendable {
    /// One task from another thread.
    enum Post: Sendable {
        case accepted(raw: Int32, from: PeerAddress, listener: Int)
        case answer(ExchangeID, HTTPResponse, (@Sendable (HTTPDelivery) -> Void)?)
        case streamHead(ExchangeID, HTTPStreamHead)
        case chunk(ExchangeID, [UInt8], CheckedContinuation<Void, any Error>)
        case streamEnd(ExchangeID, retaining: (any AnyObject & Sendable)?)
        case subscribe(ExchangeID, to: BroadcastSection)
        case batch(BroadcastBatch, to: BroadcastSection)
        case endSection(BroadcastSection, isRegular: Bool)
        case abort(ExchangeID)
        case pull(ExchangeID, CheckedContinuation<[UInt8]?, any Error>)
        case limits(HTTPLimits, listener: Int, CheckedContinuation<Void, Never>)
        /// Calls the closure, which shows that the shard makes progress.
        case check(@Sendable () -> Void)
        case drain(within: Duration, idle: Duration, CheckedContinuation<Void, Never>)
    }

    private struct State {
        var posts: [Post] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeUp: WakeUp

    init() throws(SystemError) { wakeUp = try WakeUp() }

    /// A descriptor that is readable when the mailbox may contain a post.
    var raw: Int32 { wakeUp.raw }

    /// Appends `post`; returns false when the mailbox is closed.
    func put(_ post: Post) -> Bool {
        let wasEmpty = state.withLock { state -> Bool? in
            if state.isClosed { return nil }
            state.posts.append(post)
            return state.posts.count == 1
        }
        if wasEmpty == true { wakeUp.signal() }
        return wasEmpty != nil
    }

    /// Swaps the waiting posts with `posts`, which must be empty; the mailbox reuses its storage.
    func exchange(_ posts: inout [Post]) {
        // Clear the signal before the swap: a later post signals again.
        wakeUp.clear()
        state.withLock { swap(&$0.posts, &posts) }
    }

    /// Closes the mailbox, and returns its contents.
    func close() -> [Post] {
        state.withLock { state in
            state.isClosed = true
            defer { state.posts = [] }
            return state.posts
        }
    }
}
