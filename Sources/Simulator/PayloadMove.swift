import BalloonJSON

/// Moves interactive data of a message behind a reference, like Apple does.
enum PayloadMove {
    /// Apple moves larger content (Apple MSP API, "Receiving an Interactive Message": 10 KB).
    static let thresholdBytes = 10 * 1024

    /// The stored part, and the part that remains in the message beside the reference.
    static func split(_ interactiveData: JSONValue) -> (stored: [UInt8], inline: [UInt8]?) {
        guard let data = interactiveData["data"], data["dynamic"]?.kind == .object else {
            return (Array(interactiveData.text), nil)
        }
        // A form's selections stay inline; the file has only the displayed part.
        let inlineNames: Set = ["version", "requestIdentifier", "dynamic"]
        let inline = object(interactiveData, keeping: { $0 == "bid" || $0 == "sessionIdentifier" }) {
            object(data, keeping: inlineNames.contains)
        }
        let stored = object(interactiveData, keeping: { $0 != "data" }) {
            object(data, keeping: { $0 != "dynamic" })
        }
        return (stored, inline)
    }

    /// Replaces the interactive data of `message` with the reference and `inline`.
    static func replace(in message: JSONValue, by reference: [UInt8], inline: [UInt8]?) -> [UInt8] {
        JSONWriter.object(reservingCapacity: message.text.count) { writer in
            for (name, value) in message.members where name != "interactiveDataRef" {
                if name == "interactiveData" {
                    guard let inline else { continue }
                    writer.key(name)
                    writer.raw(inline)
                } else {
                    writer.key(name)
                    writer.value(value)
                }
            }
            writer.key("interactiveDataRef")
            writer.raw(reference)
        }
    }

    /// The remaining members of an object; `data` replaces that member where it is given.
    private static func object(
        _ value: JSONValue, keeping isKept: (String) -> Bool, data: (() -> [UInt8])? = nil
    ) -> [UInt8] {
        JSONWriter.object(reservingCapacity: value.text.count) { writer in
            for (name, member) in value.members {
                if name == "data", let data {
                    writer.key(name)
                    writer.raw(data())
                } else if isKept(name) {
                    writer.key(name)
                    writer.value(member)
                }
            }
        }
    }
}
