package import BalloonJSON

/// The property that a member of an object in JSON fills.
typealias MemberPath<Root, Value> = any WritableKeyPath<Root, Value> & Sendable

/// One member of an object in JSON, or several that are read and written together.
package struct JSONField<Root>: Sendable {
    let write: @Sendable (Root, inout JSONWriter) -> Void
    /// Reads the member of an object into `Root`; returns false when the object has another form.
    let read: @Sendable (JSONValue, inout Root) -> Bool

    /// Members that are written and read by functions.
    init(
        write: @escaping @Sendable (Root, inout JSONWriter) -> Void,
        read: @escaping @Sendable (JSONValue, inout Root) -> Bool = { _, _ in true }
    ) {
        self.write = write
        self.read = read
    }

    /// A member that every object has.
    init<Value>(
        _ name: String, _ path: MemberPath<Root, Value>, _ form: JSONForm<Value>
    ) {
        self.init(
            write: { root, writer in
                writer.key(name)
                form.write(root[keyPath: path], &writer)
            },
            read: { object, root in
                guard let value = object[name].flatMap(form.read) else { return false }
                root[keyPath: path] = value
                return true
            })
    }

    /// A member that is absent when its value is nil; a value of another form is nil, or with `isStrict` makes the object
    /// unreadable.
    init<Value>(
        _ name: String, optional path: MemberPath<Root, Value?>, _ form: JSONForm<Value>,
        isStrict: Bool = false
    ) {
        self.init(
            write: { root, writer in
                guard let value = root[keyPath: path] else { return }
                writer.key(name)
                form.write(value, &writer)
            },
            read: { object, root in
                let value = object[name].flatMap(form.read)
                root[keyPath: path] = value
                return !isStrict || value != nil || object[name] == nil
            })
    }

    /// A member that stands for `missing` when it is absent; it is written unless it is equal to `omitted`.
    init<Value: Equatable & Sendable>(
        _ name: String, _ path: MemberPath<Root, Value>, _ form: JSONForm<Value>,
        missing: Value, omitted: Value? = nil
    ) {
        self.init(
            write: { root, writer in
                guard root[keyPath: path] != omitted else { return }
                writer.key(name)
                form.write(root[keyPath: path], &writer)
            },
            read: { object, root in
                root[keyPath: path] = object[name].flatMap(form.read) ?? missing
                return true
            })
    }

    /// A flag that is absent when it is false.
    init(flag name: String, _ path: MemberPath<Root, Bool>) {
        self.init(name, path, .flag, missing: false, omitted: false)
    }

    /// A member that is only written; nil omits it.
    init<Value>(_ name: String, _ form: JSONForm<Value>, _ value: @escaping @Sendable (Root) -> Value?) {
        self.init(write: { root, writer in
            guard let value = value(root) else { return }
            writer.key(name)
            form.write(value, &writer)
        })
    }
}

/// The form of an object in JSON, as a list of its members.
package struct JSONObjectForm<Value: Sendable>: Sendable {
    private let fields: [JSONField<Value>]
    private let empty: Value?
    private let isValid: @Sendable (Value) -> Bool

    /// Creates a form; reading begins with `empty`, and refuses a value that `isValid` refuses.
    init(
        _ empty: Value, _ fields: [JSONField<Value>],
        isValid: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        (self.empty, self.fields, self.isValid) = (empty, fields, isValid)
    }

    /// Creates the form of an object that is only written.
    init(written fields: [JSONField<Value>]) {
        (self.fields, empty, isValid) = (fields, nil, { _ in false })
    }

    /// Writes the members of the object.
    package func write(_ value: Value, to writer: inout JSONWriter) {
        for field in fields { field.write(value, &writer) }
    }

    /// The value as JSON.
    package func json(_ value: Value) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 256) { write(value, to: &$0) }
    }

    /// Reads an object; nil when it has another form.
    package func value(_ object: JSONValue) -> Value? {
        guard var value = empty else { return nil }
        for field in fields where !field.read(object, &value) { return nil }
        return isValid(value) ? value : nil
    }

    /// Reads JSON; nil when it is not an object of this form. Text that is not JSON has no members.
    package func value(_ json: [UInt8]) -> Value? {
        guard let document = try? JSONDocument(json) else { return fields.isEmpty ? empty : nil }
        return value(document.root)
    }

    /// The form of the whole object, as a member of another one.
    var form: JSONForm<Value> {
        JSONForm(
            write: { value, writer in writer.object { write(value, to: &$0) } }, read: { value($0) })
    }
}
