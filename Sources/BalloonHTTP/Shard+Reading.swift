import BalloonPOSIX

extension Shard {
    /// Reads once and serves every request that is whole.
    func receive(_ connection: Connection) {
        let received: Int
        do {
            guard let count = try connection.descriptor.receive(into: &scratch) else { return }
            received = count
        } catch {
            return close(connection)
        }
        if received == 0 {
            connection.isPeerFinished = true
            // Half a connection is enough to answer on (RFC 9112 §9.6), but a body that stops short is not.
            if let pull = connection.pull, !pull.isFinished { return close(connection) }
        } else if connection.isClosing {
            return
        } else if let tls = connection.tls {
            guard let count = open(connection, tls, received) else { return }
            if count > 0 { take(connection, opened, count) }
        } else {
            take(connection, scratch, received)
        }
        refuseWhenFull(connection)
        settle(connection)
    }

    /// Refuses a request that grows while all of them together hold too much.
    private func refuseWhenFull(_ connection: Connection) {
        let before = connection.countedBytes
        let hasRoom = count(connection)
        guard !hasRoom, connection.isOpen, connection.isReading, connection.countedBytes > before,
            connection.countedBytes > HTTPLimits.freeBytesPerConnection
        else { return }
        refuse(connection, .overloaded)
    }

    /// Tells the listener what the connection holds; false when all hold too much.
    private func count(_ connection: Connection) -> Bool {
        let held = connection.heldBytes
        // Nearly always: requests come whole, and answers are taken at once.
        guard held != connection.countedBytes, connection.isOpen else { return true }
        let change = held - connection.countedBytes
        connection.countedBytes = held
        return connection.listener.connections.note(change)
    }

    /// Serves every request that is whole with these bytes.
    private func take(_ connection: Connection, _ bytes: [UInt8], _ count: Int) {
        noteBody(connection, count)
        if connection.input.isEmpty {
            let used = process(connection, bytes, count)
            if used < count { connection.input = Array(bytes[used..<count]) }
        } else {
            connection.input += bytes[..<count]
            processInput(connection)
        }
    }

    /// More of a collected body has come, which may take that much longer now.
    private func noteBody(_ connection: Connection, _ count: Int) {
        switch connection.phase {
        case .collecting, .collectingChunks:
            connection.bodyBytes += count
            setBodyDeadline(connection)
        case .head, .answering, .streaming, .lingering: break
        }
    }

    /// Serves what waits in the connection's own buffer.
    func processInput(_ connection: Connection) {
        guard !connection.input.isEmpty else { return }
        var input: [UInt8] = []
        swap(&input, &connection.input)
        let used = process(connection, input, input.count)
        if used == 0 {
            connection.input = input
        } else if used < input.count {
            connection.input = Array(input[used...])
        }
    }

    /// Sends what has been answered, and waits for what is needed next.
    func settle(_ connection: Connection) {
        while connection.isOpen {
            send(connection)
            // The client has taken the answers that held its next requests back.
            guard connection.isOpen, connection.isHeldBack, connection.hasRoomForAnswers else { break }
            processInput(connection)
        }
        guard connection.isOpen else { return out.removeAll(keepingCapacity: true) }
        if connection.isStarved {
            guard connection.pendingOutputBytes > 0 else { return close(connection) }
            connection.isClosing = true
        }
        _ = count(connection)
        updateInterest(connection)
    }

    /// Serves requests in `bytes[..<end]`; returns how many bytes are done with.
    private func process(_ connection: Connection, _ bytes: [UInt8], _ end: Int) -> Int {
        var cursor = 0
        connection.isHeldBack = false
        do throws(HTTPRefusal) {
            while connection.isOpen, try step(connection, bytes, &cursor, end) {}
        } catch {
            refuse(connection, error)
        }
        // RFC 9112 §9.6: nothing behind a last answer is a request.
        return connection.isClosing ? end : cursor
    }

