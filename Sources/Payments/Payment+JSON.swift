package import BalloonJSON
import BalloonPOSIX

extension Payment {
    /// The value as a JSON object, as `init(json:)` reads it.
    ///
    /// ```json
    /// {"currency":"EUR","total":"59.00","shippingMethod":"std","endsAt":"…","end":"event","sheet":{…},
    ///  "attempts":[{"id":"…","amount":"59.00","state":"succeeded","begunAt":"…","changedAt":"…","reference":"ch_1",
    ///               "told":true,"failures":0,"turn":1,"answer":{…}}]}
    /// ```
    /// The state of an uncertain attempt is written as `begun` with `"uncertain":true`, because an older
    /// release, which does not know the state, then reverses the attempt. `endSeenAt` follows when the end of
    /// its call was seen. `pending` has the sheets of updates, with the same three members.
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: shown.sheet.count + 1024) { writer in
            writer.fields(["currency": currency, "endsAt": endsAt?.rfc3339, "end": end?.rawValue])
            shown.write(to: &writer)
            if !pending.isEmpty {
                writer.list("pending", pending) { shown, writer in writer.object { shown.write(to: &$0) } }
            }
            writer.objects("attempts", attempts) { attempt, writer in
                writer.field("id", attempt.id)
                writer.field("amount", attempt.amount)
                writer.field("transaction", attempt.transaction)
                let isUncertain = attempt.state == .uncertain
                writer.field("state", (isUncertain ? .begun : attempt.state).rawValue)
                if isUncertain { writer.field("uncertain", true) }
                writer.fields([
                    "begunAt": attempt.begunAt.rfc3339, "changedAt": attempt.changedAt.rfc3339,
                    "endSeenAt": attempt.endSeenAt?.rfc3339, "reference": attempt.reference,
                    "told": attempt.isTold, "failures": attempt.failures, "turn": attempt.turn,
                ])
                guard let answer = attempt.answer else { return }
                writer.raw("answer", answer)
            }
        }
    }

    /// Reads a payment; nil when a required member is missing or malformed.
    package init?(json: JSONValue) {
        guard let currency = json["currency"]?.string, let shown = Shown(json: json),
            let list = json["attempts"], list.kind == .array,
            list.count <= Self.maximumAttempts
        else { return nil }
        let attempts = list.elements.compactMap { PaymentAttempt(json: $0) }
        let updates = json["pending"]?.elements.map { Shown(json: $0) } ?? []
        let pending = updates.compactMap(\.self)
        let endsAt = json["endsAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        let end = json["end"]?.string.flatMap(End.init)
        // Without its end, a payment that has ended would be paid once more.
        guard attempts.count == list.count, pending.count == updates.count,
            updates.count <= Self.maximumPendingUpdates, (endsAt == nil) == (json["endsAt"] == nil),
            (end == nil) == (json["end"] == nil)
        else { return nil }
        self.init(
            currency: currency, shown, pending: pending, endsAt: endsAt, end: end, attempts: attempts)
    }
}

extension Payment.Shown {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.fields(["total": total, "shippingMethod": shippingMethod, "sheet": JSONText(sheet)])
    }

    fileprivate init?(json: JSONValue) {
        guard let total = json["total"]?.string, let sheet = json["sheet"] else { return nil }
        self.init(
            total: total, shippingMethod: json["shippingMethod"]?.string, sheet: Array(sheet.text))
    }
}

extension PaymentAttempt {
    fileprivate init?(json: JSONValue) {
        guard let id = json["id"]?.string, let amount = json["amount"]?.string,
            let state = json["state"]?.string.flatMap(State.init), state != .uncertain,
            let begunAt = json["begunAt"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let changedAt = json["changedAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(id: id, amount: amount, transaction: json["transaction"]?.string, begunAt: begunAt)
        self.state = state == .begun && json["uncertain"]?.bool == true ? .uncertain : state
        self.changedAt = changedAt
        reference = json["reference"]?.string
        isTold = json["told"]?.bool ?? false
        failures = json["failures"]?.int ?? 0
        turn = json["turn"]?.int ?? 0
        endSeenAt = json["endSeenAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        answer = json["answer"].map { Array($0.text) }
    }
}
