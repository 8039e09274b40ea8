import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// An erasure that has begun: the file `DATA/erasing`.
///
/// The file exists from before the first change until after the last one. After a crash, the next start of
/// the store therefore completes the erasure.
///
/// `{"format":1,"through":57,"ledger":"…","keepPayments":false,`
/// `"conversations":[{"business":"…","customer":"…"}],"records":[12],"later":[59],"contents":["…"]}`
///
/// A job of an earlier release has no `later`.
struct ErasureJob: Sendable {
    let scope: ErasureScope
    /// The time up to which the lines of payments are removed; nil when all of them stay.
    let paymentsThrough: Timestamp?

    init(_ scope: ErasureScope, paymentsThrough: Timestamp?) {
        self.scope = scope
        self.paymentsThrough = paymentsThrough
    }

    /// The same job for another scope.
    func with(_ scope: ErasureScope) -> ErasureJob {
        ErasureJob(scope, paymentsThrough: paymentsThrough)
    }

    /// Parses a file's content; nil when it is damaged or of another version.
    init?(_ bytes: [UInt8]) {
        guard let root = (try? JSONDocument(bytes, limits: .journal))?.root, root["format"]?.int == 1,
            let through = root["through"]?.int.flatMap(UInt64.init(exactly:)),
            let conversations = root["conversations"]?.elements, let records = root["records"]?.elements,
            let contents = root["contents"]?.elements
        else { return nil }
        let keys = conversations.compactMap { value -> ErasedConversation? in
            guard let business = value["business"]?.string, let customer = value["customer"]?.string else {
                return nil
            }
            return ErasedConversation(business: business, customer: CustomerID(customer))
        }
        guard keys.count == conversations.count else { return nil }
        scope = ErasureScope(
            Set(keys), through: through,
            later: Set(root["later"]?.elements.compactMap { $0.int.flatMap(UInt64.init(exactly:)) } ?? []),
            subjects: Set(records.compactMap { $0.int.flatMap(UInt64.init(exactly:)) }),
            contents: Set(contents.compactMap(\.string)))
        paymentsThrough = root.timestamp("paymentsThrough")
    }

    /// The content of the file.
    var bytes: [UInt8] {
        JSONWriter.object { writer in
            writer.field("format", 1)
            writer.field("through", Int(clamping: scope.through))
            if let paymentsThrough { writer.field("paymentsThrough", paymentsThrough) }
            writer.objects("conversations", scope.conversations) { conversation, writer in
                writer.field("business", conversation.business)
                writer.field("customer", conversation.customer.rawValue)
            }
            writer.list("records", scope.subjects) { $1.int(Int(clamping: $0)) }
            writer.list("later", scope.later) { $1.int(Int(clamping: $0)) }
            writer.list("contents", scope.contents)
        } + [UInt8(ascii: "\n")]
    }
}