    /// Takes one step; false when more bytes, or an answer, must come first.
    private func step(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) -> Bool {
        switch connection.phase {
        case .head:
            guard cursor < end, !connection.isClosing else { return false }
            let limits = connection.listener.limits
            guard connection.hasRoomForAnswers,
                connection.pendingOutputBytes + out.count < limits.maximumPendingOutputBytes
            else {
                connection.isHeldBack = true
                return false
            }
            let wasAtStart = connection.parser.isAtStart
            guard try connection.parser.parse(bytes, from: cursor, to: end, limits) else {
                if wasAtStart {
                    connection.requestStart = wheel.now
                    setDeadline(connection, connection.listener.ticks.head)
                }
                return false
            }
            if wasAtStart { connection.requestStart = wheel.now }
            try begin(connection, bytes, &cursor, end)
            return true
        case .collecting(let length):
            let start = cursor + connection.parser.head.length
            guard end - start >= length else { return false }
            dispatch(connection, bytes, cursor, bytes[start..<start + length])
            cursor = start + length
            return true
        case .collectingChunks:
            guard case .collected(let maximum) = connection.route?.route.body else { return false }
            try connection.decoder.decode(
                bytes, &cursor, to: end, into: &connection.body, maximumBytes: maximum)
            guard connection.decoder.isFinished else { return false }
            let head = connection.headBytes
            let body = connection.body
            connection.headBytes = []
            connection.body = []
            dispatch(connection, head, 0, body[...])
            return true
        case .answering, .streaming:
            guard connection.pull != nil else { return false }
            return feedPull(connection, bytes, &cursor, end)
        case .lingering:
            return false
        }
    }

    /// A header is whole: finds its route and decides how the body is taken.
    private func begin(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) {
        // Not kept in a variable: a second reference would make the parser's reset allocate.
        let method = connection.parser.head.method
        let path = connection.parser.head.path
        connection.exchangeNumber &+= 1
        connection.isHeadRequest = method == .head
        connection.minorVersion = connection.parser.head.minorVersion
        connection.isPersistent =
            connection.parser.head.isPersistent && !isStopping
            && connection.exchangeNumber < connection.listener.limits.maximumRequestsPerConnection
        if method == .options, connection.parser.head.isAsterisk {
            let allowed = connection.listener.allowed(nil)
            return answerUnrouted(
                connection, HTTPResponse(.noContent, fields: [("Allow", allowed)]), &cursor)
        }
        let target =
            path.isEmpty ? [0x2F] : bytes[(cursor + Int(path.lowerBound))..<(cursor + Int(path.upperBound))]
        switch connection.listener.match(method, target) {
        case .route(let route):
            connection.route = route
            try takeBody(connection, route.route.body, bytes, &cursor, end)
        case .otherMethods(let allowed):
            let fields = [(name: "Allow", value: allowed)]
            let response =
                method == .options
                ? HTTPResponse(.noContent, fields: fields) : answer(to: .methodNotAllowed, fields: fields)
            answerUnrouted(connection, response, &cursor)
        case .notFound:
            answerUnrouted(connection, answer(to: .notFound), &cursor)
        }
    }

    private func takeBody(
        _ connection: Connection, _ body: HTTPRoute.Body, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) {
        let headLength = connection.parser.head.length
        let framing = connection.parser.head.framing
        switch (body, framing) {
        case (.collected(let maximum), .length(let length)):
            guard length <= maximum else { throw .bodyTooLarge }
            // Whole already, as nearly all are: one step, no copy.
            if end - cursor - headLength < length { waitForBody(connection, hasNone: true) }
            connection.phase = .collecting(length: length)
        case (.collected, .none):
            dispatch(connection, bytes, cursor, [])
            cursor += headLength
        case (.collected, .chunked):
            connection.headBytes = Array(bytes[cursor..<cursor + headLength])
            connection.decoder = ChunkedDecoder()
            connection.phase = .collectingChunks
            cursor += headLength
            waitForBody(connection, hasNone: cursor == end)
        case (.pulled(let maximum), _):
            if case .length(let length) = framing, length > maximum { throw .bodyTooLarge }
            let head = Array(bytes[cursor..<cursor + headLength])
            cursor += headLength
            var pull = PulledBody(remaining: framing, maximumBytes: maximum)
            pull.isFinished = framing == .none
            pull.needsContinue = connection.parser.head.expectsContinue && cursor == end
            connection.decoder = ChunkedDecoder()
            connection.pull = pull
            dispatch(connection, head, 0, [])
        }
    }

