import BalloonJSON
import BalloonPOSIX
import BalloonWire

/// Reads the members of one JSON object of a file and collects all problems.
///
/// The keys that were asked for are the known ones; no list of them stands elsewhere.
struct ObjectReader {
    private var problems: [ConfigurationProblem] = []
    private var keys: [String] = []
    let value: JSONValue
    private let file: String

    private init(_ value: JSONValue, file: String) {
        self.value = value
        self.file = file
    }

    /// Reads `value` with `body`, then reports each key that `body` did not ask for, and each that stands twice.
    static func read<Result>(
        _ value: JSONValue, file: String, noting problems: inout [ConfigurationProblem],
        _ body: (inout ObjectReader) -> Result
    ) -> Result {
        var reader = ObjectReader(value, file: file)
        let result = body(&reader)
        problems += reader.problemsOfKeys + reader.problems
        return result
    }

    private var problemsOfKeys: [ConfigurationProblem] {
        guard value.kind == .object else { return [problem(value, "is not an object", hint: "write { … }")] }
        var seen: Set<String> = []
        return value.members.compactMap { key, member in
            if !keys.contains(key) {
                problem(member, "is not a known key", hint: hint(for: key, among: keys))
            } else if !seen.insert(key).inserted {
                problem(member, "is given twice", hint: "keep one of them")
            } else {
                nil
            }
        }
    }

    /// The names of the object's members.
    var names: [String] { value.members.map(\.key) }

    /// Reports a problem with the object as a whole.
    mutating func problem(_ reason: String, hint: String) { report(value, reason, hint: hint) }

    /// Reports a problem for each of the keys that is absent.
    mutating func require(_ keys: String..., hint: String) {
        for key in keys where !has(key) { problem("has no \"\(key)\"", hint: hint) }
    }

    /// Reports a problem with a setting that was read here.
    mutating func report(_ setting: Setting, _ reason: String, hint: String) {
        problems.add(at: setting.place, reason, hint: hint)
    }

    /// Lets a function add problems of settings that were read here.
    mutating func noting<Result>(_ body: (inout [ConfigurationProblem]) -> Result) -> Result {
        body(&problems)
    }

    /// Returns the member `key` as a text; nil when it is absent, or after reporting a problem.
    mutating func text(_ key: String) -> Setting? { self[key].flatMap { text($0) } }

    /// Returns the member `key` in a text format; nil when it is absent, or after reporting a problem.
    mutating func value<Value>(
        _ key: String, _ format: (String) throws(InvalidSetting) -> Value
    ) -> Value? {
        text(key).flatMap { $0.parsed(format, noting: &problems) }
    }

    /// Returns the member `key` as one of the raw values of a type; nil when it is absent, or after reporting a
    /// problem.
    mutating func choice<Value: RawRepresentable<String>>(
        _ key: String, _ reason: String, hint: String
    ) -> Value? {
        value(key) { text throws(InvalidSetting) in
            try checked(Value(rawValue: text), reason, hint: hint)
        }
    }

