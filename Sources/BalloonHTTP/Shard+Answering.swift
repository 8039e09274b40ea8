import BalloonPOSIX
import BalloonTLS

extension Shard {
    /// Answers a request whose handler returned nil.
    func answer(_ exchange: ExchangeID, _ response: HTTPResponse) -> HTTPDelivery {
        guard let (connection, exchange) = answering(exchange) else { return .unsent }
        finish(connection, exchange, response)
        // Send before the next answers are queued, so that a failing write is the one of this answer.
        send(connection)
        let delivery = delivery(on: connection)
        processInput(connection)
        settle(connection)
        return delivery
    }

    /// Returns what is known of the delivery of an answer that was just sent, or kept as pending output.
    private func delivery(on connection: Connection) -> HTTPDelivery {
        if connection.hasLostOutput { return .unsent }
        // Bytes that the connection still keeps may be lost with it.
        return connection.isPeerFinished || connection.pendingOutputBytes > 0 ? .unknown : .sent
    }

    private func answering(_ id: ExchangeID) -> (Connection, Exchange)? {
        guard let connection = slots[id.connection], connection.exchangeID == id,
            case .answering(let exchange) = connection.phase
        else { return nil }
        return (connection, exchange)
    }

    /// Queues a complete answer, and prepares the connection for the next request.
    func finish(_ connection: Connection, _ exchange: Exchange, _ response: HTTPResponse) {
        let isPersistent = mayPersist(exchange)
        out += response.header
        appendConnectionFields(exchange, isPersistent)
        out += crlf
        if !exchange.isHeadRequest { out += response.body }
        if let retained = response.retained { connection.retained.append(retained) }
        end(exchange, on: connection, isPersistent)
    }

    /// Returns whether the connection may stay open after this answer; called when the answer begins.
    private func mayPersist(_ exchange: Exchange) -> Bool {
        // The unread rest of a pulled body would be parsed as the next request, so close in that case.
        exchange.isPersistent && !isStopping && exchange.pull?.isFinished ?? true
    }

    private func appendConnectionFields(_ exchange: Exchange, _ isPersistent: Bool) {
        out += dateField
        if !isPersistent {
            out += connectionClose
        } else if exchange.minorVersion == 0 {
            out += connectionKeepAlive
        }
    }

    private func end(_ exchange: Exchange, on connection: Connection, _ isPersistent: Bool) {
        exchange.pull?.fail(.disconnected)
        connection.parser.reset()
        if isPersistent {
            connection.phase = .head
            setDeadline(connection, connection.listener.ticks.idle)
        } else {
            connection.phase = .closing
            connection.input = []
        }
    }

    /// Answers a refused request and then closes the connection.
    ///
    /// Bytes after the request are never parsed, because its end may be unknown.
    func refuse(_ connection: Connection, _ refusal: HTTPRefusal) {
        connection.exchangeNumber &+= 1
        let exchange = Exchange(
            isHeadRequest: connection.parser.head.method == .head,
            minorVersion: connection.parser.head.minorVersion, isPersistent: false)
        finish(connection, exchange, connection.listener.answer(to: refusal))
    }

    /// Sends as much of `out` as the socket accepts; the connection keeps the remaining bytes.
    func send(_ connection: Connection) {
        if !out.isEmpty {
            transmitSealed(connection, out)
            emptyOut()
        }
        if !connection.retained.isEmpty, connection.pendingOutputBytes == 0 { connection.retained = [] }
        if case .closing = connection.phase, connection.pendingOutputBytes == 0 { linger(connection) }
    }

    /// Encrypts `bytes` if the connection uses TLS, and sends them after the pending output.
    func transmitSealed(_ connection: Connection, _ bytes: [UInt8]) {
        if let tls = connection.tls {
            sendSealed(connection, tls, bytes)
        } else {
            transmit(connection, bytes)
        }
    }

    /// Sends `bytes` after the pending output.
    func transmit(_ connection: Connection, _ bytes: [UInt8]) {
        if connection.pendingOutputBytes > 0 {
            connection.output += bytes
            return
        }
        do {
            let sent = try connection.descriptor.send(bytes)
            guard sent < bytes.count else { return }
            connection.output = Array(bytes[sent...])
            connection.outputStart = 0
            setDeadline(connection, connection.listener.ticks.write)
        } catch {
            connection.hasLostOutput = true
            close(connection)
        }
    }

    private func emptyOut() {
        // Release the memory after a large answer instead of keeping it for the next connections.
        out.removeAll(keepingCapacity: out.capacity <= 1 << 20)
    }

    /// Sends pending output after the socket became writable.
    func flush(_ connection: Connection) {
        do {
            connection.outputStart += try connection.descriptor.send(
                connection.output, from: connection.outputStart)
        } catch {
            return close(connection)
        }
        if connection.hasRoomForAnswers, case .streaming(_, let answer) = connection.phase {
            answer.resumeWriter()
        }
        if connection.pendingOutputBytes > 0 {
            // Remove sent bytes once they outnumber the pending ones: each pending byte is then moved at most
            // once on average, and sent bytes never use more memory than 64 KiB or the pending bytes.
            if connection.outputStart >= max(65536, connection.pendingOutputBytes) {
                connection.output.removeFirst(connection.outputStart)
                connection.outputStart = 0
            }
            setDeadline(connection, connection.listener.ticks.write)
        } else {
            connection.output = []
            connection.outputStart = 0
            restoreDeadline(connection)
        }
        settle(connection)
    }

