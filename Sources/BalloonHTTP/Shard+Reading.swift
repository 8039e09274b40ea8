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
        if received == 0 { return peerFinished(connection) }
        if case .lingering = connection.phase { return }
        if connection.input.isEmpty {
            let used = process(connection, scratch, received)
            if used < received { connection.input = Array(scratch[used..<received]) }
        } else {
            connection.input += scratch[..<received]
            processInput(connection)
        }
        settle(connection)
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
        guard connection.isOpen else { return out.removeAll(keepingCapacity: true) }
        send(connection)
        guard connection.isOpen else { return }
        // A reader that was too slow has caught up: its pipelined requests may be looked at again.
        updateInterest(connection)
    }

    private func peerFinished(_ connection: Connection) {
        connection.isPeerFinished = true
        switch connection.phase {
        case .answering, .streaming:
            // Half a connection is enough to answer on (RFC 9112 §9.6), but a body that stops short is not.
            if connection.pull.map({ !$0.isFinished }) ?? false { return close(connection) }
            updateInterest(connection)
        case .head, .collecting, .collectingChunks, .lingering:
            if connection.pendingOutputBytes == 0 { return close(connection) }
            connection.isClosing = true
            updateInterest(connection)
        }
    }

    /// Serves requests in `bytes[..<end]`; returns how many bytes are done with.
    private func process(_ connection: Connection, _ bytes: [UInt8], _ end: Int) -> Int {
        var cursor = 0
        do throws(HTTPRefusal) {
            while connection.isOpen, try step(connection, bytes, &cursor, end) {}
        } catch {
            refuse(connection, error)
            return end
        }
        return cursor
    }

    /// Takes one step; false when more bytes, or an answer, must come first.
    private func step(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) -> Bool {
        switch connection.phase {
        case .head:
            guard cursor < end, !connection.isClosing else { return false }
            guard
                connection.pendingOutputBytes + out.count
                    < connection.service.limits.maximumPendingOutputBytes
            else { return false }
            let wasAtStart = connection.parser.isAtStart
            guard try connection.parser.parse(bytes, from: cursor, to: end) else {
                if wasAtStart { setDeadline(connection, connection.service.limits.headTimeout) }
                return false
            }
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
            cursor = end
            return false
        }
    }

    /// A header is whole: finds its route and decides how the body is taken.
    private func begin(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) {
        let head = connection.parser.head
        connection.exchangeNumber &+= 1
        connection.isHeadRequest = head.method == .head
        connection.minorVersion = head.minorVersion
        connection.isPersistent =
            head.isPersistent && !isStopping
            && connection.exchangeNumber < connection.service.limits.maximumRequestsPerConnection
        let path = bytes[(cursor + Int(head.path.lowerBound))..<(cursor + Int(head.path.upperBound))]
        switch connection.service.match(head.method, path) {
        case .route(let route):
            connection.route = route
            try takeBody(connection, head, route.route.body, bytes, &cursor, end)
        case .otherMethods(let allowed):
            let status = head.method == .options ? HTTPStatus.noContent : .methodNotAllowed
            answerUnrouted(connection, HTTPResponse(status, fields: [("Allow", allowed)]), &cursor)
        case .notFound where head.method == .options && head.isAsterisk:
            let allowed = connection.service.allowed(nil)
            answerUnrouted(connection, HTTPResponse(.noContent, fields: [("Allow", allowed)]), &cursor)
        case .notFound:
            answerUnrouted(connection, HTTPResponse(.notFound, text: "Not Found\n"), &cursor)
        }
    }

    private func takeBody(
        _ connection: Connection, _ head: RequestHead, _ body: HTTPRoute.Body, _ bytes: [UInt8],
        _ cursor: inout Int, _ end: Int
    ) throws(HTTPRefusal) {
        switch (body, head.framing) {
        case (.collected(let maximum), .length(let length)):
            guard length <= maximum else { throw .bodyTooLarge }
            // Whole already, as nearly all are: one step, no copy.
            if end - cursor - head.length < length { waitForBody(connection, head, isContinued: true) }
            connection.phase = .collecting(length: length)
        case (.collected, .none):
            dispatch(connection, bytes, cursor, [])
            cursor += head.length
        case (.collected, .chunked):
            connection.headBytes = Array(bytes[cursor..<cursor + head.length])
            connection.decoder = ChunkedDecoder()
            connection.phase = .collectingChunks
            cursor += head.length
            waitForBody(connection, head, isContinued: cursor == end)
        case (.pulled(let maximum), let framing):
            if case .length(let length) = framing, length > maximum { throw .bodyTooLarge }
            connection.headBytes = Array(bytes[cursor..<cursor + head.length])
            cursor += head.length
            var pull = PulledBody(remaining: framing, maximumBytes: maximum)
            pull.isFinished = framing == .none
            pull.needsContinue = head.expectsContinue && cursor == end
            connection.decoder = ChunkedDecoder()
            connection.pull = pull
            let head = connection.headBytes
            connection.headBytes = []
            dispatch(connection, head, 0, [])
        }
    }

    private func waitForBody(_ connection: Connection, _ head: RequestHead, isContinued: Bool) {
        setDeadline(connection, connection.service.limits.bodyTimeout)
        if head.expectsContinue, isContinued { out += continueResponse }
    }

    /// Answers a request that no route takes. Its body is not worth reading: the connection ends with it.
    private func answerUnrouted(_ connection: Connection, _ response: HTTPResponse, _ cursor: inout Int) {
        cursor += connection.parser.head.length
        if connection.parser.head.framing != .none { connection.isPersistent = false }
        connection.phase = .answering
        finish(connection, response)
    }

    /// Hands a request to its handler, inline.
    private func dispatch(_ connection: Connection, _ bytes: [UInt8], _ base: Int, _ body: ArraySlice<UInt8>)
    {
        guard let route = connection.route else { return close(connection) }
        connection.phase = .answering
        let exchange = connection.exchange
        let request = HTTPRequest(
            body: body,
            bodyReader: connection.pull == nil ? nil : HTTPBodyReader(shard: self, exchange: exchange),
            bytes: bytes, base: base, head: connection.parser.head)
        if let response = route.handler(request, HTTPResponder(shard: self, exchange: exchange)) {
            finish(connection, response)
        } else {
            setDeadline(connection, connection.service.limits.answerTimeout)
        }
    }
}