    /// Returns the member `key` as 1 to `maximum` visible ASCII characters; nil when it is absent, or after
    /// reporting a problem.
    mutating func word(_ key: String, maximum: Int, hint: String) -> String? {
        value(key) { text throws(InvalidSetting) in
            guard (1...maximum).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw InvalidSetting("is not 1 to \(maximum) visible ASCII characters", hint: hint) }
            return text
        }
    }

    /// The member `id` of one of several objects; reports one that is already in `known`, and adds it there.
    mutating func identifier(_ known: inout Set<String>, _ reason: String, hint: String) -> String {
        let id = value("id", SettingFormat.tokenName) ?? ""
        if !id.isEmpty, !known.insert(id).inserted { problem(reason, hint: hint) }
        return id
    }

    /// Returns the member `key` as a list of texts; nil when it is absent, or after reporting a problem.
    mutating func texts(_ key: String, mayBeEmpty: Bool = false) -> [Setting]? {
        guard let member = self[key] else { return nil }
        guard member.kind == .array, member.count > 0 || mayBeEmpty else {
            report(member, "is not a list of strings", hint: "write [\"…\", \"…\"]")
            return nil
        }
        return member.elements.compactMap { text($0) }
    }

    /// Returns the member `key` as a list in a text format; nil when it is absent, and without the elements that
    /// have a problem.
    mutating func values<Value>(
        _ key: String, _ format: (String) throws(InvalidSetting) -> Value
    ) -> [Value]? {
        texts(key)?.compactMap { $0.parsed(format, noting: &problems) }
    }

    /// Returns the member `key` as a whole number within `range`; nil when it is absent, or after reporting a problem.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let member = self[key] else { return nil }
        guard let number = member.int, range.contains(number) else {
            report(
                member, "is not a whole number in its range",
                hint: "write a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// Sets `limit` to the member `key`, if it exists.
    mutating func set(_ limit: inout Int, _ key: String, in range: ClosedRange<Int>) {
        if let number = integer(key, in: range) { limit = number }
    }

    /// Sets `limit` to the member `key`, a number of units, if it exists.
    mutating func set(
        _ limit: inout Duration, _ key: String, in range: ClosedRange<Int>, of unit: Duration = .seconds(1)
    ) {
        if let number = integer(key, in: range) { limit = unit * number }
    }

    /// Sets `limit` to the member `key`, if it exists; 0 means no limit.
    mutating func set(_ limit: inout Int?, _ key: String, upTo maximum: Int) {
        if let number = integer(key, in: 0...maximum) { limit = number == 0 ? nil : number }
    }

    /// Sets `limit` to the member `key`, a number of units, if it exists; 0 means no limit.
    mutating func set(_ limit: inout Duration?, _ key: String, upTo maximum: Int, of unit: Duration) {
        if let number = integer(key, in: 0...maximum) { limit = number == 0 ? nil : unit * number }
    }

    /// Returns the member `key` as a truth value; nil when it is absent, or after reporting a problem.
    mutating func flag(_ key: String) -> Bool? {
        guard let member = self[key] else { return nil }
        guard let flag = member.bool else {
            report(member, "is neither true nor false", hint: "write true or false, without quotation marks")
            return nil
        }
        return flag
    }

    /// Reads the member `key`, an object, with `body`; nil when it is absent or no object.
    mutating func object<Result>(_ key: String, _ body: (inout ObjectReader) -> Result?) -> Result? {
        self[key].flatMap { object($0, body) }
    }

    /// Reads each element of the list `key` as an object with `body`; elements with a problem are left out.
    mutating func objects<Result>(
        _ key: String, maximum: Int, _ body: (inout ObjectReader) -> Result?
    ) -> [Result]? {
        guard let member = self[key] else { return nil }
        guard member.kind == .array, member.count <= maximum else {
            report(member, "is not a list of at most \(maximum) objects", hint: "write [{ … }, { … }]")
            return nil
        }
        return member.elements.compactMap { object($0, body) }
    }

    /// Returns the member `key`, which must be an object; nil when it is absent, or after reporting a
    /// problem.
    mutating func anyObject(_ key: String) -> JSONValue? {
        guard let member = self[key] else { return nil }
        guard member.kind == .object else {
            report(member, "is not an object", hint: "write { … }")
            return nil
        }
        return member
    }

    /// Whether the member `key` is an object.
    mutating func isObject(_ key: String) -> Bool { self[key]?.kind == .object }

    /// Whether the member `key` exists, of any kind; also makes a key known that is read elsewhere.
    @discardableResult mutating func has(_ key: String) -> Bool { self[key] != nil }

    /// Returns the bytes of the file that a setting names, relative to the folder of this file; nil after
    /// reporting a problem.
    mutating func content(
        of path: Setting, maximumBytes: Int, hint: String = "check its path and mode"
    ) -> [UInt8]? {
        do {
            return try Descriptor.open(reading: absolute(path.text)).readToEnd(maximumBytes: maximumBytes)
        } catch {
            report(path, "names a file that cannot be read: \(error)", hint: hint)
            return nil
        }
    }

    /// Returns the root certificate in the file that a setting names; nil after reporting a problem.
    mutating func rootCertificate(_ path: Setting, hint: String) -> RootCertificate? {
        guard let bytes = content(of: path, maximumBytes: 1 << 16) else { return nil }
        do { return try RootCertificate(bytes) } catch {
            report(path, "is not one root certificate", hint: hint)
            return nil
        }
    }

    /// Returns the key in the PEM file that a setting names; nil after reporting a problem.
    ///
    /// Every unusable file gets the same reason, which does not describe the format further.
    mutating func signingKey(
        _ path: Setting, _ algorithms: Set<SignatureAlgorithm>, _ reason: String, hint: String
    ) -> SigningKey? {
        let file = Setting(text: absolute(path.text), place: path.place)
        guard let text = file.parsed(ConfigurationFile.text, noting: &problems) else { return nil }
        guard let pem = try? Secret(Array((text + "\n").utf8)), let key = try? SigningKey(pem: pem),
            algorithms.contains(key.publicKey.algorithm)
        else {
            report(path, reason, hint: hint)
            return nil
        }
        return key
    }

    /// The folder of this file.
    var directory: String { Directory.parent(of: file) }

    /// A path relative to the folder of this file.
    func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : directory + "/" + path }

    private subscript(key: String) -> JSONValue? {
        mutating get {
            if !keys.contains(key) { keys.append(key) }
            return value[key]
        }
    }

    private mutating func object<Result>(
        _ member: JSONValue, _ body: (inout ObjectReader) -> Result?
    ) -> Result? {
        Self.read(member, file: file, noting: &problems) { member.kind == .object ? body(&$0) : nil }
    }

    private mutating func text(_ member: JSONValue) -> Setting? {
        guard let text = member.string else {
            report(member, "is not a string", hint: "write it in quotation marks")
            return nil
        }
        return Setting(text: text, place: place(of: member))
    }

    private mutating func report(_ value: JSONValue, _ reason: String, hint: String) {
        problems.append(problem(value, reason, hint: hint))
    }

    private func problem(_ value: JSONValue, _ reason: String, hint: String) -> ConfigurationProblem {
        ConfigurationProblem(at: place(of: value), reason, hint: hint)
    }

    private func place(of value: JSONValue) -> ConfigurationPlace {
        let (line, column) = value.position
        return .value(file: file, line: line, column: column, pointer: value.pointer)
    }
}

private func hint(for key: String, among keys: [String]) -> String {
    let known = keys.joined(separator: ", ")
    guard let nearest = nearestSpelling(to: key, among: keys) else { return "use one of the keys \(known)" }
    return "did you mean \(nearest)? The known keys are \(known)"
}
