/// The subscribers of one broadcast on one shard.
final class BroadcastAudience {
    let broadcast: HTTPBroadcast
    var subscribers: Set<ExchangeID> = []
    /// The number of subscriptions so far: a batch reaches only the subscribers before it.
    var subscriptions = 0

    init(_ broadcast: HTTPBroadcast) { self.broadcast = broadcast }
}

/// A batch that a shard is sending to an audience.
final class BroadcastDelivery {
    let audience: BroadcastAudience
    private(set) var batch: BroadcastBatch
    let subscribers: [ExchangeID]
    private let subscriptions: Int
    /// The number of subscribers that were served.
    private(set) var served = 0

    init(_ batch: BroadcastBatch, to audience: BroadcastAudience) {
        self.audience = audience
        self.batch = batch
        subscribers = Array(audience.subscribers)
        subscriptions = audience.subscriptions
    }

    var isFinished: Bool { served == subscribers.count }

    /// Serves up to `count` more subscribers.
    func advance(by count: Int) -> ArraySlice<ExchangeID> {
        let start = served
        served = min(served + count, subscribers.count)
        return subscribers[start..<served]
    }

    /// Appends the next batch for the same subscribers; false when this delivery has begun or would be too large.
    func merge(_ next: BroadcastBatch) -> Bool {
        guard served == 0, audience.subscriptions == subscriptions,
            batch.bytes.count + next.bytes.count <= HTTPBroadcast.maximumUntakenBytes
        else { return false }
        batch.append(next)
        return true
    }
}

extension Shard {
    /// The number of subscribers that a shard serves before it turns to other work.
    static let broadcastStep = 256

    /// Makes a streamed answer a subscriber.
    func subscribe(_ exchange: ExchangeID, to broadcast: HTTPBroadcast) {
        guard let (connection, _, answer) = streaming(exchange), answer.audience == nil else {
            return broadcast.remove(self)
        }
        let audience = audiences[ObjectIdentifier(broadcast)] ?? BroadcastAudience(broadcast)
        audiences[ObjectIdentifier(broadcast)] = audience
        audience.subscribers.insert(exchange)
        audience.subscriptions += 1
        answer.audience = audience
        answer.isOpenEnded = true
        if isStopping { endOpenEnded(connection) }
    }

    /// Removes a streamed answer that ends from its audience.
    func unsubscribe(_ exchange: ExchangeID, _ answer: StreamedAnswer) {
        guard let audience = answer.audience else { return }
        answer.audience = nil
        audience.subscribers.remove(exchange)
        audience.broadcast.remove(self)
        if audience.subscribers.isEmpty { audiences[ObjectIdentifier(audience.broadcast)] = nil }
    }

    /// Queues a batch for the current subscribers of a broadcast.
    ///
    /// A shard that is behind merges batches, so that it catches up with fewer system calls.
    func deliver(_ batch: BroadcastBatch, of broadcast: HTTPBroadcast) {
        guard let audience = audiences[ObjectIdentifier(broadcast)] else { return }
        let latest = deliveries.last { $0.audience === audience }
        if latest?.merge(batch) == true { return }
        deliveries.append(BroadcastDelivery(batch, to: audience))
    }

    /// Sends the oldest batch to its next subscribers.
    func continueBroadcasts() {
        guard let delivery = deliveries.first else { return }
        for subscriber in delivery.advance(by: Self.broadcastStep) { send(delivery.batch, to: subscriber) }
        if delivery.isFinished { deliveries.removeFirst() }
    }

    private func send(_ batch: BroadcastBatch, to exchange: ExchangeID) {
        // The subscriber may have ended after the batch was queued.
        guard let (connection, _, answer) = streaming(exchange), answer.audience != nil else { return }
        let bytes = answer.isChunked ? batch.chunk : batch.bytes
        guard hasRoom(connection, bytes.count) else { return close(connection) }
        transmitSealed(connection, bytes)
        // The common case: the socket accepted all bytes.
        if connection.isOpen, connection.pendingOutputBytes > 0 { settle(connection) }
    }

    /// Whether a subscriber may hold these bytes besides its untaken ones.
    private func hasRoom(_ connection: Connection, _ count: Int) -> Bool {
        let untaken = connection.pendingOutputBytes
        return untaken == 0
            || untaken + count <= HTTPBroadcast.maximumUntakenBytes && connection.listener.connections.hasRoom
    }
}
