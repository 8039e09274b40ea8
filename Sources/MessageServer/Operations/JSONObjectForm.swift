package import BalloonJSON

/// The property that a member of an object in JSON fills.
typealias MemberPath<Root, Value> = any WritableKeyPath<Root, Value> & Sendable

/// One member of an object in JSON, or several that are read and written together.
package struct JSONField<Root>: Sendable {
    /// The name and the schema of the member; empty for members that are read and written by functions.
    let described: [(name: String, schema: JSONSchema)]
    let write: @Sendable (Root, inout JSONWriter) -> Void
    /// Reads the member of an object into `Root`; returns false when the object has another form.
    let read: @Sendable (JSONValue, inout Root) -> Bool

    /// Members that are written and read by functions.
    init(
        _ described: [(name: String, schema: JSONSchema)] = [],
        write: @escaping @Sendable (Root, inout JSONWriter) -> Void,
        read: @escaping @Sendable (JSONValue, inout Root) -> Bool = { _, _ in true }
    ) {
        self.described = described
        self.write = write
        self.read = read
    }

    /// A member of one form; `get` returns nil to omit it, and `set` gets nil for a value of another form and whether the
    /// object has the member.
    private init<Value>(
        _ name: String, _ schema: JSONSchema, _ form: JSONForm<Value>,
        get: @escaping @Sendable (Root) -> Value?,
        set: @escaping @Sendable (inout Root, Value?, _ isGiven: Bool) -> Bool = { _, _, _ in true }
    ) {
        self.init(
            [(name, schema)],
            write: { root, writer in
                guard let value = get(root) else { return }
                writer.key(name)
                form.write(value, &writer)
            }, read: { object, root in set(&root, object[name].flatMap(form.read), object[name] != nil) })
    }

    /// A member that every object has.
    init<Value>(_ name: String, _ path: MemberPath<Root, Value>, _ form: JSONForm<Value>) {
        self.init(name, form.schema, form, get: { $0[keyPath: path] }) { root, value, _ in
            guard let value else { return false }
            root[keyPath: path] = value
            return true
        }
    }

    /// A member that is absent when its value is nil; a value of another form is nil, or with `isStrict` makes the object
    /// unreadable.
    init<Value>(
        _ name: String, optional path: MemberPath<Root, Value?>, _ form: JSONForm<Value>,
        isStrict: Bool = false
    ) {
        self.init(name, form.schema.optional, form, get: { $0[keyPath: path] }) { root, value, isGiven in
            root[keyPath: path] = value
            return !isStrict || value != nil || !isGiven
        }
    }

    /// A member that stands for `missing` when it is absent; it is written unless it is equal to `omitted`.
    init<Value: Equatable & Sendable>(
        _ name: String, _ path: MemberPath<Root, Value>, _ form: JSONForm<Value>,
        missing: Value, omitted: Value? = nil
    ) {
        let schema = omitted == nil ? form.schema : form.schema.optional
        self.init(
            name, schema, form, get: { $0[keyPath: path] == omitted ? nil : $0[keyPath: path] },
            set: { root, value, _ in
                root[keyPath: path] = value ?? missing
                return true
            })
    }

    /// A member whose value is an object with further members of `Root`; without it, they are read as missing.
    init(_ name: String, _ fields: [JSONField<Root>], named: String? = nil) {
        let schema = JSONSchema.object(fields.flatMap(\.described), isClosed: true)
        self.init(
            [(name, named.map { schema.named($0) } ?? schema)],
            write: { root, writer in
                writer.object(name) { writer in for field in fields { field.write(root, &writer) } }
            },
            read: { object, root in
                guard let inner = object[name] else { return true }
                return fields.allSatisfy { $0.read(inner, &root) }
            })
    }

    /// A flag that is absent when it is false.
    init(flag name: String, _ path: MemberPath<Root, Bool>) {
        self.init(name, path, .flag, missing: false, omitted: false)
    }

    /// A member that is only written.
    init<Value>(_ name: String, _ form: JSONForm<Value>, _ value: @escaping @Sendable (Root) -> Value) {
        self.init(name, form.schema, form, get: value)
    }

    /// A member that is only written; nil omits it.
    init<Value>(
        _ name: String, optional form: JSONForm<Value>, _ value: @escaping @Sendable (Root) -> Value?
    ) {
        self.init(name, form.schema.optional, form, get: value)
    }

    /// This member of an object that has more than `Root`; it is only written.
    func written<Outer>(of part: @escaping @Sendable (Outer) -> Root) -> JSONField<Outer> {
        JSONField<Outer>(described) { write(part($0), &$1) }
    }
}

/// The form of an object in JSON, as a list of its members.
package struct JSONObjectForm<Value: Sendable>: Sendable {
    private let fields: [JSONField<Value>]
    private let empty: Value?
    private let limits: JSONLimits
    private let isValid: @Sendable (Value) -> Bool

    /// Creates a form; reading begins with `empty`, and refuses a value that `isValid` refuses.
    init(
        _ empty: Value, _ fields: [JSONField<Value>], limits: JSONLimits = JSONLimits(),
        isValid: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        (self.empty, self.fields, self.limits, self.isValid) = (empty, fields, limits, isValid)
    }

    /// Creates the form of an object that is only written.
    init(written fields: [JSONField<Value>]) {
        (self.fields, empty, limits, isValid) = (fields, nil, JSONLimits(), { _ in false })
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

    /// Reads JSON; nil when it is not an object of this form.
    ///
    /// Text that is not JSON has no members.
    package func value(_ json: [UInt8]) -> Value? {
        let document = (try? JSONDocument(json, limits: limits)) ?? (try? JSONDocument(Array("{}".utf8)))
        return document.flatMap { value($0.root) }
    }

    /// The form of the whole object, as a member of another one.
    var form: JSONForm<Value> { form(named: nil) }

    /// The form of the whole object, whose schema is a component of the document if it has a name.
    func form(named name: String? = nil, isClosed: Bool = true) -> JSONForm<Value> {
        let schema = JSONSchema.object(fields.flatMap(\.described), isClosed: isClosed)
        return JSONForm(
            name.map { schema.named($0) } ?? schema,
            write: { value, writer in writer.object { write(value, to: &$0) } }, read: { value($0) })
    }

    /// An object with a list as its only member.
    static func listed<Element: Sendable>(_ name: String, _ form: JSONForm<Element>) -> JSONObjectForm
    where Value == [Element] {
        JSONObjectForm([], [JSONField(name, \.self, .list(form))])
    }
}
