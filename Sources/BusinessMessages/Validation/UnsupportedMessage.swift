public import BalloonJSON

/// The error for a message that the customer's device cannot show; the business should send ``fallback`` instead.
public struct UnsupportedMessage: Error, Equatable, Sendable {
    /// The missing capability of the device.
    public let missing: Capability
    /// The text of the message, to be sent instead; empty when the message contains no text.
    public let fallback: String

    /// Throws when a message needs a capability that the device does not have.
    public static func check(
        _ message: JSONValue, for capabilities: Capabilities
    ) throws(UnsupportedMessage) {
        guard let needed = message.neededCapability, !capabilities.contains(needed) else { return }
        throw UnsupportedMessage(missing: needed, fallback: message.fallbackText)
    }
}

extension JSONValue {
    /// The capability that this message needs; `nil` when every device can show it.
    var neededCapability: Capability? {
        guard let data = self["interactiveData"]?["data"] else { return nil }
        if data["quick-reply"] != nil { return .quickReply }
        if data["listPicker"] != nil { return .listPicker }
        if data["event"] != nil { return .timePicker }
        if data["dynamic"] != nil { return .form }
        guard let oauth2 = data["authenticate"]?["oauth2"] else { return nil }
        return oauth2["redirectURI"] == nil ? .authentication : .authentication2
    }

    /// The content of an interactive message as plain text: its headline, and a line for each choice.
    var fallbackText: String {
        let data = self["interactiveData"]?["data"]
        let bubble = self["interactiveData"]?["receivedMessage"]
        let question = data?["quick-reply"]?["summaryText"] ?? bubble?["title"]
        var choices = data?["quick-reply"]?["items"]?.objects ?? []
        for section in data?["listPicker"]?["sections"]?.objects ?? [] {
            choices += section["items"]?.objects ?? []
        }
        var lines = [question, bubble?["subtitle"]].compactMap { $0?.nonEmptyString }
        lines += choices.compactMap { $0["title"]?.nonEmptyString }.map { "- " + $0 }
        lines += (data?["event"]?["timeslots"]?.objects ?? []).compactMap { $0["startTime"]?.nonEmptyString }
            .map { "- " + $0 }
        return lines.joined(separator: "\n")
    }
}
