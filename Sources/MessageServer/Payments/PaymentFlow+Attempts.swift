import BalloonHTTP
import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Payments
import Synchronization

/// The gateway calls: one attempt to pay for each token.
extension PaymentFlow {
    func gateway(_ callback: PaymentCallback, _ found: Found) async -> Reply {
        guard let token = callback.token else { return Reply(answer: .badRequest) }
        let id = PaymentAttempt.id(
            requestIdentifier: callback.requestIdentifier, encryptedData: token.encryptedData)
        let shared = state.withLock { state in
            let shared =
                state.attempts[id]
                ?? SharedAttempt { [self] in
                    // Begin the call before the attempt is recorded. Otherwise the attempt could be mistaken
                    // for one that an earlier process began.
                    reversals.beginCall(id)
                    let answer = await attempt(id, callback, found)
                    // A success stays open, also for repeated posts, until it is recorded whether the device
                    // got it.
                    if !answer.isSuccess {
                        self.state.withLock { $0.attempts[id] = nil }
                        reversals.endCall(id)
                    }
                    return answer
                }
            state.attempts[id] = shared
            shared.join()
            return shared
        }
        let (answer, isSuccess) = await shared.task.value
        return Reply(answer: .json(answer)) { [self] delivery in
            guard shared.leave(delivery), isSuccess else { return }
            Task { @concurrent in await tell(id, shared, found) }
        }
    }

    /// Closes a success for further posts, and returns whether the device got it; nil when another post waits
    /// for it, or it is already closed.
    private func close(_ id: String, _ shared: SharedAttempt) -> HTTPDelivery? {
        state.withLock { state in
            guard state.attempts[id] === shared, shared.posts == 0 else { return nil }
            state.attempts[id] = nil
            return shared.delivery
        }
    }

    /// Returns the failure of a token that was not charged, `failure` unless an earlier attempt may have charged.
    private func unbegun(_ found: Found, _ failure: PaymentFailure) async -> (
        answer: [UInt8], isSuccess: Bool
    ) {
        // The error is dropped, because the device gets the same failure as for an unreadable payment.
        let reason: PaymentFailure =
            switch try? await payload(found)?.payment.standing {
            case .unpaid, .returned: failure
            case .paid: .paid
            case .unclear: .otherAttempt
            case nil: .uncertain
            }
        return (reason.answer, false)
    }

    /// Makes an attempt to pay, or returns the answer of an earlier one with the same identifier.
    func attempt(
        _ id: String, _ callback: PaymentCallback, _ found: Found
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        let clock = clock
        let begun = clock.now()
        let shippingMethod = callback.shippingMethod?.identifier
        let decryption = found.business.section.decryption
        var token: PaymentTokens.Opened?
        if let decryption {
            do { token = try await open(callback, id, found, with: decryption) } catch {
                log("payment token refused; the device gets a failure", key: found, "\(error)")
                return await unbegun(found, .notCharged)
            }
        }
        let opened = token
        let decided: (decision: Payment.GatewayDecision, payload: PaymentPayload, request: OpenRequest)?
        do {
            // The sum is known when the answer of a running update was sent or lost. Half of the device's
            // time remains for the charge.
            let afterUpdates = try await afterUpdates(of: found.name, within: timings.answer / 2) {
                try await requests.update(found.name) {
                    request, _ -> (
                        decision: Payment.GatewayDecision, payload: PaymentPayload, request: OpenRequest
                    )? in
                    guard let open = request, var payload = open.paymentPayload else { return nil }
                    let now = clock.now()
                    let sheet = PaymentSheet(json: payload.payment.shown.sheet)
                    let decision = payload.payment.begin(
                        attempt: id, transaction: opened?.transaction, shippingMethod: shippingMethod, at: now
                    ) { total in
                        guard decryption != nil else { return true }
                        guard let opened, let sheet else { return false }
                        return opened.isFor(total, on: sheet)
                    }
                    // This process has no call for the attempt, so an earlier process began it.
                    if case .join = decision { _ = payload.payment.settle(id, .lost, at: now) }
                    request?.set(payload)
                    return (decision, payload, open)
                }
            }
            guard let afterUpdates else {
                log("payment not begun; an update of its sheet has not ended", key: found, "update")
                return await unbegun(found, .totalChanged)
            }
            decided = afterUpdates
        } catch {
            log("payment not begun; the device gets a failure", key: found, "\(error)")
            return await unbegun(found, .notCharged)
        }
        guard let decided else { return (PaymentFailure.ended.answer, false) }
        switch decided.decision {
        case .call(let attempt):
            await records.append(
                id, of: decided.payload.payment, in: decided.request, at: clock.now(),
                slug: found.business.slug)
            return await call(attempt, callback, found, decided.payload, opened, since: begun)
        case .repeated(let answer): return (answer, decided.payload.payment.paid?.id == id)
        case .join:
            reversals.wake()
            return (PaymentFailure.uncertain.answer, false)
        case .refused(let refusal):
            log("payment refused without a call of the handler", key: found, refusal.rawValue)
            return (refusal.failure.answer, false)
        }
    }

    /// Opens the token of a new attempt; nil for a known attempt, whose answer is repeated without opening
    /// the token.
    func open(
        _ callback: PaymentCallback, _ id: String, _ found: Found,
        with decryption: ApplePayConfiguration.Decryption
    ) async throws -> PaymentTokens.Opened? {
        if try await payload(found)?.payment.attempts.contains(where: { $0.id == id }) == true { return nil }
        return try await tokens.open(callback, for: id, with: decryption, at: clock.now()).get()
    }

