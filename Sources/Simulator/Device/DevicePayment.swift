import BalloonPOSIX
package import BalloonTransport
package import BalloonWire
package import BusinessMessages

/// A simulated device that shows the payment sheet of a message and calls the endpoints that the message
/// lists.
///
/// The business's answers change the sheet; an answer that breaks Apple's rules is refused. As on a real
/// device, the payment is posted to the `initiativeContext` of the merchant session.
package struct DevicePayment: Sendable {
    /// The customer's choices at the sheet: first card, address and shipping method, in this order, then the
    /// payment.
    package struct Choice: Sendable {
        /// Whether the customer selects another card first.
        package var changesCard = false
        /// The country of another address, two letters of ISO 3166; nil to keep the first one.
        package var otherCountry: String?
        /// The identifier of another shipping method; nil to keep the first one.
        package var shippingMethod: String?
        /// Whether the customer closes the sheet instead of paying.
        package var cancels = false
        /// Whether the device cannot pay, and the customer opens the fallback page instead of the sheet.
        package var opensFallback = false
        /// Whether the customer pays with ``declinedCard``, which the bank refuses.
        package var declines = false
        /// The fault that the device shows; nil for none.
        package var fault: Fault?

        /// Creates the choice to pay at once.
        package init() {}
    }

    /// A fault of the device.
    package enum Fault: String, CaseIterable, Sendable {
        /// The authorised payment is posted twice.
        case twice
        /// The authorised payment has another shipping method than the sheet.
        case otherShippingMethod
        /// The authorised payment names another request.
        case otherRequest
    }

    /// The end of a payment, which the device's event reports.
    package struct Outcome: Sendable {
        /// The state in the event.
        package let state: ApplePay.State
        /// The first status that the payment gateway answered; nil when no answer had a status.
        package let status: String?
        /// The sum that the sheet showed last.
        package let total: String
        /// The errors in the business's answers, and the fields of these answers that broke a rule.
        package let errors: [String]
        /// The HTTP status of each answer, in order.
        package let httpStatuses: [Int]
    }

    /// The name of a card that the bank refuses; every other card is accepted.
    package static let declinedCard = "Visa 0002"
    private static let acceptedCard = "Visa 4242"

    private let request: PaymentRequest
    private let data: JSONValue
    private let payment: JSONValue
    private let issuer: PaymentTokenIssuer
    private let seconds: Int

    /// Prepares the answer to a message of a business.
    ///
    /// `issuer` signs the token at `seconds` since 1970. Throws ``DeviceAnswerError/noQuestion`` unless the
    /// message asks for a payment and has a merchant session.
    package init(
        to message: JSONDocument, issuer: PaymentTokenIssuer, at seconds: Int
    ) throws(DeviceAnswerError) {
        guard let data = message.root["interactiveData"]?["data"], let payment = data["payment"],
            payment["merchantSession"]?["initiativeContext"]?.string != nil,
            let request = PaymentRequest(sent: message.root)
        else { throw .noQuestion }
        self.request = request
        self.data = data
        self.payment = payment
        self.issuer = issuer
        self.seconds = seconds
    }

    /// Performs the customer's choices at the business's endpoints, and returns how the payment ended.
    ///
    /// The token is encrypted to `merchantKey`, the merchant's public key (SubjectPublicKeyInfo, DER);
    /// without a key the token cannot be decrypted. Throws a ``TransportError`` when an endpoint cannot be
    /// reached, and a `PaymentAnswerProblem` when the request itself breaks a rule.
    package func run(
        _ choice: Choice, merchantKey: [UInt8]? = nil, over transport: any HTTPTransport
    ) async throws -> Outcome {
        var sheet = try sheet()
        if choice.opensFallback { return try await openFallback(sheet, over: transport) }
        var selections: [Selection] = []
        if choice.changesCard { selections.append(.card) }
        if let country = choice.otherCountry { selections.append(.country(country)) }
        if let identifier = choice.shippingMethod { selections.append(.shippingMethod(identifier)) }
        for selection in selections
        where try await !select(selection, on: &sheet, over: transport) {
            return sheet.outcome(.paymentNotCompleted)
        }
        return try await finish(choice, sheet, merchantKey: merchantKey, over: transport)
    }

    /// A selection of the customer, which the device reports to the business.
    package enum Selection: Hashable, Sendable {
        /// Another card.
        case card
        /// An address in another country, two letters of ISO 3166.
        case country(String)
        /// The shipping method with this identifier.
        case shippingMethod(String)
    }

    /// The sheet when the customer opens it.
    package func sheet() throws(PaymentAnswerProblem) -> DeviceSheet {
        DeviceSheet(try PaymentSheet(request), card: Self.acceptedCard)
    }

    /// Reports a selection, and applies the answer to the sheet; returns false when the customer cannot
    /// continue.
    package func select(
        _ selection: Selection, on sheet: inout DeviceSheet, over transport: any HTTPTransport
    ) async throws -> Bool {
        let update: PaymentCallback.Kind
        switch selection {
        case .card: update = .paymentMethodUpdate
        case .country(let country):
            sheet.country = country
            update = .shippingContactUpdate
        case .shippingMethod(let identifier):
            guard sheet.select(identifier) else { return false }
            update = .shippingMethodUpdate
        }
        // A device does not call an endpoint that the message does not list.
        guard let url = payment["endpoints"]?[update.rawValue + "Url"]?.string else { return true }
        return sheet.take(try await post(sheet.body(update, identifier), to: url, over: transport), update)
    }

    /// Pays the sheet's total, or closes the sheet, as the customer chose.
    package func finish(
        _ choice: Choice, _ authorised: DeviceSheet, merchantKey: [UInt8]? = nil,
        over transport: any HTTPTransport
    ) async throws -> Outcome {
        guard !choice.cancels else { return authorised.outcome(.paymentNotCompleted) }
        var sheet = authorised
        if choice.declines { sheet.card = Self.declinedCard }
        sheet.token = try issuer.paymentData(
            sheet.plainToken, to: merchantKey,
            merchantIdentifier: payment["paymentRequest"]?["applePay"]?["merchantIdentifier"]?.string ?? "",
            signedAt: seconds)
        if choice.fault == .otherShippingMethod { sheet.selectAnother() }
        let body = sheet.body(
            .paymentGateway, choice.fault == .otherRequest ? MessageID.random().rawValue : identifier)
        let url = payment["merchantSession"]?["initiativeContext"]?.string ?? ""
        var status: String?
        for _ in 0..<(choice.fault == .twice ? 2 : 1) {
            let answer = try await post(body, to: url, over: transport)
            let isRead = sheet.take(answer, .paymentGateway)
            // Treat a body that is not JSON like a body without a status.
            let next = isRead ? (try? JSONDocument(answer.body))?.root["status"]?.string : nil
            status = status ?? next
        }
        guard status == "STATUS_SUCCESS" else {
            return sheet.outcome(status == nil ? .paymentNotCompleted : .declined, status: status)
        }
        if let url = payment["endpoints"]?["orderTrackingUrl"]?.string {
            _ = sheet.take(
                try await post(sheet.body(.orderTracking, identifier), to: url, over: transport),
                .orderTracking)
        }
        return sheet.outcome(.paid, status: status)
    }

    /// Requests the fallback page of the message, as a device that cannot pay; a browser would also follow
    /// redirects.
    private func openFallback(
        _ closed: DeviceSheet, over transport: any HTTPTransport
    ) async throws -> Outcome {
        var sheet = closed
        if let url = payment["endpoints"]?["fallbackUrl"]?.string {
            sheet.takePage(
                try await transport.send(
                    TransportRequest(method: "GET", url: url, timeout: .seconds(30), allowsPlainHTTP: true)))
        }
        return sheet.outcome(.unavailable)
    }

    private var identifier: String { data["requestIdentifier"]?.string ?? "" }

    private func post(
        _ body: [UInt8], to url: String, over transport: any HTTPTransport
    ) async throws -> TransportResponse {
        try await transport.send(
            TransportRequest(
                method: "POST", url: url, headers: [("content-type", "application/json")], body: body,
                timeout: .seconds(30), allowsPlainHTTP: true))
    }
}

extension DeviceAnswer {
    /// Pays now as `message` asks, and returns the device's event with the outcome of the payment.
    package static func paying(
        _ message: JSONDocument, _ choice: DevicePayment.Choice, over transport: any HTTPTransport
    ) async throws -> (event: DeviceAnswer, outcome: DevicePayment.Outcome) {
        let now = SystemClock.secondsSince1970()
        let payment = try DevicePayment(to: message, issuer: PaymentTokenIssuer(at: now), at: now)
        let outcome = try await payment.run(choice, over: transport)
        return (DeviceAnswer(to: try DeviceOffer(message), reporting: outcome.state), outcome)
    }
}
