package import BalloonPOSIX
package import Logging
import Synchronization

/// An HTTP/1.1 server on POSIX sockets and Dispatch, with any number of listeners.
///
/// The connections are divided among shards, usually one per core. A shard is a serial Dispatch queue with an
/// epoll set; only the shard of a connection reads from it and writes to it.
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

    /// Binds every listener and returns the bound addresses in the listeners' order.
    ///
    /// Connections wait in the kernel until ``start()``. Throws a ``SystemError`` that names the address when
    /// an address is in use or not local; then no listener is bound.
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

    /// Starts serving, and returns the bound addresses in the listeners' order.
    ///
    /// Calls ``bind()`` unless it was called before, and throws the same errors; then no listener is served.
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

    /// Applies other limits to a listener and its open connections; returns when every shard uses them.
    ///
    /// Time limits that run already, and bytes that are held already, stay as they are.
    package func apply(_ limits: HTTPLimits, toListener index: Int) async {
        counters[index].apply(limits)
        guard isServing else {
            for shard in shards { await shard.apply(limits, toListener: index) }
            return
        }
        for shard in shards {
            await withCheckedContinuation { shard.post(.limits(limits, listener: index, $0)) }
        }
    }

    /// Stops accepting, lets requests in flight finish within `grace`, then closes the remaining connections.
    ///
    /// Open-ended answers, such as event streams, end at once, so that they do not delay the stop. A
    /// connection without a request stays open for `idle`: a request that is on its way is still answered,
    /// with `Connection: close`. A stopped server cannot be started again.
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

    /// Calls `answer` on the queue of a shard after the shard's current work, to show that the shard makes
    /// progress.
    ///
    /// If the shard has ended, `answer` is called at once.
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

/// A class that holds a listening socket, because an array cannot hold a noncopyable value.
private final class Bound {
    let address: SocketAddress
    private var socket: ListeningSocket?

    init(_ socket: consuming ListeningSocket) {
        address = socket.address
        self.socket = consume socket
    }

    func take() -> ListeningSocket? { socket.take() }
}
