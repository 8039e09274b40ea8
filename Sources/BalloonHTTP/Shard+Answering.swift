import BalloonPOSIX

extension Shard {
    /// The answer to a request whose handler had returned without one.
    func answer(_ exchange: ExchangeID, _ response: HTTPResponse) {
        guard let connection = answering(exchange) else { return }
        finish(connection, response)
        processInput(connection)
        settle(connection)
    }

    private func answering(_ exchange: ExchangeID) -> Connection? {
        guard let connection = connection(exchange.connection), connection.exchange == exchange,
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
        if isStopping || connection.isPeerFinished && connection.input.isEmpty {
            connection.isPersistent = false
        }
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
            setDeadline(connection, connection.service.limits.idleTimeout)
        } else {
            connection.isClosing = true
        }
    }

    /// Answers a refusal with its status and closes, so that what follows it is never taken for a request.
    func refuse(_ connection: Connection, _ refusal: HTTPRefusal) {
        connection.isPersistent = false
        connection.exchangeNumber &+= 1
        let body = describeRefusal(refusal)
        connection.phase = .answering
        finish(connection, HTTPResponse(refusal.status, body: body))
    }

    /// Sends `out`, as far as the client takes it; the rest waits in the connection.
    func send(_ connection: Connection) {
        if connection.pendingOutputBytes > 0 {
            connection.output += out
            out.removeAll(keepingCapacity: true)
            return
        }
        guard !out.isEmpty else { return finishOutput(connection) }
        do {
            let sent = try connection.descriptor.send(out)
            if sent < out.count {
                connection.output = Array(out[sent...])
                connection.outputStart = 0
                setDeadline(connection, connection.service.limits.writeTimeout)
            }
            out.removeAll(keepingCapacity: true)
            if connection.pendingOutputBytes == 0 { finishOutput(connection) }
        } catch {
            out.removeAll(keepingCapacity: true)
            close(connection)
        }
    }

    /// The client takes bytes again.
    func flush(_ connection: Connection) {
        do {
            connection.outputStart += try connection.descriptor.send(
                connection.output, from: connection.outputStart)
        } catch {
            return close(connection)
        }
        if connection.pendingOutputBytes > 0 {
            if connection.outputStart > 1 << 20 {
                connection.output.removeFirst(connection.outputStart)
                connection.outputStart = 0
            }
            setDeadline(connection, connection.service.limits.writeTimeout)
        } else {
            connection.output = []
            connection.outputStart = 0
            finishOutput(connection)
            // Answers that waited for room may have held pipelined requests back.
            if connection.isOpen { processInput(connection) }
            if connection.isOpen, !out.isEmpty { send(connection) }
        }
        if connection.isOpen { updateInterest(connection) }
    }

    /// Everything is sent: goes on, or begins to close.
    private func finishOutput(_ connection: Connection) {
        if let writer = connection.writer {
            connection.writer = nil
            writer.resume()
        }
        guard connection.isClosing, connection.pendingOutputBytes == 0 else {
            return restoreDeadline(connection)
        }
        if case .lingering = connection.phase { return }
        if connection.isPeerFinished { return close(connection) }
        // RFC 9112 §9.6: closing over unread bytes would reset the connection and take the answer with it.
        connection.phase = .lingering
        connection.input = []
        connection.descriptor.finishSending()
        setDeadline(connection, connection.service.limits.lingerTimeout)
    }

    private func restoreDeadline(_ connection: Connection) {
        switch connection.phase {
        case .head where connection.parser.isAtStart && connection.exchangeNumber > 0:
            setDeadline(connection, connection.service.limits.idleTimeout)
        case .streaming: setDeadline(connection, connection.service.limits.answerTimeout)
        case .head, .collecting, .collectingChunks, .answering, .lingering: break
        }
    }

    /// The current phase has lasted too long.
    func expire(_ connection: Connection) {
        if connection.pendingOutputBytes > 0 { return close(connection) }
        switch connection.phase {
        case .head where connection.parser.isAtStart: close(connection)
        case .head, .collecting, .collectingChunks:
            refuse(connection, .timedOut)
            settle(connection)
        case .answering:
            connection.isPersistent = false
            finish(connection, HTTPResponse(.serviceUnavailable, text: "Service Unavailable\n"))
            settle(connection)
        // A stream that has nothing to say is the handler's business; its client is seen to be gone when it leaves.
        case .streaming: setDeadline(connection, connection.service.limits.answerTimeout)
        case .lingering: close(connection)
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
        if connection.minorVersion == 0 { connection.isPersistent = false }
        if let pull = connection.pull, !pull.isFinished { connection.isPersistent = false }
        appendConnectionFields(connection)
        if connection.minorVersion == 1 { out += transferEncodingChunked }
        out += crlf
        connection.phase = .streaming
        settle(connection)
    }

    private func streaming(_ exchange: ExchangeID) -> Connection? {
        guard let connection = connection(exchange.connection), connection.exchange == exchange,
            case .streaming = connection.phase
        else { return nil }
        return connection
    }

    func write(_ exchange: ExchangeID, _ bytes: [UInt8], _ writer: CheckedContinuation<Void, any Error>) {
        guard let connection = streaming(exchange), connection.writer == nil else {
            return writer.resume(throwing: HTTPStreamError.disconnected)
        }
        if !bytes.isEmpty, !connection.isHeadRequest {
            if connection.minorVersion == 1 {
                out += String(bytes.count, radix: 16).utf8
                out += crlf
                out += bytes
                out += crlf
            } else {
                out += bytes
            }
        }
        send(connection)
        guard connection.isOpen else { return writer.resume(throwing: HTTPStreamError.disconnected) }
        if connection.pendingOutputBytes < connection.service.limits.maximumPendingOutputBytes {
            writer.resume()
        } else {
            connection.writer = writer
        }
        updateInterest(connection)
    }

    func endStream(_ exchange: ExchangeID) {
        guard let connection = streaming(exchange) else { return }
        if connection.minorVersion == 1, !connection.isHeadRequest { out += "0\r\n\r\n".utf8 }
        endExchange(connection)
        processInput(connection)
        settle(connection)
    }
}
