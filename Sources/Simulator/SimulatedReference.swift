import BalloonJSON
import BalloonWire

/// An `interactiveDataRef` of the simulator, with Apple's fields.
package struct SimulatedReference: Sendable, Equatable {
    /// The identifier of the iMessage extension.
    package var bid: String
    /// The name of the file, as a URL that is never requested.
    package var url: String
    /// The owner of the file.
    package var owner: String
    /// `00` and the key in lower-case hexadecimal digits.
    package var key: String
    /// The checksum in hexadecimal digits.
    package var signature: String
    /// The checksum in Base64.
    package var signatureBase64: String
    /// The length of the encrypted file.
    package var sizeBytes: Int
    /// The title of the bubble, or the URL of a link.
    package var title: String?

    /// The reference as a JSON object.
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 512) { writer in
            writer.field("bid", bid)
            writer.field("url", url)
            writer.field("owner", owner)
            writer.field("key", key)
            writer.field("signature", signature)
            writer.field("signature-base64", signatureBase64)
            writer.field("size", sizeBytes)
            writer.field("title", title)
        }
    }

    /// Apple's answer to a message with `include-data-ref`: the reference without its key, and with the
    /// signature `dataRefSig`.
    var answerToMessage: [UInt8] {
        JSONWriter.object(reservingCapacity: 640) { writer in
            writer.object("dataRef") { writer in
                writer.field("bid", bid)
                writer.field("owner", owner)
                writer.field("url", url)
                writer.field("size", sizeBytes)
                writer.field("signature", signature)
                writer.field("signature-base64", signatureBase64)
                writer.field("title", title)
                writer.field("dataRefSig", Base64.encode(SHA256.hash(url.utf8)))
            }
        }
    }

    /// Apple's answer to `constructPayload`.
    var answerToConstructPayload: [UInt8] {
        JSONWriter.object(reservingCapacity: 640) { writer in
            writer.field("version", "1.0")
            writer.object("richLinkDataRef") { writer in
                writer.field("title", title)
                writer.field("signature-base64", signatureBase64)
                writer.field("size", sizeBytes)
                writer.field("url", url)
                writer.field("owner", owner)
                writer.field("key", key)
            }
        }
    }
}
