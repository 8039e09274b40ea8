import BalloonPOSIX
import BalloonTLS
import Dispatch
import Logging
import Synchronization

/// A serial Dispatch queue that owns an epoll set and the connections in it.
///
/// One Dispatch read source on the epoll descriptor wakes the shard. The shard handles all ready events,
/// calls the handlers on its queue, and then waits 5 ms for more events. A Dispatch source for every
/// connection would double the time per request.
actor Shard {
    nonisolated let executor: QueueExecutor
    nonisolated let connectionCount = Atomic<Int>(0)
    nonisolated let mailbox: Mailbox
    private nonisolated let counters: [ConnectionCounter]
    let logger: Logger
    let listeners: [ServedListener]
    private let endBurst: [@Sendable () -> Void]

    var epoll: Epoll
    private var source: (any DispatchSourceRead)?
    private var posts: [Mailbox.Post] = []
    var acceptors: [Int: Acceptor] = [:]
    var slots = ConnectionSlots()
    var audiences: [ObjectIdentifier: BroadcastAudience] = [:]
    /// The batches that subscribers still wait for, oldest first.
    var deliveries: [BroadcastDelivery] = []

    /// The bytes of one read; requests are parsed in this buffer, so an idle connection needs none.
    var scratch = [UInt8](repeating: 0, count: 65536)
    /// The queued answers of the current connection, which one system call sends.
    var out: [UInt8] = []
    /// The decrypted bytes of one read, and the encrypted bytes to send.
    var opened: [UInt8] = []
    var sealed: [UInt8] = []
    var wheel = TimerWheel(now: SystemClock.coarseMilliseconds() >> TimerWheel.tickShift)
    var isTicking = false
    var dateSecond = 0
    var dateField: [UInt8] = []
    private(set) var isStopping = false
    private(set) var isGone = false
    /// The tick at which a stopping server closes the connections without a request; 0 once they are closed.
    var idleTick: UInt64 = 0
    /// The tick at which a stopping server closes all connections.
    var lastTick = UInt64.max
    private var drained: [CheckedContinuation<Void, Never>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private static let mailboxToken = UInt64.max
    static let firstAcceptorToken = UInt64.max - 4096

    init(
        number: Int, listeners: [HTTPListener], counters: [ConnectionCounter], logger: Logger
    ) throws {
        self.counters = counters
        self.logger = logger
        endBurst = listeners.flatMap { $0.routes.compactMap(\.endBurst) }
        executor = QueueExecutor(label: "balloon.shard.\(number)")
        mailbox = try Mailbox()
        epoll = try Epoll()
        self.listeners = zip(listeners, counters).map {
            ServedListener($0, shard: number, connections: $1)
        }
        if listeners.contains(where: { $0.tls != nil }) {
            opened = [UInt8](repeating: 0, count: scratch.count + 16384)
        }
        try epoll.add(mailbox.raw, .readable, token: Self.mailboxToken)
    }

    /// Starts serving; the event source retains the shard until the shard ends.
    func start() {
        // Makes Dispatch open its timer descriptor now, while descriptors are available.
        startTicking()
        let source = DispatchSource.makeReadSource(fileDescriptor: epoll.raw, queue: executor.queue)
        source.setEventHandler { @Sendable in self.assumeIsolated { $0.drain() } }
        source.activate()
        self.source = source
    }

    /// Applies other limits before the shard is started.
    func apply(_ limits: HTTPLimits, toListener index: Int) { listeners[index].apply(limits) }

    /// Sends `post` to the shard, from any thread.
    nonisolated func post(_ post: Mailbox.Post) {
        if !mailbox.put(post) { turnAway(post) }
    }

    private func drain() {
        var patience: Int32 = 0
        while !isGone {
            let ready = epoll.wait(milliseconds: deliveries.isEmpty ? patience : 0)
            if ready == 0, deliveries.isEmpty { return }
            // More events often follow soon, such as the answers after a sync of the disk: waiting here avoids
            // re-arming the source and waking a thread.
            patience = 5
            refreshClock()
            for index in 0..<ready {
                let (token, events) = epoll.ready(index)
                serve(token, events)
            }
            for end in endBurst { end() }
            continueBroadcasts()
        }
    }

    private func serve(_ token: UInt64, _ events: Epoll.Events) {
        if token == Self.mailboxToken {
            mailbox.exchange(&posts)
            for post in posts { take(post) }
            posts.removeAll(keepingCapacity: true)
        } else if token >= Self.firstAcceptorToken {
            acceptConnections(Int(token - Self.firstAcceptorToken))
        } else if let connection = slots[token] {
            if events.hasAny(of: .writable) { flush(connection) }
            if connection.isOpen, events.hasAny(of: .readable) {
                receive(connection)
            } else if connection.isOpen, events.hasAny(of: .gone) {
                close(connection)
            }
        }
    }

    private func take(_ post: Mailbox.Post) {
        if isGone { return turnAway(post) }
        switch post {
        case .accepted(let raw, let peer, let listener): adopt(Descriptor(owning: raw), peer, listener)
        case .answer(let exchange, let response, let then):
            let delivery = answer(exchange, response)
            then?(delivery)
        case .streamHead(let exchange, let head): startStream(exchange, head)
        case .chunk(let exchange, let bytes, let writer): write(exchange, bytes, writer)
        case .streamEnd(let exchange, let retained): endStream(exchange, retaining: retained)
        case .subscribe(let exchange, let section): subscribe(exchange, to: section)
        case .batch(let batch, let section): deliver(batch, to: section)
        case .endSection(let section, let isRegular): end(section, isRegular: isRegular)
        case .abort(let exchange): abort(exchange)
        case .pull(let exchange, let reader): pull(exchange, reader)
        case .limits(let limits, let listener, let continuation):
            listeners[listener].apply(limits)
            continuation.resume()
        case .check(let answer): answer()
        case .drain(let grace, let idle, let continuation): stop(within: grace, idle: idle, continuation)
        }
    }

    /// Resumes or answers the callers that wait for `post`, because the shard has ended.
    private nonisolated func turnAway(_ post: Mailbox.Post) {
        switch post {
        case .accepted(let raw, let peer, let listener):
            _ = Descriptor(owning: raw)
            uncount(peer, listener)
        case .chunk(_, _, let writer): writer.resume(throwing: HTTPStreamError.disconnected)
        case .pull(_, let reader): reader.resume(throwing: HTTPStreamError.disconnected)
        case .drain(_, _, let continuation), .limits(_, _, let continuation): continuation.resume()
        // A shard that has ended is not stuck, so answer the check.
        case .check(let answer): answer()
        case .subscribe(_, let section): section.broadcast.remove(from: section)
        case .answer(_, _, let then): then?(.unsent)
        case .streamHead, .streamEnd, .batch, .endSection, .abort: break
        }
    }
}

extension Shard {
    nonisolated func uncount(_ peer: PeerAddress, _ listener: Int) {
        connectionCount.subtract(1, ordering: .relaxed)
        counters[listener].remove(peer)
    }
}

extension Shard {
    private func stop(
        within grace: Duration, idle: Duration, _ continuation: CheckedContinuation<Void, Never>
    ) {
        isStopping = true
        idleTick = wheel.now + TimerWheel.ticks(min(idle, grace))
        drained.append(continuation)
        lastTick = min(lastTick, wheel.now + TimerWheel.ticks(grace))
        startTicking()
        // Accept once more, to serve clients that connected before the stop. The connections in the queue of
        // an inherited socket stay there for the next process.
        for (listener, acceptor) in acceptors where !acceptor.socket.isInherited {
            acceptConnections(listener)
        }
        for acceptor in acceptors.values where acceptor.socket.isInherited {
            // Never fails: the socket is in the set. Closing our descriptor would not remove it from the set,
            // because the service manager has the socket open too.
            try? epoll.remove(acceptor.socket.raw)
        }
        acceptors = [:]
        // Send every batch that was posted before the stop.
        while !deliveries.isEmpty { continueBroadcasts() }
        for connection in slots.all {
            if connection.isIdle { serveOrKeep(connection) } else { endOpenEnded(connection) }
        }
        leaveWhenDrained()
    }

    /// Serves the complete request of an idle connection; without a request, closes it after ``idleTick``.
    func serveOrKeep(_ connection: Connection) {
        if wheel.now < idleTick { receive(connection) } else { serveOrClose(connection) }
    }

    /// Closes the connections that have no request when the idle period of the stop ends.
    func closeIdle() {
        idleTick = 0
        for connection in slots.all where connection.isIdle { serveOrClose(connection) }
    }

    /// Closes all connections when the grace period of the stop ends.
    func cutOff() {
        for connection in slots.all { close(connection) }
    }

    /// Ends a stopping shard that has no connections left, and resumes all callers of `stop`.
    func leaveWhenDrained() {
        guard isStopping, !isGone, slots.isEmpty else { return }
        isGone = true
        source?.cancel()
        source = nil
        for post in mailbox.close() { turnAway(post) }
        for continuation in drained { continuation.resume() }
        drained = []
    }
}
