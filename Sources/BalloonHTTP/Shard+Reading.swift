import BalloonPOSIX

extension Shard {
    /// Reads once and serves every complete request.
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
            // After a half-close answers may still be sent (RFC 9112 §9.6), but an incomplete body can never
            // be completed.
            if let pull = connection.pull, !pull.isFinished { return close(connection) }
            // A client that has disconnected sends the same end of input as a half-close. Only a failing
            // write would tell them apart, and an open-ended answer may write nothing for a long time.
            if case .streaming(_, let answer) = connection.phase, answer.isOpenEnded {
                return close(connection)
            }
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

    /// Refuses a request that is still arriving, when the listener's connections hold more bytes than their
    /// limit.
    ///
    /// The limit is ``HTTPLimits/maximumBufferedBytes``, or ``HTTPLimits/maximumBufferedBytesPerPeer`` for
    /// one peer.
    private func refuseWhenFull(_ connection: Connection) {
        let before = connection.countedBytes
        let hasRoom = count(connection)
        guard !hasRoom, connection.isOpen, connection.isReading, connection.countedBytes > before,
            connection.countedBytes > HTTPLimits.freeBytesPerConnection
        else { return }
        refuse(connection, .overloaded)
    }

    /// Reports the change in held bytes to the listener's counter.
    ///
    /// Returns false when the connections of this peer, or of all peers together, hold more than their limit.
    private func count(_ connection: Connection) -> Bool {
        let held = connection.heldBytes
        // The common case: nothing is held, because the request is complete and its answer is sent at once.
        guard held != connection.countedBytes, connection.isOpen else { return true }
        let change = held - connection.countedBytes
        connection.countedBytes = held
        return connection.listener.connections.count(
            change, of: connection.peer, isAdmitted: connection.isAdmitted)
    }

    /// Serves every request that the first `count` of `bytes` complete, and keeps the remaining bytes.
    private func take(_ connection: Connection, _ bytes: [UInt8], _ count: Int) {
        countBody(connection, count)
        if connection.input.isEmpty {
            let used = process(connection, bytes, count)
            if used < count { connection.input = Array(bytes[used..<count]) }
        } else {
            connection.input += bytes[..<count]
            processInput(connection)
        }
    }

    /// Extends the deadline of a collected body by the time that the received bytes allow.
    private func countBody(_ connection: Connection, _ count: Int) {
        switch connection.phase {
        case .collecting, .collectingChunks:
            connection.bodyBytes += count
            setBodyDeadline(connection)
        case .head, .heldBack, .answering, .streaming, .closing, .lingering, .closed: break
        }
    }

    /// Serves the requests that wait in the connection's `input`.
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

    /// Sends the answers, and updates the events to wait for.
    func settle(_ connection: Connection) {
        while connection.isOpen {
            send(connection)
            // The client has read enough of the earlier answers: parse the pipelined requests that waited.
            guard connection.isOpen, connection.isHeldBack, connection.hasRoomForAnswers else { break }
            processInput(connection)
        }
        guard connection.isOpen else { return out.removeAll(keepingCapacity: true) }
        if connection.isStarved {
            guard connection.pendingOutputBytes > 0 else { return close(connection) }
            connection.phase = .closing
            connection.input = []
        }
        _ = count(connection)
        updateInterest(connection)
    }

    /// Serves requests in `bytes[..<end]`; returns the number of consumed bytes.
    private func process(_ connection: Connection, _ bytes: [UInt8], _ end: Int) -> Int {
        var cursor = 0
        if connection.isHeldBack { connection.phase = .head }
        do throws(HTTPRefusal) {
            while connection.isOpen, try step(connection, bytes, &cursor, end) {}
        } catch {
            refuse(connection, error)
        }
        // RFC 9112 §9.6: bytes after the last answer are not a request.
        return connection.isClosing ? end : cursor
    }

