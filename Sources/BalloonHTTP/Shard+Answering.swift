import BalloonPOSIX
import BalloonTLS

extension Shard {
    /// The answer to a request whose handler had returned without one.
    func answer(_ exchange: ExchangeID, _ response: HTTPResponse) {
        guard let connection = answering(exchange) else { return }
        finish(connection, response)
        processInput(connection)
        settle(connection)
    }

    private func answering(_ exchange: ExchangeID) -> Connection? {
        guard let connection = slots[exchange.connection], connection.exchange == exchange,
            case .answering = connection.phase
        else { return nil }
        return connection
    }

    /// Puts a whole answer behind what is to be sent, and makes the connection ready for the next request.
    func finish(_ connection: Connection, _ response: HTTPResponse) {
        // The unread rest of a pulled body would be taken for the next request.
        if let pull = connection.pull, !pull.isFinished { connection.isPersistent = false }
        out += response.header
        appendConnectionFields(connection)
        out += crlf
        if !connection.isHeadRequest { out += response.body }
        endExchange(connection)
    }

    private func appendConnectionFields(_ connection: Connection) {
        out += dateField
        if isStopping { connection.isPersistent = false }
        if !connection.isPersistent {
            out += connectionClose
        } else if connection.minorVersion == 0 {
            out += connectionKeepAlive
        }
    }

    private func endExchange(_ connection: Connection) {
        connection.pull?.waiting?.resume(throwing: HTTPStreamError.disconnected)
        connection.pull = nil
        connection.route = nil
        connection.parser.reset()
        connection.phase = .head
        if connection.isPersistent {
            setDeadline(connection, connection.listener.ticks.idle)
        } else {
            connection.isClosing = true
        }
    }

    /// Answers a refusal with its status and closes, so that what follows it is never taken for a request.
    func refuse(_ connection: Connection, _ refusal: HTTPRefusal) {
        connection.isPersistent = false
        connection.exchangeNumber &+= 1
        // What is known of this request, not what the one before was.
        connection.isHeadRequest = connection.parser.head.method == .head
        connection.input = []
        connection.headBytes = []
        connection.body = []
        connection.phase = .answering
        finish(connection, answer(to: refusal))
    }

    /// The answer to a refused request, with its words from ``describeRefusal``.
    func answer(to refusal: HTTPRefusal, fields: [(name: String, value: String)] = []) -> HTTPResponse {
        HTTPResponse(refusal.status, body: describeRefusal(refusal), fields: refusal.fields + fields)
    }

    /// Sends `out`, as far as the client takes it; the rest waits in the connection.
    func send(_ connection: Connection) {
        if !out.isEmpty {
            if let tls = connection.tls { sendSealed(connection, tls) } else { transmit(connection, out) }
            emptyOut()
        }
        if connection.isOpen, connection.isClosing, connection.pendingOutputBytes == 0 { linger(connection) }
    }

    /// Sends `bytes` behind what waits already.
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
            close(connection)
        }
    }

    private func emptyOut() {
        // One large answer must not stay in memory for ever.
        out.removeAll(keepingCapacity: out.capacity <= 1 << 20)
    }

    /// The client takes bytes again.
    func flush(_ connection: Connection) {
        do {
            connection.outputStart += try connection.descriptor.send(
                connection.output, from: connection.outputStart)
        } catch {
            return close(connection)
        }
        if connection.hasRoomForAnswers, let writer = connection.writer {
            connection.writer = nil
            writer.resume()
        }
        if connection.pendingOutputBytes > 0 {
            if connection.outputStart > 1 << 20 {
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

    /// Everything is said: waits for the client to finish.
    private func linger(_ connection: Connection) {
        if case .lingering = connection.phase { return }
        if connection.isPeerFinished { return close(connection) }
        // RFC 9112 §9.6: closing over unread bytes would reset the connection and take the answer with it.
        connection.phase = .lingering
        connection.input = []
        if let tls = connection.tls { sendEnd(connection, tls) }
        connection.descriptor.finishSending()
        setDeadline(connection, connection.listener.ticks.linger)
    }

    /// The write timeout is over: the phase gets its own wait again.
    private func restoreDeadline(_ connection: Connection) {
        let ticks = connection.listener.ticks
        switch connection.phase {
        case .head where connection.parser.isAtStart: setDeadline(connection, ticks.idle)
        case .head: setDeadline(connection, ticks.head)
        case .collecting, .collectingChunks: setBodyDeadline(connection)
        case .answering, .streaming: setDeadline(connection, ticks.answer)
        case .lingering: break
        }
    }
}

private let crlf = Array("\r\n".utf8)
private let connectionClose = Array("Connection: close\r\n".utf8)
private let connectionKeepAlive = Array("Connection: keep-alive\r\n".utf8)
private let transferEncodingChunked = Array("Transfer-Encoding: chunked\r\n".utf8)

extension Shard {
    func startStream(_ exchange: ExchangeID, _ head: HTTPStreamHead) {
        guard let connection = answering(exchange) else { return }
        out += head.header
        // RFC 9112 §6.1: never a coding towards HTTP/1.0; there the end of the connection ends the body.
        connection.isChunked = connection.minorVersion == 1 && !head.hasLength
        if !connection.isChunked, !head.hasLength { connection.isPersistent = false }
        if let pull = connection.pull, !pull.isFinished { connection.isPersistent = false }
        appendConnectionFields(connection)
        if connection.isChunked { out += transferEncodingChunked }
        out += crlf
        connection.phase = .streaming
        settle(connection)
    }

    /// Closes the connection of a request that is answered or begun to be.
    func abort(_ exchange: ExchangeID) {
        guard let connection = answering(exchange) ?? streaming(exchange) else { return }
        close(connection)
    }

    private func streaming(_ exchange: ExchangeID) -> Connection? {
        guard let connection = slots[exchange.connection], connection.exchange == exchange,
            case .streaming = connection.phase
        else { return nil }
        return connection
    }

    func write(_ exchange: ExchangeID, _ bytes: [UInt8], _ writer: CheckedContinuation<Void, any Error>) {
        guard let connection = streaming(exchange), connection.writer == nil else {
            return writer.resume(throwing: HTTPStreamError.disconnected)
        }
        if !bytes.isEmpty, !connection.isHeadRequest { appendPiece(bytes, connection) }
        connection.writer = writer
        settle(connection)
        // Closing has told the writer already.
        guard connection.hasRoomForAnswers, connection.writer != nil else { return }
        connection.writer = nil
        writer.resume()
    }

    private func appendPiece(_ bytes: [UInt8], _ connection: Connection) {
        guard connection.isChunked else { return out += bytes }
        out += String(bytes.count, radix: 16).utf8
        out += crlf
        out += bytes
        out += crlf
    }

    func endStream(_ exchange: ExchangeID) {
        guard let connection = streaming(exchange) else { return }
        if connection.isChunked, !connection.isHeadRequest { out += "0\r\n\r\n".utf8 }
        endExchange(connection)
        processInput(connection)
        settle(connection)
    }
}
