package import BusinessMessages

/// The request that an event, a callback or a question from outside names, and the facts that must be true of
/// it.
///
/// An identifier alone may name a request of another kind, business or customer. `agrees(with:)` is
/// the only code that compares these facts.
package struct RequestClaim: Sendable {
    /// The text from outside that names the request.
    enum Subject: Sendable {
        /// The `requestIdentifier` of an event.
        case identifier(String)
        /// The hash of a callback's secret.
        case name(RequestName)
    }

    let subject: Subject
    let business: BusinessID
    let customer: CustomerID?
    private let kind: OpenRequest.Kind

    /// Creates a claim by the identifier in the request's message.
    ///
    /// `customer` is nil only when the business itself names the request.
    package init(
        _ kind: OpenRequest.Kind, identifier: String, of business: BusinessID, _ customer: CustomerID?
    ) {
        subject = .identifier(identifier)
        (self.kind, self.business, self.customer) = (kind, business, customer)
    }

    /// Creates a claim by the hash of the request's secret; `customer` is nil when the secret stands for the
    /// customer.
    package init(
        _ kind: OpenRequest.Kind, named name: RequestName, of business: BusinessID,
        _ customer: CustomerID? = nil
    ) {
        subject = .name(name)
        (self.kind, self.business, self.customer) = (kind, business, customer)
    }

    /// Whether a request has the kind, the business and the customer of this claim.
    ///
    /// The kind of a sign-in includes its version.
    package func agrees(with request: OpenRequest) -> Bool {
        request.kind == kind && request.business == business
            && request.customer == customer ?? request.customer
    }
}

/// The answer to a ``RequestClaim``.
package enum ClaimedRequest<Value: Sendable>: Sendable {
    /// A request agrees with the claim.
    case agreed(Value)
    /// A request has the name or the identifier, but does not agree with the claim; it was not changed.
    case other
    /// There is no request with the name or the identifier.
    case unknown

    /// The value of a request that agrees; nil without one.
    package var value: Value? { if case .agreed(let value) = self { value } else { nil } }
}
