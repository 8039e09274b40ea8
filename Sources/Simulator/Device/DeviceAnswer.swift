package import BusinessMessages

/// The message that a device sends when the customer answers an interactive message of a business.
///
/// It repeats the request's identifier and session, and contains only the chosen items. It lacks sender,
/// receiver and id: `SimulatedCustomer.message(completing:)` adds them.
package struct DeviceAnswer: Sendable {
    /// The message, a JSON object.
    package let json: [UInt8]

    /// Creates the answer to `offer`; throws a ``DeviceAnswerError`` with the possible choices for an
    /// impossible choice.
    ///
    /// `today` is the device's date.
    package init(
        to offer: DeviceOffer, choosing choice: DeviceChoice, today: CalendarDate = .today
    ) throws(DeviceAnswerError) {
        let interactiveData: [UInt8]
        switch offer.kind {
        case .form: interactiveData = try offer.formAnswer(choice, today: today)
        case .app: interactiveData = try offer.appAnswer(choice)
        case .invitation where try !offer.accepts(choice):
            json = offer.refusal
            return
        default: interactiveData = try offer.itemAnswer(choice)
        }
        json = Self.message(interactiveData)
    }

    /// Makes the event that reports the end of a sign-in.
    package init(to offer: DeviceOffer, reporting outcome: DeviceSignIn.Outcome) {
        switch outcome {
        case .ended(let status, let code): json = Self.message(offer.authentication(status, errorCode: code))
        case .authenticated(let token):
            json = Self.message(offer.authentication("authenticated", token: token))
        case .failed: json = Self.message(offer.authentication("failed"))
        }
    }

    /// Makes the event that reports the end of a payment.
    package init(to offer: DeviceOffer, reporting state: ApplePay.State) {
        json = Self.message(offer.paymentResult(state))
    }

    private static func message(_ interactiveData: [UInt8]) -> [UInt8] {
        JSONWriter.object(["v": 1, "type": "interactive", "interactiveData": JSONText(interactiveData)])
    }
}

extension DeviceOffer {
    /// The positions of the chosen items, at least one.
    private func positions(of choice: DeviceChoice) throws(DeviceAnswerError) -> [Int] {
        guard choice.fills.isEmpty else { throw .noPages(offered: offered) }
        guard !choice.items.isEmpty else { throw .noChoice(offered: offered) }
        let positions = try DeviceChoice.positions(of: choice.items, in: items, listed: offered)
        try checkCounts(of: positions)
        return positions
    }

    /// Whether the choice accepts an invitation, by choosing the first item, "yes".
    fileprivate func accepts(_ choice: DeviceChoice) throws(DeviceAnswerError) -> Bool {
        try positions(of: choice) == [0]
    }

    /// The message that declines an invitation.
    ///
    /// It is not interactive: it has the type `close` and names the invitation's reference.
    fileprivate var refusal: [UInt8] {
        JSONWriter.object { writer in
            writer.fields(["v": 1, "type": "close"])
            writer.array("referenceIds") { writer in if let reference { writer.string(reference) } }
        }
    }

    fileprivate func itemAnswer(_ choice: DeviceChoice) throws(DeviceAnswerError) -> [UInt8] {
        let positions = try positions(of: choice)
        let chosen = positions.map { items[$0] }
        guard let first = chosen.first, let position = positions.first else {
            throw .noChoice(offered: offered)
        }
        switch kind {
        case .quickReply: return frame { $0.quickReply(data?["quick-reply"], position, first) }
        case .listPicker:
            return frame(replyTitle: chosen.map(\.title).joined(separator: ", ")) { $0.listPicker(chosen) }
        case .timePicker: return frame(replyTitle: first.title) { $0.event(data?["event"], first) }
        case .applePay: return paymentResult(ApplePay.State(rawValue: first.title))
        case .invitation: return acceptance
        default: return authentication(first.title)
        }
    }

    /// The answer to a payment request: the payment as the business sent it, with the state added.
    fileprivate func paymentResult(_ state: ApplePay.State) -> [UInt8] {
        frame(replyTitle: bubble("replyMessage")?["title"]?.string) {
            $0.payment(data?["payment"], state: state.rawValue)
        }
    }

    /// Throws when a section without multiple selection has more than one chosen item.
    private func checkCounts(of positions: [Int]) throws(DeviceAnswerError) {
        var start = 0
        for section in sections {
            let range = start..<(start + section.items.count)
            start = range.upperBound
            guard section.isMultiple || positions.count(where: range.contains) <= 1 else {
                throw .tooManyChoices(offered: offered)
            }
        }
    }

    fileprivate func formAnswer(
        _ choice: DeviceChoice, today: CalendarDate
    ) throws(DeviceAnswerError) -> [UInt8] {
        let pages = form?.pages ?? []
        guard choice.items.isEmpty else { throw .pagesOnly(pages: pages.map(\.line)) }
        let answers = try form?.answers(choice.fills, today: today) ?? []
        let dynamic = data?["dynamic"]
        return frame(replyTitle: bubble("replyMessage")?["title"]?.string ?? question) { writer in
            writer.field(
                "dynamic",
                JSONObject([
                    "template": dynamic?["template"]?.string, "version": dynamic?["version"]?.string,
                    "private": dynamic?["data"]?["private"], "selections": answers.map(\.json),
                ]))
        }
    }

    /// The answer to an app: the chosen URL.
    ///
    /// The bubbles of an app's message are beside its URL, and the message has no `data`.
    fileprivate func appAnswer(_ choice: DeviceChoice) throws(DeviceAnswerError) -> [UInt8] {
        guard choice.fills.isEmpty, choice.items.count == 1, let url = choice.items.first, !url.isEmpty else {
            throw .noURL
        }
        return JSONWriter.object { writer in
            for (name, value) in interactiveData.members
            where !["URL", "url", "sessionIdentifier", "appIcon", "data"].contains(name) {
                writer.field(name, value)
            }
            writer.fields(["sessionIdentifier": session, "URL": url])
        }
    }

