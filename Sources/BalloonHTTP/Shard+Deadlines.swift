import BalloonPOSIX
import Dispatch

extension Shard {
    /// Sets the time limit of the connection's current phase to `ticks` from now.
    func setDeadline(_ connection: Connection, _ ticks: UInt64) {
        connection.deadline = wheel.now + ticks
        if connection.scheduled > connection.deadline {
            connection.scheduled = wheel.insert(connection.token, at: connection.deadline)
            startTicking()
        }
    }

    /// Extends the time limit of a collected body according to the received bytes.
    func setBodyDeadline(_ connection: Connection) {
        let ticks = connection.listener.ticks
        let end = min(
            connection.bodyStart + ticks.body(after: connection.bodyBytes),
            connection.requestStart + ticks.request)
        setDeadline(connection, end > wheel.now ? end - wheel.now : 0)
    }

    func startTicking() {
        guard !isTicking else { return }
        isTicking = true
        executor.queue.asyncAfter(deadline: .now() + .milliseconds(1 << Int(TimerWheel.tickShift))) {
            @Sendable in
            self.assumeIsolated { $0.tick() }
        }
    }

    private func tick() {
        isTicking = false
        refreshClock()
        guard !isGone else { return }
        if wheel.count > 0 || isStopping || acceptors.values.contains(where: \.isPaused) { startTicking() }
    }

    /// Reads the clock once for each batch of events: updates the `Date` field and handles expired deadlines.
    func refreshClock() {
        let second = SystemClock.secondsSince1970()
        if second != dateSecond {
            dateSecond = second
            dateField = HTTPDate.field(secondsSince1970: second)
        }
        let tick = SystemClock.coarseMilliseconds() >> TimerWheel.tickShift
        guard tick > wheel.now else { return }
        resumeAcceptors()
        for token in wheel.advance(to: tick) {
            // Moving a deadline to an earlier tick leaves the old entry in the wheel. Skip the old entry:
            // only the entry at `scheduled` is valid.
            guard let connection = slots[token], connection.scheduled <= tick else { continue }
            if connection.deadline > tick {
                connection.scheduled = wheel.insert(token, at: connection.deadline)
            } else {
                connection.scheduled = .max
                expire(connection)
            }
        }
        if idleTick > 0, tick >= idleTick { closeIdle() }
        if tick >= lastTick { cutOff() }
    }

    /// Handles the timeout of the current phase.
    private func expire(_ connection: Connection) {
        if connection.pendingOutputBytes > 0 { return close(connection) }
        switch connection.phase {
        case .head where connection.parser.isAtStart: close(connection)
        case .head, .collecting, .collectingChunks:
            refuse(connection, .timedOut)
            settle(connection)
        case .answering(let exchange) where exchange.pull?.reader != nil:
            exchange.pull?.fail(.refused(.timedOut))
            refuse(connection, .timedOut)
            settle(connection)
        case .answering(var exchange):
            exchange.isPersistent = false
            finish(connection, exchange, connection.listener.answer(to: .unanswered))
            settle(connection)
        // A handler may write nothing for any time; the socket reports when the client disconnects.
        case .streaming: setDeadline(connection, connection.listener.ticks.answer)
        case .heldBack, .closing, .lingering: close(connection)
        case .closed: break
        }
    }
}