    /// Closes the sending side after the last answer, and waits for the client to close the connection.
    private func linger(_ connection: Connection) {
        if connection.isPeerFinished { return close(connection) }
        // RFC 9112 §9.6: closing a socket with unread bytes resets the connection, and the client could then
        // lose the answer.
        connection.phase = .lingering
        if let tls = connection.tls { sendEnd(connection, tls) }
        connection.descriptor.finishSending()
        setDeadline(connection, connection.listener.ticks.linger)
    }

    /// Sets the time limit of the current phase again, after all pending output was sent.
    private func restoreDeadline(_ connection: Connection) {
        let ticks = connection.listener.ticks
        switch connection.phase {
        case .head where !connection.parser.isAtStart: setDeadline(connection, ticks.head)
        case .head, .heldBack: setDeadline(connection, ticks.idle)
        case .collecting, .collectingChunks: setBodyDeadline(connection)
        case .answering, .streaming: setDeadline(connection, ticks.answer)
        case .closing, .lingering, .closed: break
        }
    }
}

private let crlf = Array("\r\n".utf8)
private let connectionClose = Array("Connection: close\r\n".utf8)
private let connectionKeepAlive = Array("Connection: keep-alive\r\n".utf8)
private let transferEncodingChunked = Array("Transfer-Encoding: chunked\r\n".utf8)

extension Shard {
    func startStream(_ exchange: ExchangeID, _ head: HTTPStreamHead) {
        guard let (connection, answered) = answering(exchange) else { return }
        var exchange = answered
        out += head.header
        // RFC 9112 §6.1: no transfer coding towards HTTP/1.0; there the end of the connection ends the body.
        let isChunked = exchange.minorVersion == 1 && !head.hasLength
        exchange.isPersistent = mayPersist(exchange) && (isChunked || head.hasLength)
        appendConnectionFields(exchange, exchange.isPersistent)
        if isChunked { out += transferEncodingChunked }
        out += crlf
        // RFC 9110 §9.3.2: the answer to HEAD ends with its header.
        guard !exchange.isHeadRequest else {
            end(exchange, on: connection, exchange.isPersistent)
            processInput(connection)
            return settle(connection)
        }
        let answer = StreamedAnswer(isChunked: isChunked, isOpenEnded: head.isOpenEnded)
        connection.phase = .streaming(exchange, answer)
        settle(connection)
        if isStopping { endOpenEnded(connection) }
    }

    /// Ends an open-ended answer because the server stops; other answers may finish.
    func endOpenEnded(_ connection: Connection) {
        guard case .streaming(let exchange, let answer) = connection.phase, answer.isOpenEnded else { return }
        finishStream(connection, exchange, answer)
        settle(connection)
        // The kernel still sends all bytes that the socket accepted. Pending bytes of a client that does not
        // read are dropped.
        close(connection)
    }

    /// Closes the connection of a request, with or without a partial answer.
    func abort(_ exchange: ExchangeID) {
        guard let connection = answering(exchange)?.0 ?? streaming(exchange)?.0 else { return }
        close(connection)
    }

    func streaming(_ id: ExchangeID) -> (Connection, Exchange, StreamedAnswer)? {
        guard let connection = slots[id.connection], connection.exchangeID == id,
            case .streaming(let exchange, let answer) = connection.phase
        else { return nil }
        return (connection, exchange, answer)
    }

    func write(_ exchange: ExchangeID, _ bytes: [UInt8], _ writer: CheckedContinuation<Void, any Error>) {
        guard let (connection, _, answer) = streaming(exchange), answer.writer == nil else {
            return writer.resume(throwing: HTTPStreamError.disconnected)
        }
        if !bytes.isEmpty {
            if answer.isChunked { appendChunk(bytes, to: &out) } else { out += bytes }
        }
        answer.writer = writer
        settle(connection)
        // If the connection has closed, the writer was already resumed with an error.
        if connection.hasRoomForAnswers { answer.resumeWriter() }
    }

    func endStream(_ exchange: ExchangeID, retaining retained: (any AnyObject & Sendable)?) {
        guard let (connection, exchange, answer) = streaming(exchange) else { return }
        if let retained { connection.retained.append(retained) }
        finishStream(connection, exchange, answer)
        processInput(connection)
        settle(connection)
    }

    private func finishStream(_ connection: Connection, _ exchange: Exchange, _ answer: StreamedAnswer) {
        if answer.isChunked { out += "0\r\n\r\n".utf8 }
        answer.resumeWriter(throwing: .disconnected)
        unsubscribe(connection.exchangeID, answer)
        end(exchange, on: connection, exchange.isPersistent && !isStopping)
    }
}
