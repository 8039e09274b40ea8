import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import Synchronization

/// Fingerprints of recent answers whose content is not stored: answers to private forms, and sign-ins.
///
/// They replace the lines of the conversation's file, which lack this content, in the search for repetitions.
/// A fingerprint is an HMAC under a key of this process, so that it reveals nothing about the answer. It is
/// never written, so after a restart no earlier answer is recognized.
final class RecentSecretAnswers: Sendable {
    private struct Answer {
        let id: MessageID
        let receivedAt: Int64
    }

    /// Two generations of ten seconds: an answer is remembered for 10 to 20 s.
    private struct State {
        var young: [[UInt8]: Answer] = [:]
        var old: [[UInt8]: Answer] = [:]
        var youngSince: Int64 = 0
    }

    /// The maximum number of answers of a generation; above it the older generation is dropped early.
    private let maximumCount: Int
    private let hmac = HMACSHA256(key: .random(byteCount: 32))
    private let state = Mutex(State())

    init(maximumCount: Int = 1 << 14) { self.maximumCount = maximumCount }

    /// Returns the message that the event repeats; nil when it repeats none, or when the event's content is
    /// stored.
    ///
    /// Remembers an event that repeats none. `event` is the event before its redaction.
    func original(of event: InboundEvent, _ message: UnrecordedMessage) -> MessageID? {
        guard let content = Self.content(of: event, message) else { return nil }
        return original(of: hmac.bytes(of: content), message.id, receivedAt: message.receivedAt.milliseconds)
    }

    func original(of fingerprint: [UInt8], _ id: MessageID, receivedAt: Int64) -> MessageID? {
        state.withLock { state in
            // The age is negative when the clock was set back; that starts a generation too.
            let age = receivedAt.subtractingReportingOverflow(state.youngSince).partialValue
            if !(0...Repetition.windowMilliseconds).contains(age) || state.young.count >= maximumCount {
                let isRecent = (0...(2 * Repetition.windowMilliseconds)).contains(age)
                state.old = isRecent ? state.young : [:]
                state.young = [:]
                state.youngSince = receivedAt
            }
            if let known = state.young[fingerprint] ?? state.old[fingerprint],
                (0...Repetition.windowMilliseconds).contains(
                    receivedAt.subtractingReportingOverflow(known.receivedAt).partialValue)
            {
                // A message with the same id is recorded again after a disk error, and does not repeat itself.
                return known.id == id ? nil : known.id
            }
            state.young[fingerprint] = Answer(id: id, receivedAt: receivedAt)
            return nil
        }
    }

    /// Returns the content that two messages have in common when one tap of the customer causes both.
    ///
    /// Nil for an event whose content is stored, and for an event that names no message of the business.
    private static func content(of event: InboundEvent, _ message: UnrecordedMessage) -> [UInt8]? {
        let interaction: Interaction
        switch event.content {
        case .form(let form) where form.isPrivate: interaction = form.interaction
        case .authentication(let authentication): interaction = authentication.interaction
        default: return nil
        }
        guard interaction.sessionIdentifier != nil || interaction.requestIdentifier != nil else { return nil }
        return JSONWriter.object(reservingCapacity: 512) { writer in
            writer.field("business", message.business.rawValue)
            writer.field("customer", message.customer.rawValue)
            writer.field("session", interaction.sessionIdentifier)
            writer.field("request", interaction.requestIdentifier)
            switch event.content {
            case .form(let form): write(form.selections, to: &writer)
            case .authentication(let authentication): write(authentication, to: &writer)
            default: break
            }
        }
    }

    private static func write(_ pages: [Form.Page], to writer: inout JSONWriter) {
        writer.key("pages")
        writer.array { writer in
            for page in pages {
                writer.object { writer in
                    writer.field("page", page.pageIdentifier)
                    writer.key("items")
                    writer.array { writer in
                        for item in page.items {
                            writer.object { writer in
                                writer.field("identifier", item.identifier)
                                writer.field("type", item.type)
                                writer.field("title", item.title)
                                writer.field("value", item.value)
                            }
                        }
                    }
                }
            }
        }
    }

    private static func write(_ authentication: Authentication, to writer: inout JSONWriter) {
        writer.field("status", authentication.status)
        writer.field("token", authentication.token)
        writer.field("error", authentication.errorCode)
        writer.key("problems")
        writer.array { writer in
            for problem in authentication.problems {
                writer.object { writer in
                    writer.field("code", problem.code)
                    writer.field("domain", problem.domain)
                    writer.field("message", problem.message)
                }
            }
        }
    }
}
