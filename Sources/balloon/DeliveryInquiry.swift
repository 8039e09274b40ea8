import BusinessMessages
import MessageServer

/// Asks a running server how the delivery of a simulated message ended.
struct DeliveryInquiry {
    /// The server's data directory.
    let data: String
    /// The maximum wait for the end of the delivery, in seconds.
    let timeout: Int

    /// Waits for the end of a message's delivery, at most until the timeout, and returns its state.
    ///
    /// Nil when no server listens in the data directory, or when that server does not know the message.
    func end(of message: [UInt8]) async throws -> DeliveryAnswer? {
        let root = try JSONDocument(message).root
        let (id, business) = (root["id"]?.string ?? "", root["destinationId"]?.string ?? "")
        let deadline = ContinuousClock.now + .seconds(timeout)
        while true {
            let left = (deadline - .now).components.seconds
            let target = DeliveryAnswer.target(
                MessageID(id), to: BusinessID(business), waiting: Int(max(0, min(left, 15))))
            let body: [UInt8]?
            do { body = try await ControlSocket.request(target, data: data) } catch CommandFailure.refused(
                404, _)
            {
                // The journal of this server has no such message, so --to names a server with another data directory.
                return nil
            }
            guard let body else { return nil }
            guard let answer = DeliveryAnswer.form.value(body) else {
                throw CommandFailure.malformed(
                    path: target, reason: "has an answer that this version of balloon cannot read")
            }
            if answer.isEnded || left <= 0 { return answer }
        }
    }
}