    private func waitForBody(_ connection: Connection, hasNone: Bool) {
        connection.bodyStart = wheel.now
        connection.bodyBytes = 0
        setBodyDeadline(connection)
        // RFC 9110 §10.1.1: may be left out once the body has begun to arrive.
        if connection.parser.head.expectsContinue, hasNone { out += continueResponse }
    }

    /// Answers a request that no route takes; its body is not worth reading, so the connection ends with it.
    private func answerUnrouted(_ connection: Connection, _ response: HTTPResponse, _ cursor: inout Int) {
        cursor += connection.parser.head.length
        if connection.parser.head.framing != .none { connection.isPersistent = false }
        connection.phase = .answering
        finish(connection, response)
    }

    /// Hands a request to its handler, inline.
    private func dispatch(_ connection: Connection, _ bytes: [UInt8], _ base: Int, _ body: ArraySlice<UInt8>)
    {
        connection.phase = .answering
        if let response = response(connection, bytes, base, body) {
            finish(connection, response)
        } else if connection.isOpen {
            setDeadline(connection, connection.listener.ticks.answer)
        }
    }

    /// What the handler answers at once.
    ///
    /// Not inlined: the request must be gone before the parser is reset, which would allocate otherwise.
    @inline(never)
    private func response(
        _ connection: Connection, _ bytes: [UInt8], _ base: Int, _ body: ArraySlice<UInt8>
    ) -> HTTPResponse? {
        guard let route = connection.route else {
            close(connection)
            return nil
        }
        let exchange = connection.exchange
        let request = HTTPRequest(
            body: body,
            bodyReader: connection.pull == nil ? nil : HTTPBodyReader(shard: self, exchange: exchange),
            bytes: bytes, base: base, head: connection.parser.head)
        return route.handler(request, HTTPResponder(shard: self, exchange: exchange))
    }
}

private let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

extension Shard {
    /// The handler asks for the next piece of the body.
    func pull(_ exchange: ExchangeID, _ reader: CheckedContinuation<[UInt8]?, any Error>) {
        guard let connection = slots[exchange.connection], connection.exchange == exchange,
            connection.pull != nil, connection.pull?.waiting == nil
        else { return reader.resume(throwing: HTTPStreamError.disconnected) }
        if connection.pull?.needsContinue ?? false {
            connection.pull?.needsContinue = false
            out += continueResponse
        }
        connection.pull?.waiting = reader
        givePulled(connection)
        processInput(connection)
        settle(connection)
    }

    /// A body that has not come bounds the wait; one that has leaves the handler its time.
    private func givePulled(_ connection: Connection) {
        _ = connection.pull?.give()
        guard case .answering = connection.phase else { return }
        let ticks = connection.listener.ticks
        guard connection.pull?.waiting != nil else { return setDeadline(connection, ticks.answer) }
        let end = min(wheel.now + ticks.body, connection.requestStart + ticks.request)
        setDeadline(connection, end > wheel.now ? end - wheel.now : 0)
    }

    /// Moves body bytes to where the handler pulls them from; false when it must pull first, or the body has ended.
    private func feedPull(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) -> Bool {
        guard var pull = connection.pull, !pull.isFinished, cursor < end, pull.wantsMore else { return false }
        // Taken out meanwhile, so that its buffer is not copied.
        connection.pull = nil
        pull.take(bytes, &cursor, end, &connection.decoder)
        if pull.failure != nil {
            connection.isPersistent = false
            cursor = end
        }
        connection.pull = pull
        givePulled(connection)
        return true
    }
}
