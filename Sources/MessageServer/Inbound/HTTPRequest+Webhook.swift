import BalloonHTTP
import BusinessMessages

extension HTTPFieldName {
    static let authorization = HTTPFieldName("authorization")
    private static let contentEncoding = HTTPFieldName("content-encoding")
    private static let id = HTTPFieldName("id")
    private static let sourceID = HTTPFieldName("source-id")
    private static let destinationID = HTTPFieldName("destination-id")
    private static let capabilityList = HTTPFieldName("capability-list")
    private static let capabilities = HTTPFieldName("capabilities")
    private static let locale = HTTPFieldName("locale")
    private static let intent = HTTPFieldName("intent")
    private static let group = HTTPFieldName("group")

    fileprivate static func gzip(_ request: HTTPRequest) -> Bool {
        guard let coding = request.field(contentEncoding) else { return false }
        return coding.elementsEqual("gzip".utf8, by: { $0 | 0x20 == $1 })
            || coding.elementsEqual("x-gzip".utf8, by: { $0 | 0x20 == $1 | 0x20 })
    }

    fileprivate static func envelope(_ request: HTTPRequest) -> EnvelopeHeaders {
        EnvelopeHeaders(
            id: request.field(id), sourceID: request.field(sourceID),
            destinationID: request.field(destinationID),
            capabilityList: request.field(capabilityList) ?? request.field(capabilities),
            locale: request.field(locale), intent: request.field(intent), group: request.field(group))
    }
}

extension HTTPRequest {
    /// Whether `Content-Encoding` is gzip (RFC 9110 §8.4.1.3: `x-gzip` is the same).
    var isGzip: Bool { HTTPFieldName.gzip(self) }

    /// The headers about the message (Apple MSP API, "Common Specifications").
    var envelopeHeaders: EnvelopeHeaders { HTTPFieldName.envelope(self) }
}
