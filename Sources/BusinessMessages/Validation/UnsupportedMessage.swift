public import BalloonJSON

/// A message that the customer's device cannot show; the business should write ``fallback`` instead.
public struct UnsupportedMessage: Error, Equatable, Sendable {
    /// What the device does not announce.
    public let missing: Capability
    /// The same in words, for a text; empty when the message says nothing.
    public let fallback: String

    /// Refuses a message, as it is sent, that needs what `capabilities` do not have.
    public static func check(
        _ message: JSONValue, for capabilities: Capabilities
    ) throws(UnsupportedMessage) {
        guard let needed = message.neededCapability, !capabilities.contains(needed) else { return }
        throw UnsupportedMessage(missing: needed, fallback: message.fallbackText)
    }
}

extension JSONValue {
    /// What a device must announce to show this message; `nil` when every device can.
    var neededCapability: Capability? {
        guard let data = self["interactiveData"]?["data"] else { return nil }
        if data["quick-reply"] != nil { return .quickReply }
        if data["listPicker"] != nil { return .listPicker }
        if data["event"] != nil { return .timePicker }
        if data["dynamic"] != nil { return .form }
        guard let oauth2 = data["authenticate"]?["oauth2"] else { return nil }
        return oauth2["redirectURI"] == nil ? .authentication : .authentication2
    }

    /// What an interactive message asks, in plain text: its headline, and a line for each choice.
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
