import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages

/// The content of a request's file, one JSON object.
///
/// ```json
/// {"format":1,"kind":"signIn","business":"…","customer":"…","requestIdentifier":"…","entry":"57.1","phase":"open",
///  "begunAt":"…","since":"…","stateSeconds":600,"releaseSeconds":120,"payload":{…}}
/// ```
/// `kind` is `classicSignIn` for a sign-in of version 1, and `payment` for a payment. Later phases add `result`, `confirmation` and `releasedBy`. The callback removes `payload`; for a sign-in
/// of version 1, the end of Apple's event does. A payment has `deadline`, and `"busy":true` while a charge
/// may have to be reversed. A busy payment of an erased customer has `"erased":true`, or
/// `"erased":"keepPayments"` when the lines of payments stay.
enum OpenRequestText {
    private static let keepsPayments = "keepPayments"

    /// The longest time limit that a file may have, in seconds, so that no sum of times overflows.
    private static let maximumSeconds = 7 * 86_400

    static func bytes(of request: OpenRequest) -> [UInt8] {
        let erased: (any JSONWritable)? =
            if !request.isErased { nil } else if request.keepsRecords { keepsPayments } else { true }
        let object: JSONObject = [
            "format": 1, "kind": request.kind.rawValue, "business": request.business.rawValue,
            "customer": request.customer.rawValue, "requestIdentifier": request.requestIdentifier,
            "entry": "\(request.entry)", "phase": request.phase.rawValue,
            "begunAt": request.begunAt.rfc3339, "since": request.since.rfc3339,
            "stateSeconds": Int(request.stateLifetime.components.seconds),
            "releaseSeconds": Int(request.releaseLifetime.components.seconds),
            "payload": request.payload.map { JSONText($0) }, "result": request.result.map { JSONText($0) },
            "confirmation": request.confirmation, "releasedBy": request.releasedBy?.rawValue,
            "deadline": request.deadline?.rfc3339, "busy": request.isBusy ? true : nil, "erased": erased,
        ]
        return JSONWriter.object(object) + [UInt8(ascii: "\n")]
    }

    /// Reads a file; nil when it is damaged or of another version.
    static func request(in bytes: [UInt8]) -> OpenRequest? {
        // The parser's error is dropped, because the caller reports which file is damaged.
        guard let root = (try? JSONDocument(bytes))?.root, root["format"]?.int == 1,
            let kind = kind(root),
            let business = root["business"]?.string, let customer = root["customer"]?.string,
            let requestIdentifier = root["requestIdentifier"]?.string,
            let entry = root["entry"]?.string.flatMap({ ReplyID($0) }),
            let phase = root["phase"]?.string.flatMap(OpenRequest.Phase.init),
            let begunAt = root.timestamp("begunAt"), let since = root.timestamp("since"),
            let stateLifetime = seconds(root["stateSeconds"]),
            let releaseLifetime = seconds(root["releaseSeconds"])
        else { return nil }
        var request = OpenRequest(
            kind, business: BusinessID(business), customer: CustomerID(customer),
            requestIdentifier: requestIdentifier,
            entry: entry, payload: [], stateLifetime: stateLifetime, releaseLifetime: releaseLifetime,
            at: begunAt)
        (request.phase, request.since) = (phase, since)
        request.payload = root["payload"].map { Array($0.text) }
        request.result = root["result"].map { Array($0.text) }
        request.confirmation = root["confirmation"]?.string
        request.releasedBy = (root["releasedBy"]?.string).map { MessageID($0) }
        request.deadline = root.timestamp("deadline")
        request.isBusy = root["busy"]?.bool ?? false
        (request.isErased, request.keepsRecords) = (root["erased"] != nil, root["erased"]?.bool == nil)
        return request
    }

    /// The kind; earlier releases wrote `signIn` for both versions, of which only version 1 has a scalar.
    private static func kind(_ root: JSONValue) -> OpenRequest.Kind? {
        let kind = root["kind"]?.string.flatMap(OpenRequest.Kind.init)
        return kind == .signIn && root["payload"]?["scalar"] != nil ? .classicSignIn : kind
    }

    private static func seconds(_ value: JSONValue?) -> Duration? {
        guard let seconds = value?.int, (0...maximumSeconds).contains(seconds) else { return nil }
        return .seconds(seconds)
    }
}

/// The name of a request: the SHA-256 of its `state` or of its path token, in lower-case hexadecimal.
///
/// Its file is `requests/<first 2 digits>/<64 digits>.json`, so no name in the folder reveals a secret.
package struct RequestName: Hashable, Sendable {
    /// The 64 digits.
    package let digits: String

    /// Computes the name of the request with this state or path token.
    package init(of secret: String) { digits = Hex.encode(SHA256.hash(Array(secret.utf8))) }

    /// Accepts 64 lower-case hexadecimal digits; nil for anything else.
    package init?(_ digits: some StringProtocol) {
        guard digits.utf8.count == 64, digits.utf8.allSatisfy(\.isLowercaseHexDigit) else { return nil }
        self.digits = String(digits)
    }

    var folder: String { String(digits.prefix(2)) }
    var path: String { folder + "/" + digits + ".json" }
}
