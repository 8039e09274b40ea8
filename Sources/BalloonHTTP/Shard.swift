import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// A serial Dispatch queue that owns an epoll set and the connections in it.
///
/// One Dispatch read source on the epoll descriptor wakes the shard; it drains what is ready, answers inline, and
/// lingers a moment for the next burst. A Dispatch source for every connection would cost twice the time.
actor Shard {
    /// What other threads ask of a shard.
    enum Post: Sendable {
        case accepted(raw: Int32, service: Int)
        case answer(ExchangeID, HTTPResponse)
        case streamHead(ExchangeID, HTTPStreamHead)
        case chunk(ExchangeID, [UInt8], CheckedContinuation<Void, any Error>)
        case streamEnd(ExchangeID)
        case pull(ExchangeID, CheckedContinuation<[UInt8]?, any Error>)
        case drain(CheckedContinuation<Void, Never>)
        case abort
    }

    nonisolated let executor: QueueExecutor
    nonisolated let number: Int
    nonisolated let connectionCount = Atomic<Int>(0)
    private nonisolated let mailbox = Mutex<[Post]>([])
    private nonisolated let wakeUp: WakeUp
    let logger: Logger
    let describeRefusal: RefusalDescription

    private var epoll: Epoll
    private var source: (any DispatchSourceRead)?
    var services: [ListenerService]
    private var acceptors: [Int: Acceptor] = [:]
    private var slots: [Connection?] = []
    private var generations: [UInt32] = []
    private var freeSlots: [Int] = []

    /// One read's bytes; requests are parsed where they lie, so an idle connection holds no buffer.
    var scratch = [UInt8](repeating: 0, count: 65536)
    /// Answers of the connection that is being served, sent with one call.
    var out: [UInt8] = []
    var wheel = TimerWheel(now: SystemClock.coarseMilliseconds() >> TimerWheel.tickShift)
    private var isTicking = false
    private var dateSecond = 0
    private(set) var dateField: [UInt8] = []
    private(set) var isStopping = false
    private var drained: CheckedContinuation<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private static let wakeUpToken = UInt64.max
    private static let firstAcceptorToken = UInt64.max - 4096

    init(
        number: Int, listeners: [HTTPListener], logger: Logger, describeRefusal: @escaping RefusalDescription
    ) throws {
        self.number = number
        self.logger = logger
        self.describeRefusal = describeRefusal
        executor = QueueExecutor(label: "balloon.shard.\(number)")
        wakeUp = try WakeUp()
        epoll = try Epoll()
        services = listeners.map { ListenerService($0, shard: number) }
        try epoll.add(wakeUp.raw, .readable, token: Self.wakeUpToken)
    }

    /// Starts serving what is posted; the shard lives until it is told to abort.
    func start() {
        let source = DispatchSource.makeReadSource(fileDescriptor: epoll.raw, queue: executor.queue)
        source.setEventHandler { @Sendable in self.assumeIsolated { $0.drain() } }
        source.activate()
        self.source = source
    }

    /// Accepts connections on `socket` for this shard and its `peers`.
    func accept(on socket: consuming ListeningSocket, service: Int, peers: [Shard]) throws {
        let token = Self.firstAcceptorToken + UInt64(service)
        try epoll.add(socket.raw, .readable, token: token)
        acceptors[service] = Acceptor(socket, service: service, peers: peers)
    }

    /// Hands `post` to the shard; any thread.
    nonisolated func post(_ post: Post) {
        let wasEmpty = mailbox.withLock { posts in
            posts.append(post)
            return posts.count == 1
        }
        if wasEmpty { wakeUp.signal() }
    }

    private func drain() {
        var hasServed = false
        while true {
            let count = epoll.wait(milliseconds: 0)
            // A burst is seldom alone: a millisecond here saves re-arming the source and waking a thread.
            let ready = count == 0 && hasServed ? epoll.wait(milliseconds: 1) : count
            if ready == 0 { return }
            hasServed = true
            refreshClock()
            for index in 0..<ready {
                let (token, events) = epoll.ready(index)
                serve(token, events)
            }
        }
    }

    private func serve(_ token: UInt64, _ events: Epoll.Events) {
        if token == Self.wakeUpToken {
            wakeUp.clear()
            for post in mailbox.withLock({ swap(&$0, with: []) }) { take(post) }
        } else if token >= Self.firstAcceptorToken {
            acceptConnections(service: Int(token - Self.firstAcceptorToken))
        } else if let connection = connection(token) {
            if events.contains(.writable) { flush(connection) }
            if connection.isOpen, events.contains(.readable) {
                receive(connection)
            } else if connection.isOpen, !events.isDisjoint(with: .gone) {
                close(connection)
            }
        }
    }

    private func take(_ post: Post) {
        switch post {
        case .accepted(let raw, let service): adopt(Descriptor(owning: raw), service: service)
        case .answer(let exchange, let response): answer(exchange, response)
        case .streamHead(let exchange, let head): startStream(exchange, head)
        case .chunk(let exchange, let bytes, let writer): write(exchange, bytes, writer)
        case .streamEnd(let exchange): endStream(exchange)
        case .pull(let exchange, let reader): pull(exchange, reader)
        case .drain(let continuation): stop(continuation)
        case .abort: abort()
        }
    }
}