let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

extension Shard {
    /// The handler asks for the next piece of the body.
    func pull(_ exchange: ExchangeID, _ reader: CheckedContinuation<[UInt8]?, any Error>) {
        guard let connection = connection(exchange.connection), connection.exchange == exchange,
            connection.pull != nil
        else { return reader.resume(throwing: HTTPStreamError.disconnected) }
        if connection.pull?.needsContinue ?? false {
            connection.pull?.needsContinue = false
            out += continueResponse
        }
        connection.pull?.waiting = reader
        givePulled(connection)
        processInput(connection)
        setDeadline(connection, connection.service.limits.bodyTimeout)
        settle(connection)
    }

    private func givePulled(_ connection: Connection) {
        guard var pull = connection.pull, let waiting = pull.waiting else { return }
        if !pull.buffered.isEmpty {
            let piece = pull.buffered
            pull.buffered = []
            pull.waiting = nil
            connection.pull = pull
            waiting.resume(returning: piece)
        } else if let failure = pull.failure {
            pull.waiting = nil
            connection.pull = pull
            waiting.resume(throwing: failure)
        } else if pull.isFinished {
            pull.waiting = nil
            connection.pull = pull
            waiting.resume(returning: nil)
        }
    }

    /// Moves body bytes to where the handler pulls them from; false when it must pull first, or the body has ended.
    private func feedPull(
        _ connection: Connection, _ bytes: [UInt8], _ cursor: inout Int, _ end: Int
    ) -> Bool {
        guard var pull = connection.pull, !pull.isFinished, pull.failure == nil, cursor < end, pull.wantsMore
        else {
            return false
        }
        connection.pull = nil
        do throws(HTTPRefusal) {
            switch pull.remaining {
            case .none: pull.isFinished = true
            case .length(let left):
                let count = min(left, end - cursor)
                pull.buffered += bytes[cursor..<cursor + count]
                cursor += count
                pull.remaining = .length(left - count)
                pull.isFinished = left == count
            case .chunked:
                let before = pull.buffered.count
                // The decoder counts from the pieces that wait; what has been taken already counts too.
                let maximum = pull.maximumBytes - pull.receivedBytes + before
                try connection.decoder.decode(
                    bytes, &cursor, to: end, into: &pull.buffered, maximumBytes: maximum)
                pull.receivedBytes += pull.buffered.count - before
                pull.isFinished = connection.decoder.isFinished
            }
        } catch {
            pull.failure = .refused(error)
            connection.isPersistent = false
            cursor = end
        }
        connection.pull = pull
        givePulled(connection)
        return true
    }
}
