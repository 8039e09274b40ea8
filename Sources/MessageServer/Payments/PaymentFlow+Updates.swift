import BalloonHTTP
import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Payments
import Synchronization

/// The updates of a payment sheet, one after another.
extension PaymentFlow {
    /// The answer to an update when the handler gives no valid answer in time.
    static let updateFailure = JSONWriter.object([
        "errors": [JSONObject(["code": "unknown", "message": "Please try again."])]
    ])

    /// The answer to an update; the update's turn ends when it is known whether the device got the answer.
    struct Update: Sendable {
        let answer: [UInt8]
        /// The sheet of the answer; nil when the answer is a failure.
        let proposed: Payment.Shown?
    }

    func update(_ callback: PaymentCallback, _ found: Found) async -> Reply {
        guard let turn = enterLane(found.name) else { return Reply(answer: .json(Self.updateFailure)) }
        let prepared = await clock.run(within: timings.answer) { [self] isDecided -> Update? in
            guard await turn.acquire() else { return nil }
            let prepared = await update(callback, found, isDecided)
            if prepared?.proposed == nil { turn.release() }
            return prepared
        }
        guard let prepared, let proposed = prepared.proposed else {
            leaveLane(found.name)
            return Reply(answer: .json(prepared?.answer ?? Self.updateFailure))
        }
        return Reply(answer: .json(prepared.answer)) { [self] delivery in
            Task { @concurrent in
                // When the delivery is unknown, both sheets stay possible, as after a crash.
                if delivery != .unknown { await resolve(proposed, isSent: delivery == .sent, found) }
                turn.release()
                leaveLane(found.name)
            }
        }
    }

    func update(
        _ callback: PaymentCallback, _ found: Found, _ isDecided: OnceFlag
    ) async -> Update? {
        let clock = clock
        do {
            guard let payload = try await payload(found), payload.payment.acceptsUpdates(at: clock.now()),
                let sheet = PaymentSheet(json: payload.payment.newest.sheet)
            else { return nil }
            let call = handlerCall(callback, found, payload, sheet, nil)
            let chosen = callback.kind == .shippingMethodUpdate ? callback.shippingMethod?.identifier : nil
            if let chosen, !sheet.shippingMethods.contains(where: { $0.identifier == chosen }) { return nil }
            let update = try await handlers.update(call)
            let next = try sheet.applying(update, to: callback.kind)
            let method =
                chosen
                ?? (update.shippingMethods == nil
                    ? payload.payment.newest.shippingMethod : next.shippingMethods.first?.identifier)
            guard isDecided.claim() else { return nil }
            let proposed = Payment.Shown(
                total: next.total.amount, shippingMethod: method, sheet: next.json)
            guard await propose(proposed, found) else {
                return Update(answer: Self.updateFailure, proposed: nil)
            }
            return Update(answer: next.answer(to: update), proposed: proposed)
        } catch {
            let reason = (error as? PaymentAnswerProblem)?.loggable ?? "\(type(of: error))"
            log("payment update not answered by the handler", key: found, reason)
            return nil
        }
    }

    /// Records a sheet before its answer is sent; false when the answer must not be sent.
    private func propose(_ sheet: Payment.Shown, _ found: Found) async -> Bool {
        let clock = clock
        do {
            return try await requests.update(found.name) { request, _ in
                request?.changePayment { $0.propose(sheet, at: clock.now()) ? true : nil } ?? false
            }
        } catch {
            log("payment update not recorded", key: found, "\(error)")
            return false
        }
    }

    /// Records whether the device got the answer of an update.
    private func resolve(_ sheet: Payment.Shown, isSent: Bool, _ found: Found) async {
        do {
            try await requests.update(found.name) { request, _ in
                request?.changePayment { $0.resolve(sheet, isSent: isSent) }
            }
        } catch {
            log(
                "delivery of a payment update not recorded; both sheets stay possible", key: found, "\(error)"
            )
        }
    }

    private func enterLane(_ name: RequestName, isUpdate: Bool = true) -> AsyncSemaphore? {
        state.withLock { state in
            var lane = state.lanes[name] ?? Lane()
            guard !isUpdate || lane.users < Self.maximumUpdates else { return nil }
            lane.users += 1
            state.lanes[name] = lane
            return lane.turn
        }
    }

    private func leaveLane(_ name: RequestName) {
        state.withLock { state in
            guard var lane = state.lanes[name] else { return }
            lane.users -= 1
            state.lanes[name] = lane.users == 0 ? nil : lane
        }
    }

    /// Runs `body` when the request's updates have ended; nil when they have not ended within `time`.
    func afterUpdates<Value: Sendable>(
        of name: RequestName, within time: Duration, _ body: () async throws -> Value
    ) async rethrows -> Value? {
        guard let turn = enterLane(name, isUpdate: false) else { return nil }
        defer { leaveLane(name) }
        let hasTurn = await clock.run(within: time) { isDecided -> Bool? in
            guard await turn.acquire() else { return nil }
            if isDecided.claim() { return true }
            turn.release()
            return nil
        }
        guard hasTurn == true else { return nil }
        defer { turn.release() }
        return try await body()
    }
}
