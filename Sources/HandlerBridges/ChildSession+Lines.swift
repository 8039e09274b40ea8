import BalloonPOSIX
import HandlerKit
import HandlerProtocol
import Logging

/// The lines that the process writes.
extension ChildSession {
    func takeLog(_ bytes: [UInt8]) {
        if relay.take(bytes) { errors?.pause(for: Self.floodPause) }
    }

    func take(_ bytes: [UInt8]) {
        heard += 1
        for piece in splitter.take(bytes) where !isCondemned {
            switch piece {
            case .line(let line):
                if !take(line: line), unaskedRate.add() { slowDown() }
            case .tooLong(let beginning):
                logger.warning(
                    "handler wrote a line that is too long; dropping it",
                    metadata: ["maximum_bytes": "\(ProtocolVersion.maximumLineBytes)"])
                if let damaged = DamagedAnswer(beginning: beginning) {
                    _ = answer(damaged.id, .failure(.refused(damaged.failure)))
                }
            }
        }
    }

    /// Handles a line; returns whether the line answered a pending call.
    func take(line: [UInt8]) -> Bool {
        switch RPCMessage(line: line) {
        case .result(let id, let result): return answer(id, .success(result))
        case .failure(let id, let failure): return answer(id, .failure(.refused(failure)))
        case .notification(Method.log, let params): log(params)
        case .notification: break
        case .request(let id, Method.reply, let params): reply(id, params)
        case .request(let id, Method.withdrawPayment, let params): withdrawPayment(id, params)
        case .request(let id, _, _):
            refuse(id, RPCFailure(code: RPCFailure.Code.unknownMethod, message: "unknown method"))
        case nil:
            // Without this the event would wait for its deadline, and be answered in the same way again.
            if let damaged = DamagedAnswer(line: line), pending[damaged.id] != nil {
                return answer(damaged.id, .failure(.refused(damaged.failure)))
            }
            noise(line)
        }
        return false
    }

    /// Pauses reading, because reading a flood of lines at full speed would use the server's processor time.
    private func slowDown() {
        output?.pause(for: Self.floodPause)
        guard !isFlooding else { return }
        isFlooding = true
        logger.warning("handler floods standard output; reading it slowly")
    }

    /// Accepts a message that the handler sends without an event.
    ///
    /// The handler gets its answer when the message is on disk.
    private func reply(_ id: JSONValue, _ params: JSONValue) {
        let call: ReplyCall
        do throws(HandlerProtocolError) { call = try ReplyCall(params) } catch {
            return refuse(id, RPCFailure(error))
        }
        ask(id) { host in
            let message = try await host.send(call.message, to: call.customer, key: call.key)
            return RPCLine.result(id: id) { $0.field("messageId", message.rawValue) }
        }
    }

    /// Ends a payment request, and answers the handler when the end is on disk.
    private func withdrawPayment(_ id: JSONValue, _ params: JSONValue) {
        guard let identifier = params["requestIdentifier"]?.string else {
            return refuse(id, RPCFailure(HandlerProtocolError.malformed("requestIdentifier")))
        }
        ask(id) { host in
            let isWithdrawn = try await host.withdrawPayment(identifier)
            return RPCLine.result(id: id) { $0.field("withdrawn", isWithdrawn) }
        }
    }

    /// Answers a call of the handler with the result of `answer`, unless too many such calls wait.
    private func ask(
        _ id: JSONValue, _ answer: @escaping @Sendable (HandlerHost) async throws -> [UInt8]
    ) {
        guard let host, repliesInFlight < Self.maximumReplies else {
            return refuse(
                id, RPCFailure(code: RPCFailure.Code.busy, message: "busy", retryAfter: .seconds(1)))
        }
        repliesInFlight += 1
        // This task is never cancelled; it ends when the change is on disk.
        Task {
            let line: [UInt8]
            do {
                line = try await answer(host)
            } catch {
                line = RPCLine.failure(
                    id: id, RPCFailure((error as? HandlerHostError) ?? HandlerHostError.notStored))
            }
            repliesInFlight -= 1
            notify(line)
        }
    }

    private func refuse(_ id: JSONValue, _ failure: RPCFailure) {
        notify(RPCLine.failure(id: id, failure))
    }

    func answer(_ id: Int, _ answer: Answer) -> Bool {
        guard pending[id] != nil else {
            strayAnswerCount += 1
            // Do not warn: answers to cancelled events and repeated answers are common.
            logger.debug("handler answered a call that is not pending")
            return false
        }
        settle(id, answer)
        return true
    }

    private func log(_ params: JSONValue) {
        let level = params["level"]?.string.flatMap { Logger.Level(rawValue: $0) } ?? .info
        relay.take(Array("[\(level.rawValue)] \(params["message"]?.string ?? "")\n".utf8))
    }

    func noise(_ line: [UInt8]) {
        guard !line.isEmpty else { return }
        noiseCount += 1
        let beginning = String(decoding: line.prefix(200), as: UTF8.self)
        if noiseCount <= Self.maximumKeptNoise { relay.keep("[warning] no protocol message: \(beginning)") }
        if noiseCount == 1 {
            firstNoise = beginning
            // Before the handshake the process knows no customer, so the line may be quoted.
            let quoted = isIntroduced ? "" : beginning
            logger.warning(
                "handler wrote a line to standard output that is not a protocol message",
                metadata: ["line": "\(quoted)"])
        }
        guard !isIntroduced, noiseCount > Self.maximumNoiseBeforeHandshake else { return }
        // Ignore all later lines, so that the process is killed and the warning logged only once.
        isCondemned = true
        logger.warning("handler wrote many lines but no protocol message; killing it")
        process?.signalGroup(TerminationSignal.final)
    }
}
