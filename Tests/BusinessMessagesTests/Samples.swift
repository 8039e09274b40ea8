import BalloonJSON
import BusinessMessages
import TestSupport

/// Parses a JSON text.
func json(_ text: String) throws -> JSONDocument { try JSONDocument(Array(text.utf8)) }

/// Reads the inbound fixture with this name, for example `text`.
func sample(_ name: String) throws -> JSONDocument {
    try JSONDocument(Fixture.bytes("messages/\(name).json"))
}

/// Decodes the inbound fixture with this name.
func event(_ name: String) throws -> InboundEvent { InboundEvent.decode(message: try sample(name)) }

/// Decodes a message that is given as JSON text.
func event(json text: String) throws -> InboundEvent { InboundEvent.decode(message: try json(text)) }

/// Decodes an interactive message whose `data` is this JSON text, and returns its content.
func content(data text: String) throws -> Content {
    try event(json: #"{"type":"interactive","interactiveData":{"data":\#(text)}}"#).content
}

/// The names of all inbound fixtures, without `.json`.
let sampleNames = Fixture.names(in: "messages").map { String($0.dropLast(".json".count)) }

/// The bytes as text.
func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// The error of a test whose message was decoded to another kind than expected.
struct Unexpected: Error {
    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }
}
