import BalloonWire
import BusinessMessages

/// The plain content behind a payload reference, in a format that only `decodePayload` reads.
///
/// Apple uses a compressed binary property list. This format is compressed too and is not JSON, so that a
/// server cannot use it without a call to the gateway.
struct SimulatedPayload: Sendable {
    let business: BusinessID
    /// One JSON object.
    let interactiveData: JSONValue

    private static let magic = Array("simulated-payload-1\0".utf8)
    private static let maximumBytes = 32 << 20

    /// The payload as JSON, as ``init(json:)`` reads it.
    var json: [UInt8] {
        JSONWriter.object(["business": business.rawValue, "interactiveData": interactiveData])
    }

    /// The payload in the simulator's binary format.
    func encode() -> [UInt8] { GzipCompressor().compress(Self.magic + json) }
}

extension SimulatedPayload {
    /// Parses the format, compressed or not; nil for anything else, such as bytes decrypted with a wrong key.
    init?(decoding bytes: ArraySlice<UInt8>) {
        var plain = Array(bytes)
        if Gzip.hasMagic(bytes) {
            do {
                try GzipDecompressor().decompress(
                    bytes, into: &plain, maximumBytes: Self.maximumBytes, maximumRatio: 1100)
            } catch { return nil }
        }
        guard plain.starts(with: Self.magic) else { return nil }
        self.init(json: Array(plain.dropFirst(Self.magic.count)))
    }

    /// Parses `{"business":"…","interactiveData":{…}}`; nil when it is something else.
    init?(json: [UInt8]) {
        // A parse error is dropped, because the sender gets no details about the problem.
        guard let root = (try? JSONDocument(json))?.root, let business = root["business"]?.string,
            let interactiveData = root["interactiveData"], interactiveData.kind == .object
        else { return nil }
        self.init(business: BusinessID(business), interactiveData: interactiveData)
    }
}