    /// Advances the request by one step; returns false when it first needs more bytes or an answer.
    private func step(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) -> Bool {
        switch connection.phase {
        case .head:
            guard cursor < end else { return false }
            let limits = connection.listener.limits
            guard connection.hasRoomForAnswers,
                connection.pendingOutputBytes + out.count < limits.maximumPendingOutputBytes
            else {
                connection.phase = .heldBack
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
        case .collecting(let exchange, let length):
            let start = cursor + connection.parser.head.length
            guard end - start >= length else { return false }
            dispatch(connection, exchange, bytes, cursor, bytes[start..<start + length])
            cursor = start + length
            return true
        case .collectingChunks(let exchange, let request):
            let maximum = exchange.route?.route.body.maximumBytes ?? 0
            try request.decoder.decode(bytes, &cursor, to: end, into: &request.body, maximumBytes: maximum)
            guard request.decoder.isFinished else { return false }
            dispatch(connection, exchange, request.head, 0, request.body[...])
            return true
        case .answering, .streaming:
            return feedPull(connection, bytes, &cursor, end)
        case .heldBack, .closing, .lingering, .closed:
            return false
        }
    }

    /// Finds the route of a request whose header is complete, and starts receiving its body.
    private func begin(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) {
        // Do not copy the head into a variable: a second reference would make the parser's reset allocate.
        let method = connection.parser.head.method
        let path = connection.parser.head.path
        connection.exchangeNumber &+= 1
        var exchange = Exchange(
            isHeadRequest: method == .head, minorVersion: connection.parser.head.minorVersion,
            isPersistent: connection.parser.head.isPersistent
                && connection.exchangeNumber < connection.listener.limits.maximumRequestsPerConnection)
        if method == .options, connection.parser.head.isAsterisk {
            let allowed = connection.listener.allowed(nil)
            return answerUnrouted(
                connection, exchange, HTTPResponse(.noContent, fields: [("Allow", allowed)]), &cursor)
        }
        let target =
            path.isEmpty ? [0x2F] : bytes[(cursor + Int(path.lowerBound))..<(cursor + Int(path.upperBound))]
        switch connection.listener.match(method, target) {
        case .route(let route):
            exchange.route = route
            try route.route.template?.check(target)
            if case .length(let length) = connection.parser.head.framing,
                length > route.route.body.maximumBytes
            {
                throw .bodyTooLarge
            }
            switch verdict(connection, exchange, bytes, cursor) {
            case .admitted(let mark)?:
                exchange.admission = mark
                takeBody(connection, exchange, route.route.body, bytes, &cursor, end)
            case nil: takeBody(connection, exchange, route.route.body, bytes, &cursor, end)
            case .refused(let response)?:
                answerUnadmitted(connection, exchange, response, bytes, &cursor, end)
            }
        case .otherMethods(let allowed):
            let fields = [(name: "Allow", value: allowed)]
            let response =
                method == .options
                ? HTTPResponse(.noContent, fields: fields)
                : connection.listener.answer(to: .methodNotAllowed, fields: fields)
            answerUnrouted(connection, exchange, response, &cursor)
        case .notFound:
            answerUnrouted(connection, exchange, connection.listener.answer(to: .notFound), &cursor)
        }
    }

    /// Returns the decision of the route's `admit` about a complete header; nil when the route has no
    /// `admit`.
    ///
    /// Not inlined, for the reason given at ``response(_:_:_:_:_:)``.
    @inline(never)
    private func verdict(
        _ connection: Connection, _ exchange: Exchange, _ bytes: [UInt8], _ base: Int
    ) -> HTTPVerdict? {
        guard let admit = exchange.route?.admit else { return nil }
        return admit(
            HTTPRequest(
                body: [], bodyReader: nil, admission: nil, peer: connection.peer, bytes: bytes, base: base,
                head: connection.parser.head, template: exchange.route?.route.template))
    }

    /// Answers a request that its route did not admit.
    ///
    /// The connection stays open only when the complete body has already arrived and can be skipped.
    private func answerUnadmitted(
        _ connection: Connection, _ exchange: Exchange, _ response: HTTPResponse, _ bytes: [UInt8],
        _ cursor: inout Int, _ end: Int
    ) {
        var exchange = exchange
        cursor += connection.parser.head.length
        switch connection.parser.head.framing {
        case .none: break
        case .length(let length) where end - cursor >= length: cursor += length
        case .length: exchange.isPersistent = false
        case .chunked:
            var decoder = ChunkedDecoder()
            var skipped: [UInt8] = []
            // A malformed or incomplete body closes the connection.
            try? decoder.decode(bytes, &cursor, to: end, into: &skipped, maximumBytes: end - cursor)
            if !decoder.isFinished { exchange.isPersistent = false }
        }
        finish(connection, exchange, response)
    }

    private func takeBody(
        _ connection: Connection, _ exchange: Exchange, _ body: HTTPRoute.Body, _ bytes: [UInt8],
        _ cursor: inout Int, _ end: Int
    ) {
        let headLength = connection.parser.head.length
        let framing = connection.parser.head.framing
        switch (body.isPulled, framing) {
        case (false, .length(let length)):
            // The common case, a complete body: one step, no copy.
            if end - cursor - headLength < length { waitForBody(connection, hasNone: true) }
            connection.phase = .collecting(exchange, length: length)
        case (false, .none):
            dispatch(connection, exchange, bytes, cursor, [])
            cursor += headLength
        case (false, .chunked):
            let head = bytes[cursor..<cursor + headLength]
            connection.phase = .collectingChunks(exchange, ChunkedRequest(head: head))
            cursor += headLength
            waitForBody(connection, hasNone: cursor == end)
        case (true, _):
            let head = Array(bytes[cursor..<cursor + headLength])
            cursor += headLength
            var exchange = exchange
            exchange.pull = PulledBody(
                framing, maximumBytes: body.maximumBytes,
                needsContinue: connection.parser.head.expectsContinue && cursor == end)
            dispatch(connection, exchange, head, 0, [])
        }
    }

    private func waitForBody(_ connection: Connection, hasNone: Bool) {
        connection.bodyStart = wheel.now
        connection.bodyBytes = 0
        setBodyDeadline(connection)
        // RFC 9110 §10.1.1: not needed when part of the body has already arrived.
        if connection.parser.head.expectsContinue, hasNone { out += continueResponse }
    }

    /// Answers a request without a route; closes the connection if the request has a body, which is not read.
    private func answerUnrouted(
        _ connection: Connection, _ exchange: Exchange, _ response: HTTPResponse, _ cursor: inout Int
    ) {
        var exchange = exchange
        cursor += connection.parser.head.length
        if connection.parser.head.framing != .none { exchange.isPersistent = false }
        finish(connection, exchange, response)
    }

    /// Calls the handler of a request on the shard's queue, and sends an immediate answer.
    private func dispatch(
        _ connection: Connection, _ exchange: Exchange, _ bytes: [UInt8], _ base: Int,
        _ body: ArraySlice<UInt8>
    ) {
        connection.phase = .answering(exchange)
        if let response = response(connection, exchange, bytes, base, body) {
            finish(connection, exchange, response)
        } else if connection.isOpen {
            setDeadline(connection, connection.listener.ticks.answer)
        }
    }

    /// Calls the handler and returns its immediate answer; nil when it will answer later.
    ///
    /// Not inlined: this releases the request before the parser is reset. A reset while the request exists
    /// would allocate new storage.
    @inline(never)
    private func response(
        _ connection: Connection, _ exchange: Exchange, _ bytes: [UInt8], _ base: Int,
        _ body: ArraySlice<UInt8>
    ) -> HTTPResponse? {
        guard let route = exchange.route else {
            close(connection)
            return nil
        }
        let id = connection.exchangeID
        var request = HTTPRequest(
            body: body,
            bodyReader: exchange.pull == nil ? nil : HTTPBodyReader(shard: self, exchange: id),
            admission: exchange.admission, peer: connection.peer, bytes: bytes, base: base,
            head: connection.parser.head, template: route.route.template)
        request.peerUser = connection.peerUser
        return route.handle(request, HTTPResponder(shard: self, exchange: id))
    }
}

private let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

extension Shard {
    /// Serves a handler that asks for the next piece of its request's body.
    func pull(_ exchange: ExchangeID, _ reader: CheckedContinuation<[UInt8]?, any Error>) {
        guard let connection = slots[exchange.connection], connection.exchangeID == exchange,
            let pull = connection.pull, pull.reader == nil
        else { return reader.resume(throwing: HTTPStreamError.disconnected) }
        if pull.needsContinue {
            pull.needsContinue = false
            out += continueResponse
        }
        pull.reader = reader
        resumeReader(of: pull, on: connection)
        processInput(connection)
        settle(connection)
    }

    /// Resumes a waiting reader if bytes have arrived, and sets the time limit.
    ///
    /// The body timeout applies while a reader waits, the answer timeout otherwise.
    private func resumeReader(of pull: PulledBody, on connection: Connection) {
        pull.resumeReader()
        guard case .answering = connection.phase else { return }
        let ticks = connection.listener.ticks
        guard pull.reader != nil else { return setDeadline(connection, ticks.answer) }
        let end = min(wheel.now + ticks.body, connection.requestStart + ticks.request)
        setDeadline(connection, end > wheel.now ? end - wheel.now : 0)
    }

    /// Moves body bytes to the handler's reader.
    ///
    /// Returns false when the handler must read first, no byte is left, or the body has ended.
    private func feedPull(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) -> Bool {
        guard let pull = connection.pull, !pull.isFinished, cursor < end, pull.wantsMore else { return false }
        pull.take(bytes, &cursor, end)
        if pull.failure != nil { cursor = end }
        resumeReader(of: pull, on: connection)
        return true
    }
}
