import BalloonJSON
import BusinessMessages
import TestSupport

/// A document from a literal.
func json(_ text: String) throws -> JSONDocument { try JSONDocument(Array(text.utf8)) }

/// A message of the fixtures, for example `text`.
func sample(_ name: String) throws -> JSONDocument {
    try JSONDocument(Fixture.bytes("messages/\(name).json"))
}

/// The event of a message of the fixtures.
func event(_ name: String) throws -> InboundEvent { InboundEvent.decode(message: try sample(name)) }

/// The event of a literal.
func event(json text: String) throws -> InboundEvent { InboundEvent.decode(message: try json(text)) }

/// The content of an interactive message whose `data` is the literal.
func content(data text: String) throws -> Content {
    try event(json: #"{"type":"interactive","interactiveData":{"data":\#(text)}}"#).content
}

/// The names of all fixtures, without their ending.
let sampleNames = Fixture.names(in: "messages").map { String($0.dropLast(".json".count)) }

/// The bytes as text.
func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// A sample is of another kind than the test expects.
struct Unexpected: Error {
    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }
}
