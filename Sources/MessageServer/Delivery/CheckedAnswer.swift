package import BalloonPOSIX
import GatewayClient
package import HandlerKit
import MessageStore

/// An answer of a handler that breaks no rule.
struct CheckedAnswer: Sendable {
    let outcome: Outcome
    /// The replies as they will be sent.
    let replies: [DecidedReply]
    /// The new state of the conversation; nil when it does not change.
    let state: [UInt8]?
    /// The files of the replies, held until the decision is recorded.
    var hold: ContentHold?

    /// Returns this answer with one more reply, which must have no files.
    func adding(_ reply: Reply, to delivery: Delivery) -> CheckedAnswer {
        let name = ConversationID(business: delivery.business, customer: delivery.customer)
        return CheckedAnswer(
            outcome: outcome, replies: replies + [DecidedReply(reply, as: .random(), in: name)],
            state: state, hold: hold)
    }

    /// Checks an answer, except the files of its replies; one problem refuses the whole answer.
    ///
    /// Files are checked later, when they are read for copying. Without capabilities the device is assumed to
    /// show everything. `allowsClassicSignIn` is true when the server can open the token of a device that
    /// signs in with version 1 only.
    static func check(
        _ outcome: Outcome, _ context: Context, for capabilities: Capabilities?,
        allowsClassicSignIn: Bool = false
    ) throws(AnswerRefusal) -> Outcome {
        let stateBytes = context.state.change?.count ?? 0
        guard stateBytes <= ConversationState.maximumBytes else {
            throw AnswerRefusal([
                .init(
                    rule: "stateSize", pointer: "/state", found: "\(stateBytes) bytes",
                    allowed: "at most \(ConversationState.maximumBytes) bytes", passage: passage)
            ])
        }
        var problems: [AnswerRefusal.Problem] = []
        var showable: [Reply] = []
        for (index, reply) in outcome.replies.enumerated() {
            do throws(AnswerRefusal) {
                showable.append(
                    try check(
                        reply, for: capabilities, allowsClassicSignIn: allowsClassicSignIn,
                        at: "/replies/\(index)"))
            } catch {
                problems += error.problems
            }
        }
        guard problems.isEmpty else { throw AnswerRefusal(problems) }
        return outcome.replacing(replies: showable)
    }

    /// Checks everything but files; returns the message, or its fallback when the device cannot show it.
    static func check(
        _ message: Reply, for capabilities: Capabilities?, allowsClassicSignIn: Bool, at pointer: String
    ) throws(AnswerRefusal) -> Reply {
        // Only a text has files, and every device shows a text. Its body has a marker, so it is not empty.
        // Its attachments have no reference before they are uploaded, so nothing about them can be checked.
        if message.hasFiles { return message }
        if let refusal = AnswerRefusal(message.problems(), at: pointer) { throw refusal }
        guard let capabilities else { return message }
        do throws(UnsupportedMessage) {
            return try message.showable(on: capabilities, allowsClassicSignIn: allowsClassicSignIn)
        } catch {
            throw AnswerRefusal([
                .init(
                    rule: MessageRule.capability.rawValue, pointer: pointer,
                    found: capabilities.tokens.isEmpty ? "a device without capabilities" : "\(capabilities)",
                    allowed: "\(error.missing.rawValue) in capability-list, or a text in \"fallback\"",
                    passage: MessageRule.capability.passage ?? passage)
            ])
        }
    }

    static let passage = "balloon-handler/1, \"The answer\""
}

extension AnswerRefusal {
    /// The refusal of an answer that was decided after a person took the conversation.
    static let withPerson = AnswerRefusal([
        .init(
            rule: "withPerson", pointer: "", found: "an answer after a person took the conversation",
            allowed: "no answer until an event has afterPerson: the person answers this one",
            passage: CheckedAnswer.passage)
    ])
}

/// A file of a reply that cannot be read.
package struct UnreadableFile: Error {
    /// The file's position among the reply's attachments, from 0.
    let attachment: Int
    let error: SystemError

    /// Creates the error of the file at this position.
    package init(attachment: Int, error: SystemError) {
        self.attachment = attachment
        self.error = error
    }

    /// The refusal of the answer that contains the reply.
    package func refusal(
        reply: Int, maximumBytes: Int = AttachmentSettings().maximumBytes
    ) -> AnswerRefusal {
        AnswerRefusal([
            .init(
                rule: "attachmentFile", pointer: "/replies/\(reply)/attachments/\(attachment)/path",
                found: "\(error)", allowed: "a readable file of at most \(maximumBytes) bytes",
                passage: CheckedAnswer.passage)
        ])
    }
}
