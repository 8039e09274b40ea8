import BalloonPOSIX
import HandlerBridges
import HandlerKit
import HandlerProtocol
import Logging

/// The parameters of one call of `event`: the event, and the id of its delivery.
struct EventParameters: Sendable {
    let delivery: String
    let context: Context
    let path: String?

    @Sendable func line(_ id: Int) -> [UInt8] {
        RPCLine.request(id: id, method: Method.event) { writer in
            EventCall.write(context, messagePath: path, to: &writer)
        }
    }
}

extension CheckRun {
    mutating func parameters(_ event: HandlerCheck.Sample, attempt: Int, path: String?) -> EventParameters {
        let delivery = "check-\(nextDelivery)"
        nextDelivery += 1
        var context = Context(
            event: event.event, replyFailure: event.replyFailure,
            conversation: Conversation(entries: event.history), deliveryID: DeliveryID(delivery),
            attempt: attempt, deadline: .now + check.deadline, logger: Logger(label: "check"))
        context.consent = ConsentChange(event.event.message)
        return EventParameters(delivery: delivery, context: context, path: path)
    }

    mutating func ask(
        _ session: ChildSession, _ event: HandlerCheck.Sample, attempt: Int, inFile: Bool
    ) async -> ChildSession.Answer {
        guard inFile else {
            return await session.call(
                within: check.deadline, parameters(event, attempt: attempt, path: nil).line)
        }
        let file: ScratchFile
        do throws(SystemError) {
            file = try ScratchFile.write(
                event.event.message.text, in: directory, name: ".check-\(nextDelivery)")
        } catch {
            return .failure(.noScratchFile(error))
        }
        defer { file.remove() }
        return await session.call(
            within: check.deadline, parameters(event, attempt: attempt, path: file.path).line)
    }
}
