/// The audience of one broadcast on one shard.
final class BroadcastAudience {
    let section: BroadcastSection
    private var subscribers: Set<ExchangeID> = []
    private var sorted: [ExchangeID]?
    /// The number of subscriptions so far, which shows whether a subscriber was added since a batch was
    /// queued.
    private(set) var subscriptions = 0

    init(_ section: BroadcastSection) { self.section = section }

    var isEmpty: Bool { subscribers.isEmpty }

    /// The subscribers in the order of their slots: memory that is read in this order is cached better.
    var inOrder: [ExchangeID] {
        if let sorted { return sorted }
        let sorted = subscribers.sorted { $0.connection < $1.connection }
        self.sorted = sorted
        return sorted
    }

    func insert(_ subscriber: ExchangeID) {
        subscribers.insert(subscriber)
        subscriptions += 1
        sorted = nil
    }

    func remove(_ subscriber: ExchangeID) {
        subscribers.remove(subscriber)
        sorted = nil
    }
}

/// A batch that a shard sends to its subscribers, or the end of the subscribers' answers.
final class BroadcastDelivery {
    enum Content {
        case batch(BroadcastBatch)
        /// The answers end with their last chunk.
        case regularEnd
        /// The connections close without the last chunk, so that a client knows that its answer is incomplete.
        case cut
    }

    let audience: BroadcastAudience
    private(set) var content: Content
    let subscribers: [ExchangeID]
    private let subscriptions: Int
    /// The number of subscribers that were served.
    private(set) var served = 0

    init(_ content: Content, to audience: BroadcastAudience) {
        self.audience = audience
        self.content = content
        subscribers = audience.inOrder
        subscriptions = audience.subscriptions
    }

    var isFinished: Bool { served == subscribers.count }

    /// Returns the next `count` subscribers at most, and counts them as served.
    func advance(by count: Int) -> ArraySlice<ExchangeID> {
        let start = served
        served = min(served + count, subscribers.count)
        return subscribers[start..<served]
    }

    /// Appends the next batch to this delivery if both have the same subscribers; returns whether it did.
    ///
    /// Returns false when the delivery has begun, or the result would exceed
    /// ``HTTPBroadcast/maximumUntakenBytes``.
    func merge(_ next: BroadcastBatch) -> Bool {
        guard served == 0, audience.subscriptions == subscriptions, case .batch(var batch) = content,
            batch.bytes.count + next.bytes.count <= HTTPBroadcast.maximumUntakenBytes
        else { return false }
        // Drop the second reference to the batch, so that appending changes it in place.
        content = .cut
        batch.append(next)
        content = .batch(batch)
        return true
    }

    /// Subtracts a finished batch from the bytes and batches that wait for the shard.
    func release() {
        guard case .batch(let batch) = content else { return }
        audience.section.removeWaiting(batch.bytes.count, batches: 1)
    }
}

extension Shard {
    /// The maximum number of subscribers that a shard serves before it handles other events.
    static let broadcastStep = 256

    /// Makes a streamed answer a subscriber.
    func subscribe(_ exchange: ExchangeID, to section: BroadcastSection) {
        guard let (connection, _, answer) = streaming(exchange), answer.audience == nil else {
            return section.broadcast.remove(from: section)
        }
        let audience = audiences[ObjectIdentifier(section)] ?? BroadcastAudience(section)
        audiences[ObjectIdentifier(section)] = audience
        audience.insert(exchange)
        answer.audience = audience
        answer.isOpenEnded = true
        if isStopping { endOpenEnded(connection) }
    }

    /// Removes a streamed answer that ends from its audience.
    func unsubscribe(_ exchange: ExchangeID, _ answer: StreamedAnswer) {
        guard let audience = answer.audience else { return }
        answer.audience = nil
        audience.remove(exchange)
        audience.section.broadcast.remove(from: audience.section)
        if audience.isEmpty { audiences[ObjectIdentifier(audience.section)] = nil }
    }

    /// Queues a batch for the current subscribers of a section.
    ///
    /// If a batch for the same subscribers is still waiting, both are merged, which needs fewer system calls.
    func deliver(_ batch: BroadcastBatch, to section: BroadcastSection) {
        guard let audience = audiences[ObjectIdentifier(section)] else {
            return section.removeWaiting(batch.bytes.count, batches: 1)
        }
        let latest = deliveries.last { $0.audience === audience }
        if latest?.merge(batch) == true { return section.removeWaiting(0, batches: 1) }
        deliveries.append(BroadcastDelivery(.batch(batch), to: audience))
    }

    /// Ends the answers of a section: after its waiting batches if `isRegular`, else without sending these.
    func end(_ section: BroadcastSection, isRegular: Bool) {
        guard let audience = audiences[ObjectIdentifier(section)] else { return }
        if !isRegular { deliveries.removeAll { $0.audience === audience } }
        deliveries.append(BroadcastDelivery(isRegular ? .regularEnd : .cut, to: audience))
    }

    /// Sends the oldest waiting batch to up to ``broadcastStep`` of its remaining subscribers.
    func continueBroadcasts() {
        guard let delivery = deliveries.first else { return }
        for subscriber in delivery.advance(by: Self.broadcastStep) { send(delivery.content, to: subscriber) }
        guard delivery.isFinished else { return }
        deliveries.removeFirst()
        delivery.release()
    }

    private func send(_ content: BroadcastDelivery.Content, to exchange: ExchangeID) {
        // The subscriber may have ended after the batch was queued.
        guard let (connection, _, answer) = streaming(exchange), answer.audience != nil else { return }
        switch content {
        case .batch(let batch): send(answer.isChunked ? batch.chunk : batch.bytes, to: connection)
        case .regularEnd: endOpenEnded(connection)
        case .cut: close(connection)
        }
    }

    private func send(_ bytes: [UInt8], to connection: Connection) {
        guard hasRoom(connection, bytes.count) else { return close(connection) }
        transmitSealed(connection, bytes)
        // The common case: the socket accepted all bytes.
        if connection.isOpen, connection.pendingOutputBytes > 0 { settle(connection) }
    }

    /// Returns whether a subscriber may hold `count` more bytes in addition to its pending ones.
    private func hasRoom(_ connection: Connection, _ count: Int) -> Bool {
        let untaken = connection.pendingOutputBytes
        return untaken == 0
            || untaken + count <= HTTPBroadcast.maximumUntakenBytes && connection.listener.connections.hasRoom
    }
}
