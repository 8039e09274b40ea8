import BusinessMessages

/// Sample content for a customer's message of each kind, in Apple's JSON; the caller adds sender and receiver.
///
/// Each message has fresh session and request ids: a receiver treats repeated ones as a duplicate.
struct SampleMessage: Sendable {
    let session = MessageID.random().rawValue
    let request = MessageID.random().rawValue
    var text = "Good morning, is the blue bicycle still in stock?"
    /// Whether the device signs in with version 2; older devices use version 1, which sends a token.
    var hasSecondAuthentication = true

    /// The members of the body that belong to `kind`, with commas between them.
    func members(of kind: Kind) -> String {
        switch kind {
        case .text:
            #""type": "text", "body": \#(String(decoding: JSONWriter.quoted(text), as: UTF8.self)), "intent": "stock_question""#
        case .typingStart: #""type": "typing_start""#
        case .typingEnd: #""type": "typing_end""#
        case .close: #""type": "close""#
        case .app: interactive(app)
        case .quickReply: interactive(data(quickReply))
        case .listPicker: interactive(data(listPicker))
        case .timePicker: interactive(data(timePicker))
        case .form: interactive(data(form))
        case .authentication:
            hasSecondAuthentication
                ? interactive(data(#""authenticate": {"status": "success"}"#, version: "2.0"))
                : interactive(firstAuthentication)
        case .applePay: interactive(data(applePay))
        case .invitation: interactive(data(invitation))
        case .unrecognized: interactive(data(#""seatPicker": {"row": 12, "seat": "C"}"#))
        }
    }

    /// Puts the JSON on one line: Apple's messages have no line breaks between tokens.
    private func interactive(_ interactiveData: String) -> String {
        #""type": "interactive", "interactiveData": \#(interactiveData.replacing("\n", with: ""))"#
    }

    /// Wraps `members` in `data`, where Apple's own kinds have all their content.
    private func data(_ members: String, version: String = "1.0") -> String {
        """
        {"bid": "\(Interaction.businessExtension)", "sessionIdentifier": "\(session)",
         "data": {"version": "\(version)", "requestIdentifier": "\(request)", \(members)}}
        """
    }
}

extension SampleMessage {
    private var quickReply: String {
        """
        "quick-reply": {"summaryText": "When may we call you?", "selectedIndex": 1, "selectedIdentifier": "noon",
          "items": [{"identifier": "morning", "title": "In the morning"}, {"identifier": "noon", "title": "At noon"},
                    {"identifier": "evening", "title": "In the evening"}]}
        """
    }

    private var listPicker: String {
        """
        "listPicker": {"sections": [{"title": "You Selected", "order": 0, "multipleSelection": true, "items": [
            {"identifier": "apple-1", "order": 0, "style": "default", "title": "Apples", "subtitle": "One kilogram",
             "imageIdentifier": "1"},
            {"identifier": "pear-1", "order": 2, "style": "default", "title": "Pears"}]}]},
        "receivedMessage": {"style": "small", "title": "Choose your basket", "subtitle": "Picked this morning",
          "imageIdentifier": "1"},
        "replyMessage": {"style": "small", "title": "Apples, Pears", "alternateTitle": "Your basket"},
        "images": [\(image)]
        """
    }

    private var timePicker: String {
        """
        "event": {"identifier": "repair-7", "title": "Repair of your bicycle", "timezoneOffset": 120,
          "location": {"title": "Workshop", "latitude": 48.137, "longitude": 11.575, "radius": 50},
          "timeslots": [{"identifier": "slot-2", "startTime": "2026-12-10T17:00+0000", "duration": 2700}]},
        "receivedMessage": {"style": "icon", "title": "When shall we repair it?", "imageIdentifier": "1"},
        "replyMessage": {"style": "icon", "title": "10 December, 18:00"},
        "images": [\(image)]
        """
    }

    private var form: String {
        """
        "dynamic": {"template": "messageForms", "version": "1.2", "selections": [
          {"pageIdentifier": "frame", "title": "Which frame?", "subtitle": "Choose one", "items": [
            {"identifier": "frame-steel", "type": "select", "title": "Steel", "value": "steel"}]},
          {"pageIdentifier": "day", "title": "When do you need it?", "subtitle": "", "items": [
            {"identifier": "day", "type": "datePicker", "title": "12/24/2026", "value": "2026-12-24T08:00:00Z"}]},
          {"pageIdentifier": "note", "title": "Anything else?", "subtitle": "", "items": [
            {"identifier": "note", "type": "input", "title": "A bell, please", "value": "A bell, please"}]}]},
        "receivedMessage": {"style": "small", "title": "Order a bicycle", "subtitle": "Three questions",
          "imageIdentifier": "1"},
        "replyMessage": {"style": "small", "title": "Thank you", "subtitle": "Tap to see your answers",
          "imageIdentifier": "1", "alternateTitle": "Order a bicycle"},
        "images": [\(image)]
        """
    }

    /// An answer to a sign-in of version 1; its bubbles are beside `data`, as in Apple's sample.
    private var firstAuthentication: String {
        """
        {"bid": "\(Interaction.businessExtension)", "sessionIdentifier": "\(session)",
         "data": {"version": "1.0", "requestIdentifier": "\(request)",
          "authenticate": {"status": "authenticated", "token": "dG9rZW4gb2YgYSBzaW11bGF0ZWQgZGV2aWNl"},
          "images": [\(image)]},
         "receivedMessage": {"style": "icon", "title": "Sign in", "subtitle": "To see your orders", "imageIdentifier": "1"},
         "replyMessage": {"style": "icon", "title": "You signed in", "imageIdentifier": "1"}}
        """
    }

    private var applePay: String {
        """
        "payment": {"state": "paid",
          "paymentRequest": {"currencyCode": "EUR", "countryCode": "DE",
            "total": {"label": "Bicycle repair", "amount": "45.00", "type": "final"}}},
        "replyMessage": {"style": "icon", "title": "Paid with Apple Pay"}
        """
    }

    private var invitation: String {
        """
        "referenceId": "campaign-7/12",
        "notification": {"id": "yes", "displayContent": {"determinateResponse": {
          "title": "Yes, write to me here", "subtitle": "You can stop at any time", "type": {"yes": {}}}}}
        """
    }

    private var app: String {
        """
        {"bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:EQHXZ8M8AV:com.example.parcels.extension",
         "appId": 1471612309, "appName": "Parcel Locator", "sessionIdentifier": "\(session)",
         "URL": "?parcel=JD014&data=%7B%22lpDataParcels%22%3A%7B%22interactive%22%3A%7B%22response%22%3A%7B%22text%22%3A%22Leave%20it%20with%20the%20neighbour%22%7D%7D%7D%7D",
         "receivedMessage": {"title": "Where is my parcel?"}, "useLiveLayout": false}
        """
    }

    /// An image of one grey pixel.
    private var image: String {
        #"{"identifier": "1", "description": "A basket", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="}"#
    }
}