/// A listening socket in a shard's epoll set.
private final class Acceptor {
    let socket: ListeningSocket
    let service: Int
    let peers: [Shard]
    var isPaused = false

    init(_ socket: consuming ListeningSocket, service: Int, peers: [Shard]) {
        self.socket = socket
        self.service = service
        self.peers = peers
    }
}

private func swap<Value>(_ value: inout Value, with new: Value) -> Value {
    let old = value
    value = new
    return old
}

extension Shard {
    /// Takes every waiting connection and gives each to the shard that has the fewest.
    private func acceptConnections(service: Int) {
        guard let acceptor = acceptors[service], !acceptor.isPaused else { return }
        let limits = services[service].limits
        for _ in 0..<256 {
            let total = acceptor.peers.reduce(0) { $0 + $1.connectionCount.load(ordering: .relaxed) }
            guard total < limits.maximumConnections else { return pause(acceptor) }
            do throws(SystemError) {
                guard let descriptor = try acceptor.socket.accept() else { return }
                let target = acceptor.peers.min {
                    $0.connectionCount.load(ordering: .relaxed) < $1.connectionCount.load(ordering: .relaxed)
                }
                guard let target else { return }
                target.connectionCount.add(1, ordering: .relaxed)
                if target === self {
                    adopt(descriptor, service: service)
                } else {
                    target.post(.accepted(raw: descriptor.release(), service: service))
                }
            } catch {
                // Out of descriptors or memory: the connection waits in the kernel's queue until there are some.
                logger.warning("accepting is paused", metadata: ["error": "\(error)"])
                return pause(acceptor)
            }
        }
    }

    private func pause(_ acceptor: Acceptor) {
        acceptor.isPaused = true
        try? epoll.modify(acceptor.socket.raw, [], token: Self.firstAcceptorToken + UInt64(acceptor.service))
        startTicking()
    }

    private func resumeAcceptors() {
        for acceptor in acceptors.values where acceptor.isPaused {
            acceptor.isPaused = false
            try? epoll.modify(
                acceptor.socket.raw, .readable, token: Self.firstAcceptorToken + UInt64(acceptor.service))
        }
    }

    private func adopt(_ descriptor: consuming Descriptor, service: Int) {
        descriptor.disableDelay()
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count {
            slots.append(nil)
            generations.append(0)
        }
        generations[slot] &+= 1
        // The generation's top bit stays clear, so that no token reaches those of the acceptors.
        let token = UInt64(generations[slot] & 0x7FFF_FFFF) << 32 | UInt64(slot)
        let connection = Connection(descriptor, token: token, service: services[service])
        slots[slot] = connection
        do {
            try epoll.add(connection.descriptor.raw, .readable, token: token)
        } catch {
            return close(connection)
        }
        setDeadline(connection, connection.service.limits.firstByteTimeout)
        if isStopping { close(connection) }
    }