    /// The answer that accepts an invitation; its `requestIdentifier` is the invited telephone number.
    private var acceptance: [UInt8] {
        JSONWriter.object { writer in
            writeHead(to: &writer)
            let response = JSONObject(["title": "Yes", "type": JSONObject(["yes": JSONObject([:])])])
            writer.field(
                "data",
                JSONObject([
                    "version": "1.0", "requestIdentifier": address, "referenceId": reference,
                    "notification": JSONObject([
                        "id": "yes", "displayContent": JSONObject(["determinateResponse": response]),
                    ]),
                ]))
        }
    }

    /// The answer to a sign-in request, with the bubbles beside `data`, where version 1 has them.
    ///
    /// When `token` is nil, an answer of version 1 has a placeholder that no business can decrypt.
    fileprivate func authentication(
        _ status: String, token: String? = nil, errorCode: String? = nil
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writeHead(to: &writer)
            writer.object("data") { writer in
                writeData(to: &writer)
                let placeholder = Base64.encode(Array("token of a simulated device".utf8))
                let error = JSONObject([
                    "code": 1, "domain": "com.apple.messages.business",
                    "message": "The simulated customer did not sign in",
                ])
                writer.field(
                    "authenticate",
                    JSONObject([
                        "status": status, "error_code": errorCode,
                        "token": status == "authenticated" ? token ?? placeholder : nil,
                        "errors": status == "failed" ? [error] : nil,
                    ]))
                writer.field("images", data?["images"])
            }
            writer.field("receivedMessage", bubble("receivedMessage"))
            writer.field("replyMessage", bubble("replyMessage"))
        }
    }

    private var data: JSONValue? { interactiveData["data"] }

    private func bubble(_ name: String) -> JSONValue? { data?[name] ?? interactiveData[name] }

    /// Builds an answer to one of Apple's own kinds; `content` writes the members that only this kind has.
    ///
    /// Everything except `bid` and `sessionIdentifier` is inside `data`, including the bubbles.
    private func frame(replyTitle: String? = nil, _ content: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.object(reservingCapacity: interactiveData.text.count + 256) { writer in
            writeHead(to: &writer)
            writer.object("data") { writer in
                writeData(to: &writer)
                content(&writer)
                writer.fields(["images": data?["images"], "receivedMessage": bubble("receivedMessage")])
                if let replyTitle { writer.replyMessage(bubble("replyMessage"), title: replyTitle) }
            }
        }
    }

    private func writeHead(to writer: inout JSONWriter) {
        writer.field("bid", interactiveData["bid"]?.string ?? Interaction.businessExtension)
        writer.field("sessionIdentifier", session)
    }

    private func writeData(to writer: inout JSONWriter) {
        writer.field("version", (data?["version"] ?? data?["mspVersion"])?.string ?? "1.0")
        writer.field("requestIdentifier", requestIdentifier)
    }
}

extension JSONWriter {
    fileprivate mutating func quickReply(_ request: JSONValue?, _ position: Int, _ item: DeviceOffer.Item) {
        field(
            "quick-reply",
            JSONObject([
                "summaryText": request?["summaryText"], "selectedIndex": position,
                "selectedIdentifier": item.identifier, "items": request?["items"],
            ]))
    }

    /// Writes all chosen items as one section, as a device does.
    fileprivate mutating func listPicker(_ chosen: [DeviceOffer.Item]) {
        let section = JSONObject([
            "title": "You Selected", "order": 0, "multipleSelection": chosen.count > 1,
            "items": chosen.compactMap(\.source),
        ])
        field("listPicker", JSONObject(["sections": [section]]))
    }

    fileprivate mutating func event(_ event: JSONValue?, _ chosen: DeviceOffer.Item) {
        object("event") { writer in
            if let event {
                for (name, value) in event.members where name != "timeslots" { writer.field(name, value) }
            }
            let timeslot = JSONObject([
                "identifier": chosen.source?["identifier"],
                "startTime": chosen.source.flatMap(DeviceOffer.startTime(of:)),
                "duration": chosen.source?["duration"],
            ])
            writer.fields(["timeslots": [timeslot]])
        }
    }

    /// Writes the result of a payment, as in a captured message: the payment as the business sent it, with
    /// the state.
    ///
    /// Members that a stored message contains only in redacted form are left out.
    fileprivate mutating func payment(_ payment: JSONValue?, state: String) {
        object("payment") { writer in
            for (name, value) in payment?.members.map({ $0 }) ?? []
            where name != "state" && value.string != InboundEvent.redactedText {
                writer.field(name, value)
            }
            writer.field("state", state)
        }
    }

    /// Writes the bubble of the answer: the bubble that the business sent, with the choice as its title.
    fileprivate mutating func replyMessage(_ bubble: JSONValue?, title: String) {
        object("replyMessage") { writer in
            writer.fields(["title": title, "alternateTitle": bubble?["title"]])
            guard let bubble else { return }
            for (name, value) in bubble.members where name != "title" && name != "alternateTitle" {
                writer.field(name, value)
            }
        }
    }
}

extension DeviceForm.Answer {
    fileprivate var json: JSONObject {
        let items = items.map { item in
            JSONObject([
                "identifier": item.identifier, "type": page.type, "title": item.title, "value": item.value,
            ])
        }
        return [
            "pageIdentifier": page.identifier, "title": page.title ?? "", "subtitle": page.subtitle ?? "",
            "items": items,
        ]
    }
}
