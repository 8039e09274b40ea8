package import BalloonPOSIX
package import Logging
import Synchronization

/// An HTTP/1.1 server on POSIX sockets and Dispatch, with any number of listeners.
///
/// Its connections are divided among shards, usually one per core. A shard is a serial Dispatch queue with an
/// epoll set; it alone reads and answers on its connections.
package actor HTTPServer {
    private let listeners: [HTTPListener]
    /// The counters of connections, one for each listener.
    nonisolated let counters: [ConnectionCounter]
    nonisolated let shards: [Shard]
    private var bound: [Bound] = []
    private var isServing = false

    /// Creates a server that does not listen yet.
    package init(listeners: [HTTPListener], shards: Int, logger: Logger) throws {
        self.listeners = listeners
        let counters = listeners.map { ConnectionCounter($0.limits) }
        self.counters = counters
        self.shards = try (0..<max(1, shards)).map { number in
            try Shard(number: number, listeners: listeners, counters: counters, logger: logger)
        }
    }

    /// Binds every listener and returns the bound addresses in the listeners' order; connections wait until
    /// ``start()``.
    ///
    /// Throws a ``SystemError`` with the address when one is in use or not local; then none is bound.
    @discardableResult
    package func bind() throws(SystemError) -> [SocketAddress] {
        guard bound.isEmpty else { return bound.map(\.address) }
        var sockets: [Bound] = []
        for listener in listeners {
            if let inherited = listener.inherited {
                sockets.append(Bound(try ListeningSocket(inherited: inherited)))
            } else {
                sockets.append(Bound(try ListeningSocket(listener.address)))
            }
        }
        bound = sockets
        return sockets.map(\.address)
    }

    /// Starts serving, and returns the bound addresses in the listeners' order; calls ``bind()`` unless it
    /// was called before.
    ///
    /// Throws like ``bind()``; then no listener is served.
    package func start() async throws -> [SocketAddress] {
        // All or none: bind every address before the first connection is accepted.
        let addresses = try bind()
        for (index, bound) in bound.enumerated() {
            guard let socket = bound.take() else { continue }
            try await shards[0].accept(on: socket, index, shards: shards)
        }
        // Start the shards last: a running shard accepts other work only through its mailbox.
        for shard in shards { await shard.start() }
        isServing = true
        return addresses
    }

    /// Stops accepting, lets requests in flight finish within `grace`, then closes the remaining connections.
    ///
    /// Open-ended answers, such as event streams, end at once, so that they do not delay the stop. A connection without a request
    /// stays open for `idle`, so that a request that its client is sending is answered, with `Connection: close`. A stopped server
    /// cannot be started again.
    package func stop(within grace: Duration, idle: Duration = .zero) async {
        guard isServing else { return bound = [] }
        await withTaskGroup(of: Void.self) { group in
            for shard in shards {
                group.addTask {
                    await withCheckedContinuation { shard.post(.drain(within: grace, idle: idle, $0)) }
                }
            }
        }
    }

    /// The number of shards.
    package nonisolated var shardCount: Int { shards.count }

    /// Calls `answer` on a shard's queue once the shard has completed its current work; at once when the shard has ended.
    package nonisolated func check(shard: Int, _ answer: @escaping @Sendable () -> Void) {
        shards[shard].post(.check(answer))
    }

    /// The number of open connections of each listener, in the listeners' order.
    package nonisolated var connectionCounts: [Int] { counters.map(\.value) }

    /// The number of open connections.
    package nonisolated var connectionCount: Int {
        shards.reduce(0) { $0 + $1.connectionCount.load(ordering: .relaxed) }
    }
}

/// Holds a listening socket, which cannot be copied, in an array.
private final class Bound {
    let address: SocketAddress
    private var socket: ListeningSocket?

    init(_ socket: consuming ListeningSocket) {
        address = socket.address
        self.socket = consume socket
    }

    func take() -> ListeningSocket? { socket.take() }
}