    func connection(_ token: UInt64) -> Connection? {
        let slot = Int(token & 0xFFFF_FFFF)
        guard slot < slots.count, let connection = slots[slot], connection.token == token else { return nil }
        return connection
    }

    /// Brings the epoll set in line with what the connection waits for now.
    func updateInterest(_ connection: Connection) {
        let wanted = connection.wantedInterest
        guard connection.isOpen, wanted != connection.interest else { return }
        connection.interest = wanted
        do {
            try epoll.modify(connection.descriptor.raw, wanted, token: connection.token)
        } catch {
            close(connection)
        }
    }

    /// Forgets the connection and fails whoever waits for it; the descriptor closes with its last reference.
    func close(_ connection: Connection) {
        let slot = Int(connection.token & 0xFFFF_FFFF)
        guard connection.isOpen else { return }
        connection.isOpen = false
        slots[slot] = nil
        freeSlots.append(slot)
        connectionCount.subtract(1, ordering: .relaxed)
        // Removed by hand, because handlers of this burst may still hold the connection, and with it the descriptor.
        try? epoll.remove(connection.descriptor.raw)
        connection.writer?.resume(throwing: HTTPStreamError.disconnected)
        connection.writer = nil
        connection.pull?.waiting?.resume(throwing: HTTPStreamError.disconnected)
        connection.pull = nil
        if isStopping { finishDraining() }
    }
}

extension Shard {
    /// Gives the connection's current phase `duration` from now.
    func setDeadline(_ connection: Connection, _ duration: Duration) {
        let milliseconds =
            UInt64(duration.components.seconds * 1000)
            + UInt64(duration.components.attoseconds / 1_000_000_000_000_000)
        connection.deadline = wheel.now + (milliseconds >> TimerWheel.tickShift) + 1
        if connection.scheduled > connection.deadline {
            connection.scheduled = wheel.insert(connection.token, at: connection.deadline)
            startTicking()
        }
    }

    private func startTicking() {
        guard !isTicking else { return }
        isTicking = true
        executor.queue.asyncAfter(deadline: .now() + .milliseconds(1 << Int(TimerWheel.tickShift))) {
            @Sendable in
            self.assumeIsolated { $0.tick() }
        }
    }

    private func tick() {
        isTicking = false
        resumeAcceptors()
        refreshClock()
        if wheel.count > 0 || acceptors.values.contains(where: \.isPaused) { startTicking() }
    }

    /// Looks at the clock once for a burst: the `Date` field and the deadlines that have passed.
    private func refreshClock() {
        let second = SystemClock.secondsSince1970()
        if second != dateSecond {
            dateSecond = second
            dateField = HTTPDate.field(secondsSince1970: second)
        }
        for token in wheel.advance(to: SystemClock.coarseMilliseconds() >> TimerWheel.tickShift) {
            guard let connection = connection(token) else { continue }
            if connection.deadline > wheel.now {
                connection.scheduled = wheel.insert(token, at: connection.deadline)
            } else {
                connection.scheduled = .max
                expire(connection)
            }
        }
    }

    private func stop(_ continuation: CheckedContinuation<Void, Never>) {
        isStopping = true
        drained = continuation
        acceptors = [:]
        for connection in slots.compactMap({ $0 }) where connection.isIdle { close(connection) }
        finishDraining()
    }

    private func abort() {
        for connection in slots.compactMap({ $0 }) { close(connection) }
        source?.cancel()
        source = nil
    }

    private func finishDraining() {
        guard slots.count == freeSlots.count, let drained else { return }
        self.drained = nil
        drained.resume()
    }
}
