import BalloonJSON

/// Moves interactive data of a message behind a reference, like Apple does.
enum PayloadMove {
    /// Apple moves content that is larger than this behind a reference (Apple MSP API, "Receiving an
    /// Interactive Message": 10 KB).
    static let thresholdBytes = 10 * 1024

    /// Returns the part to store, and the part that remains in the message beside the reference; `inline` is
    /// nil when nothing remains.
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
                    writer.raw(name, inline)
                } else {
                    writer.field(name, value)
                }
            }
            writer.raw("interactiveDataRef", reference)
        }
    }

    /// An object with the members of `value` whose names `isKept` accepts; when `data` is given, its result
    /// replaces the member `data`.
    private static func object(
        _ value: JSONValue, keeping isKept: (String) -> Bool, data: (() -> [UInt8])? = nil
    ) -> [UInt8] {
        JSONWriter.object(reservingCapacity: value.text.count) { writer in
            for (name, member) in value.members {
                if name == "data", let data {
                    writer.raw(name, data())
                } else if isKept(name) {
                    writer.field(name, member)
                }
            }
        }
    }
}