    func call(
        _ attempt: PaymentAttempt, _ callback: PaymentCallback, _ found: Found, _ payload: PaymentPayload,
        _ token: PaymentTokens.Opened?, since begun: Timestamp
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        guard let sheet = PaymentSheet(json: payload.payment.shown.sheet) else {
            return await settle(attempt.id, .notCalled, found, nil)
        }
        let call = handlerCall(callback, found, payload, sheet, attempt, token)
        let departure = OnceFlag()
        // This task is not cancelled after its departure: only the call itself can say what it charged.
        let task = Task { @concurrent [self] in await outcome(of: call, departure, found) }
        let waited = Duration.milliseconds(clock.now().milliseconds - begun.milliseconds)
        let rest = min(timings.answer, max(.zero, timings.answer - waited))
        let inTime = await clock.run(within: rest) { isDecided -> Payment.Outcome? in
            let value = await task.value
            return isDecided.claim() ? value : nil
        }
        if let inTime { return await settle(attempt.id, inTime, found, sheet) }
        if departure.claim() {
            // The call still waits for the handler or for a slot, and now never departs.
            task.cancel()
            log("payment handler not available in time; nothing was charged", key: found, "\(timings.answer)")
            return await settle(attempt.id, .notCalled, found, sheet)
        }
        log(
            "payment handler is late; the device gets a failure, and a reversal is requested", key: found,
            "\(timings.answer)")
        reversals.beginCall(attempt.id)
        let answer = await settle(attempt.id, .late, found, sheet)
        Task { @concurrent [self] in
            let late = await task.value
            _ = await settle(attempt.id, late, found, sheet, isLate: true)
            reversals.endCall(attempt.id)
        }
        return answer
    }

    /// Calls the handler and returns the outcome after all checks.
    func outcome(
        of call: PaymentHandlerCall, _ departure: OnceFlag, _ found: Found
    ) async -> Payment.Outcome {
        let outcome: PaymentOutcome
        do { outcome = try await handlers.pay(call, departure: departure) } catch {
            // Any other error is the handler's own: its call has ended.
            let end = (error as? any PaymentCallError)?.callEnd ?? .seen
            log("payment handler gave no answer", key: found, "\(end.words) (\(type(of: error)))")
            return Payment.Outcome(end)
        }
        do throws(PaymentAnswerProblem) { try outcome.check(for: call.sheet) } catch {
            log("payment handler's answer refused; a reversal is requested", key: found, error.loggable)
            guard case .success(_, let reference) = outcome else { return .misanswered(reference: nil) }
            return .misanswered(reference: reference)
        }
        switch outcome {
        case .success(let charged, let reference):
            return .charged(amount: charged, reference: reference, answer: outcome.answer)
        case .failure(let errors):
            return .declined(answer: errors.isEmpty ? PaymentFailure.declined.answer : outcome.answer)
        }
    }

    /// Makes an outcome durable and returns the answer.
    ///
    /// `isLate` says that the device was told of a failure before, even if that could not be written. When the
    /// outcome cannot be written, it is lost: the attempt on disk is uncertain from the end of its call.
    private func settle(
        _ id: String, _ outcome: Payment.Outcome, _ found: Found, _ sheet: PaymentSheet?, isLate: Bool = false
    ) async -> (answer: [UInt8], isSuccess: Bool) {
        let clock = clock
        do {
            let settled = try await requests.update(found.name) {
                request, _ -> (Payment.Settlement, Payment, OpenRequest)? in
                guard let open = request, var payload = open.paymentPayload else { return nil }
                let now = clock.now()
                if isLate { _ = payload.payment.settle(id, .late, at: now) }
                let settlement = payload.payment.settle(id, outcome, at: now) { charged, asked in
                    guard let units = sheet?.minorUnits(of: charged) else { return false }
                    return units == sheet?.minorUnits(of: asked)
                }
                request?.set(payload)
                return (settlement, payload.payment, open)
            }
            guard let (settlement, payment, open) = settled else {
                return (PaymentFailure.uncertain.answer, false)
            }
            await records.append(id, of: payment, in: open, at: clock.now(), slug: found.business.slug)
            if settlement.needsReversal { reversals.wake() }
            return (settlement.answer, payment.paid?.id == id)
        } catch {
            log("payment outcome not recorded; a reversal is requested", key: found, "\(error)")
            return (PaymentFailure.uncertain.answer, false)
        }
    }

    private func tell(_ id: String, _ shared: SharedAttempt, _ found: Found) async {
        let clock = clock
        // After an error, and when the delivery is unknown, the record does not say whether the device got the
        // answer; Apple's event or the request's end decides.
        let closed = Mutex<HTTPDelivery?>(nil)
        do {
            try await requests.update(found.name) { [self] request, _ in
                // Close inside the update: a later post then reads what is recorded here.
                guard let delivery = close(id, shared) else { return }
                closed.withLock { $0 = delivery }
                if delivery != .unknown {
                    request?.changePayment { $0.tell(id, isDelivered: delivery == .sent, at: clock.now()) }
                }
            }
            switch closed.withLock({ $0 }) {
            case nil, .sent: break
            case .unsent:
                log("payment reversed; the device disconnected before the answer", key: found, "disconnected")
            case .unknown:
                log(
                    "payment charged, but the device may not have got the answer; Apple's event or the request's end decides",
                    key: found, "disconnected")
            }
        } catch {
            log(
                "delivery of a payment's answer not recorded; Apple's event or the request's end decides",
                key: found, "\(error)")
        }
        // The update did not run when the store is closed, and its change was undone when the disk refused it.
        // The call has ended in both cases.
        if closed.withLock({ $0 }) ?? close(id, shared) != nil { reversals.endCall(id) }
    }
}
