import BalloonJSON
import BusinessMessages
import MessageServer

/// Asks a running server how the delivery of a simulated message ended.
struct DeliveryInquiry {
    /// The server's data directory.
    let data: String
    /// The maximum wait, in seconds.
    let timeout: Int

    /// The state of a message's delivery at its end or at the timeout; nil when the server cannot be asked.
    func end(of message: [UInt8]) async throws -> DeliveryAnswer? {
        let root = try JSONDocument(message).root
        let (id, business) = (root["id"]?.string ?? "", root["destinationId"]?.string ?? "")
        let deadline = ContinuousClock.now + .seconds(timeout)
        while true {
            let left = (deadline - .now).components.seconds
            let target = DeliveryAnswer.target(
                MessageID(id), to: BusinessID(business), waiting: Int(max(0, min(left, 15))))
            let body: [UInt8]?
            do { body = try await ControlSocket.get(target, data: data) } catch CommandFailure.refused(404, _)
            {
                // The data directory belongs to another server than the one that --to names.
                return nil
            }
            guard let body else { return nil }
            guard let answer = DeliveryAnswer(body) else {
                throw CommandFailure.malformed(
                    path: target, reason: "is answered by another version of balloon")
            }
            if answer.isEnded || left <= 0 { return answer }
        }
    }
}
