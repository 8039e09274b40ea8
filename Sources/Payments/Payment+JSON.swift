package import BalloonJSON
import BalloonPOSIX

extension Payment {
    /// The maximum length of a payment's JSON text in bytes.
    package static let maximumBytes = 1 << 20

    /// The value as a JSON object, as `init(json:)` reads it.
    ///
    /// ```json
    /// {"currency":"EUR","total":"59.00","shippingMethod":"std","endsAt":"…","end":"event","sheet":{…},
    ///  "attempts":[{"id":"…","amount":"59.00","state":"succeeded","begunAt":"…","changedAt":"…","reference":"ch_1",
    ///               "told":true,"failures":0,"answer":{…}}]}
    /// ```
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: sheet.count + 1024) { writer in
            writer.field("currency", currency)
            writer.field("total", total)
            writer.field("shippingMethod", shippingMethod)
            writer.field("endsAt", endsAt?.rfc3339)
            writer.field("end", end?.rawValue)
            writer.key("sheet")
            writer.raw(sheet)
            writer.key("attempts")
            writer.array { writer in
                for attempt in attempts {
                    writer.object { writer in
                        writer.field("id", attempt.id)
                        writer.field("amount", attempt.amount)
                        writer.field("transaction", attempt.transaction)
                        writer.field("state", attempt.state.rawValue)
                        writer.field("begunAt", attempt.begunAt.rfc3339)
                        writer.field("changedAt", attempt.changedAt.rfc3339)
                        writer.field("reference", attempt.reference)
                        writer.field("told", attempt.isTold)
                        writer.field("failures", attempt.failures)
                        guard let answer = attempt.answer else { return }
                        writer.key("answer")
                        writer.raw(answer)
                    }
                }
            }
        }
    }

    /// Reads a payment; nil when a required member is missing or malformed.
    package init?(json: JSONValue) {
        guard let currency = json["currency"]?.string, let total = json["total"]?.string,
            let sheet = json["sheet"], let list = json["attempts"], list.kind == .array,
            list.count <= Self.maximumAttempts
        else { return nil }
        let attempts = list.elements.compactMap { PaymentAttempt(json: $0) }
        let endsAt = json["endsAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        let end = json["end"]?.string.flatMap(End.init)
        // Without its end, a payment that has ended would be paid once more.
        guard attempts.count == list.count, (endsAt == nil) == (json["endsAt"] == nil),
            (end == nil) == (json["end"] == nil)
        else { return nil }
        self.init(
            currency: currency, total: total, shippingMethod: json["shippingMethod"]?.string,
            sheet: Array(sheet.text),
            endsAt: endsAt, end: end, attempts: attempts)
    }
}

extension PaymentAttempt {
    fileprivate init?(json: JSONValue) {
        guard let id = json["id"]?.string, let amount = json["amount"]?.string,
            let state = json["state"]?.string.flatMap(State.init),
            let begunAt = json["begunAt"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let changedAt = json["changedAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(id: id, amount: amount, transaction: json["transaction"]?.string, begunAt: begunAt)
        self.state = state
        self.changedAt = changedAt
        reference = json["reference"]?.string
        isTold = json["told"]?.bool ?? false
        failures = json["failures"]?.int ?? 0
        answer = json["answer"].map { Array($0.text) }
    }
}
