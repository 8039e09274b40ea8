import BalloonJSON
import BalloonWire
import BusinessMessages

/// What is behind a payload reference before it is encrypted: a format that only `decodePayload` reads.
///
/// Apple's is a compressed binary property list. Ours is compressed too and no JSON, so that nobody can pass it on
/// without asking the gateway.
struct SimulatedPayload: Sendable {
    let business: BusinessID
    /// One JSON object.
    let interactiveData: JSONValue

    private static let magic = Array("simulated-payload-1\0".utf8)
    private static let maximumBytes = 32 << 20

    init(business: BusinessID, interactiveData: JSONValue) {
        self.business = business
        self.interactiveData = interactiveData
    }

    /// Reads the format, compressed or not; nil for anything else, as what was decrypted with a wrong key.
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

    /// Reads `{"business":"…","interactiveData":{…}}`; nil when it is something else.
    init?(json: [UInt8]) {
        // What is wrong with it is of no use to who sent it.
        guard let root = (try? JSONDocument(json))?.root, let business = root["business"]?.string,
            let interactiveData = root["interactiveData"], interactiveData.kind == .object
        else { return nil }
        self.init(business: BusinessID(business), interactiveData: interactiveData)
    }

    /// Writes what ``init(json:)`` reads.
    var json: [UInt8] {
        JSONWriter.object(reservingCapacity: interactiveData.text.count + 128) { writer in
            writer.field("business", business.rawValue)
            writer.field("interactiveData", interactiveData)
        }
    }

    /// Writes the format.
    func encode() -> [UInt8] { GzipCompressor().compress(Self.magic + json) }
}
