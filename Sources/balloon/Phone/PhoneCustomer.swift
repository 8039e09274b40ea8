import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageServer

/// A customer of the phone with a device, as `/dev/v1/customers` describes it.
struct PhoneCustomer: Sendable, Equatable {
    private static let maximumText = 256

    let id: CustomerID
    var business: BusinessID
    var name: String
    var device = DeviceOptions.Device.iphone
    var locale = "en_US"
    var zone = "UTC"
    var intent: String?
    var group: String?

    /// A new opaque identity, in the form of Apple's.
    static func randomID() -> CustomerID { CustomerID("urn:mbid:AQAA" + Base64.encode(randomBytes(18))) }

    /// Changes the members that an object has; throws a problem with the first invalid one.
    mutating func change(by object: JSONValue) throws(InspectorProblem) {
        if let text = try Self.text(object["name"]) { name = text }
        if let text = try Self.text(object["locale"]) { locale = text }
        if let text = try Self.text(object["zone"]) { zone = text }
        if object["intent"] != nil { intent = try Self.text(object["intent"]) }
        if object["group"] != nil { group = try Self.text(object["group"]) }
        guard let value = object["device"] else { return }
        guard let device = value.string.flatMap(DeviceOptions.Device.init(_:)) else {
            throw InspectorProblem(
                .badRequest, "the device is unknown", pointer: value.pointer,
                offered: DeviceOptions.Device.allCases.map(\.rawValue))
        }
        self.device = device
    }

    /// A text that is not empty; nil for an absent, null or empty one.
    static func text(_ value: JSONValue?) throws(InspectorProblem) -> String? {
        guard let value, value.kind != .null else { return nil }
        guard let text = value.string, text.utf8.count <= maximumText else {
            throw InspectorProblem("this must be a text of at most \(maximumText) bytes", at: value)
        }
        return text.isEmpty ? nil : text
    }

    /// Writes the members; `slug` and `last` only for the API.
    func write(to writer: inout JSONWriter, slug: String? = nil, last: Int? = nil) {
        writer.object { writer in
            writer.fields([
                "id": id.rawValue, "business": slug, "businessID": business.rawValue, "name": name,
                "device": device.rawValue, "locale": locale, "zone": zone, "intent": intent, "group": group,
            ])
            guard let last else { return }
            writer.fields(["capabilities": device.capabilities.tokens.map(\.rawValue), "last": last])
        }
    }
}

extension PhoneCustomer {
    /// Reads a customer of the file; nil when it is malformed.
    init?(_ object: JSONValue) {
        guard let id = object["id"]?.string, let business = object["businessID"]?.string else { return nil }
        self.init(id: CustomerID(id), business: BusinessID(business), name: "")
        // Only this program writes the file.
        guard (try? change(by: object)) != nil else { return nil }
    }
}
