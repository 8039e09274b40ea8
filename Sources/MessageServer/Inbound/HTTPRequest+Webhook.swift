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
    private static let version = HTTPFieldName("version")
    private static let deviceAgent = HTTPFieldName("device-agent")

    fileprivate static func gzip(_ request: HTTPRequest) throws(InboundRefusal) -> Bool {
        guard let codings = request.field(contentEncoding) else { return false }
        guard !request.isRepeated(contentEncoding) else { throw .repeatedCoding }
        // Apple sends only this value, so it is compared first, without splitting the field.
        if codings.isCoding("gzip") { return true }
        var isGzip = false
        for part in codings.split(separator: UInt8(ascii: ",")) {
            let coding = part.drop(while: \.isBlank)
            let name = coding[..<(coding.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? coding.startIndex)]
            if name.isEmpty || name.isCoding("identity") { continue }
            guard name.isCoding("gzip") || name.isCoding("x-gzip") else { throw .unknownCoding }
            guard !isGzip else { throw .repeatedCoding }
            isGzip = true
        }
        return isGzip
    }

    fileprivate static func envelope(_ request: HTTPRequest) -> EnvelopeHeaders {
        EnvelopeHeaders(
            id: request.field(id), sourceID: request.field(sourceID),
            destinationID: request.field(destinationID),
            capabilityList: request.field(capabilityList) ?? request.field(capabilities),
            locale: request.field(locale), intent: request.field(intent), group: request.field(group),
            version: request.field(version), deviceAgent: request.field(deviceAgent))
    }
}

extension HTTPRequest {
    /// Whether `Content-Encoding` is gzip (RFC 9110 §8.4.1.3: `x-gzip` is the same).
    ///
    /// Throws when it is another coding, or more than one.
    func isGzip() throws(InboundRefusal) -> Bool { try HTTPFieldName.gzip(self) }

    /// The headers that describe the message in the body (Apple MSP API, "Common Specifications").
    var envelopeHeaders: EnvelopeHeaders { HTTPFieldName.envelope(self) }
}

extension ArraySlice<UInt8> {
    /// Whether the bytes are the name of a content coding, which is compared without case (RFC 9110 §8.4.1).
    fileprivate func isCoding(_ name: String) -> Bool {
        elementsEqual(name.utf8) { $0 | 0x20 == $1 }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}
