import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The form of a value in JSON: how it is written, read, and described.
package struct JSONForm<Value>: Sendable {
    let schema: JSONSchema
    let write: @Sendable (Value, inout JSONWriter) -> Void
    /// Returns nil for JSON of another form.
    let read: @Sendable (JSONValue) -> Value?

    init(
        _ schema: JSONSchema = "{}", write: @escaping @Sendable (Value, inout JSONWriter) -> Void,
        read: @escaping @Sendable (JSONValue) -> Value? = { _ in nil }
    ) {
        self.schema = schema
        self.write = write
        self.read = read
    }

    /// A form that is another form of `Inner`.
    init<Inner>(
        _ inner: JSONForm<Inner>, schema: JSONSchema? = nil,
        _ value: @escaping @Sendable (Inner) -> Value?, _ text: @escaping @Sendable (Value) -> Inner
    ) {
        self.init(
            schema ?? inner.schema, write: { inner.write(text($0), &$1) },
            read: { inner.read($0).flatMap(value) })
    }

    /// A list; every element must have the form.
    static func list<Element>(_ form: JSONForm<Element>) -> JSONForm<[Element]> where Value == [Element] {
        JSONForm(
            .list(form.schema),
            write: { elements, writer in
                writer.array { writer in for element in elements { form.write(element, &writer) } }
            },
            read: { value in
                guard value.kind == .array else { return nil }
                let elements = value.elements.compactMap(form.read)
                return elements.count == value.count ? elements : nil
            })
    }

    /// An object with a list as its only member.
    static func listed<Element: Sendable>(_ name: String, _ form: JSONForm<Element>) -> JSONForm
    where Value == [Element] { JSONObjectForm.listed(name, form).form }

    /// The value as JSON.
    package func json(_ value: Value) -> [UInt8] {
        JSONWriter.value(reservingCapacity: 1024) { write(value, &$0) }
    }
}

extension JSONForm<String> {
    /// A SHA-256 in lower-case hexadecimal.
    static let hash = JSONForm(.text, schema: .hash, { $0 }, { $0 })
    static let text = JSONForm(.text, write: { $1.string($0) }, read: \.string)

    /// One of these texts.
    static func choice(_ values: [String]) -> JSONForm {
        JSONForm(.text, schema: .choice(values), { $0 }, { $0 })
    }
}

extension JSONForm<Bool> {
    static let flag = JSONForm(.flag, write: { $1.bool($0) }, read: \.bool)
}

extension JSONForm<Int> {
    static let integer = JSONForm(.count, write: { $1.int($0) }, read: \.int)
}

extension JSONForm<Double> {
    static let number = JSONForm(.number, write: { $1.double($0) }, read: \.double)
}

extension JSONForm<UInt64> {
    /// The number of a journal record.
    static let record = JSONForm(.integer, { UInt64(exactly: $0) }, { Int(clamping: $0) })
}

extension JSONForm<Timestamp> {
    static let time = JSONForm(.text, schema: .time, { Timestamp(rfc3339: $0) }, \.rfc3339)
}

extension JSONForm<BusinessID> {
    static let business = JSONForm(.text, { BusinessID($0) }, \.rawValue)
}

extension JSONForm<CustomerID> {
    static let customer = JSONForm(.text, { CustomerID($0) }, \.rawValue)
}

extension JSONForm<MessageID> {
    static let message = JSONForm(.text, { MessageID($0) }, \.rawValue)
}

extension JSONForm<[UInt8]> {
    /// JSON that is kept as it is.
    static let raw = JSONForm(write: { $1.raw($0) }, read: { Array($0.text) })
    /// An object that is kept as it is.
    static let object = JSONForm(raw, schema: .anyObject, { $0 }, { $0 })
}

extension JSONForm<ReplyID> {
    static let reply = JSONForm(.text, { ReplyID($0) }, { "\($0)" })
}

extension JSONForm<JSONValue> {
    /// A value of a document, with this schema.
    static func value(_ schema: JSONSchema) -> JSONForm {
        JSONForm(schema, write: { $1.value($0) }, read: { $0 })
    }
}

extension JSONForm where Value: JSONWritable & SendableMetatype {
    /// A value that is not read, and writes itself.
    static func written(_ schema: JSONSchema) -> JSONForm {
        JSONForm(schema, write: { $0.write(to: &$1) })
    }
}

extension JSONForm<Person> {
    static let person = JSONForm(.anyObject, write: { $0.write(to: &$1) }, read: { Person($0) })
}

extension JSONForm where Value: RawRepresentable & SendableMetatype, Value.RawValue == String {
    /// One of the words of an enumeration.
    static var word: JSONForm { JSONForm(.text, { Value(rawValue: $0) }, \.rawValue) }
}
