import BalloonJSON
package import BusinessMessages
package import MessageStore

/// The body of `POST /conversations/claim`, `/conversations/release` and `/conversations/close`, without its
/// `job`.
///
/// A claim is `{"job":"…","business":"…","customer":"…","person":{"id":"ana","name":"Ana"},"take":true}`. A
/// release has `"to":"handler"` or `"to":"waiting"`, and optionally a `note`, instead of `person` and `take`.
package struct AssignmentRequest: Sendable {
    /// The command.
    package enum Action: String, CaseIterable, Sendable {
        case claim, release, close
    }

    /// The business of the conversation.
    package let business: BusinessID
    /// The customer of the conversation.
    package let customer: CustomerID
    /// The command.
    package let action: Action
    /// The change of the conversation's assignment.
    package let change: AssignmentChange

    /// Creates a request to claim.
    package init(_ business: BusinessID, _ customer: CustomerID, claimedBy person: Person, takes: Bool) {
        self.init(business, customer, .claim, .claim(person, takes: takes))
    }

    /// Creates a request to release.
    package init(_ business: BusinessID, _ customer: CustomerID, releasedToHandler: Bool, note: String?) {
        self.init(
            business, customer, .release,
            releasedToHandler ? .releaseToHandler(note: note) : .releaseToWaiting(note: note))
    }

    /// Creates a request to close.
    package init(closing business: BusinessID, _ customer: CustomerID) {
        self.init(business, customer, .close, .close)
    }

    private init(
        _ business: BusinessID, _ customer: CustomerID, _ action: Action, _ change: AssignmentChange
    ) {
        self.business = business
        self.customer = customer
        self.action = action
        self.change = change
    }

    /// Parses a body; nil when it is invalid.
    init?(_ action: Action, _ json: [UInt8]) {
        // A body that is not JSON names no conversation.
        guard let root = (try? JSONDocument(json))?.root, let business = root["business"]?.string,
            let customer = root["customer"]?.string
        else { return nil }
        let change: AssignmentChange
        switch action {
        case .claim:
            guard let person = Person(root["person"]) else { return nil }
            change = .claim(person, takes: root["take"]?.bool ?? false)
        case .release:
            let note = root["note"]?.string
            switch root["to"]?.string {
            case "handler": change = .releaseToHandler(note: note)
            case "waiting": change = .releaseToWaiting(note: note)
            default: return nil
            }
        case .close: change = .close
        }
        self.init(BusinessID(business), CustomerID(customer), action, change)
    }

    /// The JSON of the request, with the identifier of its job.
    package func json(job: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("job", job)
            writer.field("business", business.rawValue)
            writer.field("customer", customer.rawValue)
            switch change {
            case .claim(let person, let takes):
                writer.key("person")
                person.write(to: &writer)
                if takes { writer.field("take", true) }
            case .releaseToHandler(let note):
                writer.field("to", "handler")
                writer.field("note", note)
            case .releaseToWaiting(let note):
                writer.field("to", "waiting")
                writer.field("note", note)
            case .handOff, .silence, .unclaimed, .close, .customerClose, .customerMessage: break
            }
        }
    }

    /// Parses the answer, which is the assignment after the change; nil for any other body.
    package static func assignment(in json: [UInt8]) -> Assignment? {
        // An answer that is not JSON contains no assignment.
        (try? JSONDocument(json)).flatMap { Assignment($0.root) }
    }
}
