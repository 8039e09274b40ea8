import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Logging

/// One file of the folder `businesses`.
enum BusinessFile {
    private static let keys = [
        "businessID", "name", "handler", "fallback", "people", "authentication", "applePay",
        "concurrency", "deadlineSeconds", "logLevel", "quota", "retention",
    ]
    private static let fallbackKeys = ["text", "handler", "afterSeconds"]

    /// Reads a business; nil after reporting problems.
    ///
    /// `handlers` are the handlers of the program; nil leaves the binding unchecked. Without `secrets`, `authentication`
    /// and `applePay` are not read.
    static func read(
        _ root: JSONValue, file: String, slug: String, handlers: [any HandlerFactory]?,
        secrets: BusinessSecrets? = nil, noting problems: inout [ConfigurationProblem]
    ) -> (business: BusinessConfiguration, place: ConfigurationPlace)? {
        var reader = ObjectReader(root, file: file, keys: keys)
        let id = required("businessID", of: &reader)
        let name = required("name", of: &reader)
        if !reader.has("handler") { reader.problem("has no \"handler\"", hint: HandlerBinding.hint) }
        let request = { (binding: JSONValue) in
            HandlerBindingRequest(
                binding: binding, business: BusinessID(id?.text ?? ""), slug: slug,
                directory: Directory.parent(of: file), scratchDirectory: "", deadline: .seconds(30),
                maximumInFlight: 1, logger: Logger(label: "balloon"))
        }
        let object = root["handler"]
        let handler = reader.object("handler", keys: HandlerBinding.keys) { reader in
            HandlerBinding.read(&reader, object.map(request), handlers)
        }
        let fallback = reader.object("fallback", keys: fallbackKeys) { reader in
            self.fallback(&reader, root["fallback"]?["handler"].map(request), handlers)
        }
        let people = reader.object("people", keys: PeopleConfiguration.keys) { PeopleConfiguration.read(&$0) }
        let directory = Directory.parent(of: file)
        let authentication = secrets.flatMap { secrets in
            reader.object("authentication", keys: AuthenticationConfiguration.keys) {
                AuthenticationConfiguration.read(&$0, directory: directory, secrets: secrets)
            }
        }
        let applePay =
            secrets == nil
            ? nil
            : reader.object("applePay", keys: ApplePayConfiguration.keys) {
                ApplePayConfiguration.read(&$0, directory: directory)
            }
        if applePay?.decryption != nil, let url = root["handler"]?["http"]?["url"]?.string,
            !isPrivateService(url)
        {
            reader.problem(
                "decrypts payment tokens for a service without TLS",
                hint: "give the service an address that begins with https:// or unix:, or one on this machine"
            )
        }
        let logLevel = level(&reader)
        let concurrency = reader.integer("concurrency", in: 1...1024)
        let deadline = reader.integer("deadlineSeconds", in: 1...300)
        let quota = reader.object("quota", keys: ["pendingMessages"]) {
            $0.integer("pendingMessages", in: 1...1_000_000_000)
        }
        let retention = reader.object("retention", keys: RetentionPeriods.keys) {
            RetentionPeriods.read(&$0)
        }
        problems += reader.problems
        guard let businessID = id?.parsed(SettingFormat.businessID, noting: &problems),
            let name = name?.parsed(SettingFormat.name, noting: &problems), let handler, let id
        else { return nil }
        var business = BusinessConfiguration(slug: slug, businessID: businessID, name: name, handler: handler)
        business.directory = directory
        business.authentication = authentication
        business.applePay = applePay
        business.fallback = fallback
        business.people = people
        business.logLevel = logLevel
        business.concurrency = concurrency
        business.maximumPendingMessages = quota
        business.retention = retention ?? RetentionPeriods()
        business.deadline = deadline.map { .seconds($0) }
        return (business, id.place)
    }

    /// Whether the connection to this address is encrypted, or does not leave this machine.
    private static func isPrivateService(_ url: String) -> Bool {
        if url.hasPrefix("unix:") || url.hasPrefix("https://") { return true }
        let base = url.prefix { $0 != "?" && $0 != "#" }
        return WebAddress(String(base))?.isLoopback ?? false
    }

    private static func required(_ key: String, of reader: inout ObjectReader) -> Setting? {
        if !reader.has(key) { reader.problem("has no \"\(key)\"", hint: "add it") }
        return reader.text(key)
    }

    private static func level(_ reader: inout ObjectReader) -> Logger.Level? {
        guard let text = reader.text("logLevel") else { return nil }
        let level = Logger.Level(rawValue: text.text)
        if level == nil {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            reader.report(text, "is not a log level", hint: "use one of \(levels)")
        }
        return level
    }

    private static func fallback(
        _ reader: inout ObjectReader, _ request: HandlerBindingRequest?, _ handlers: [any HandlerFactory]?
    ) -> FallbackConfiguration? {
        let text = reader.text("text")
        let binding = reader.object("handler", keys: HandlerBinding.keys) {
            HandlerBinding.read(&$0, request, handlers)
        }
        let after = reader.integer("afterSeconds", in: 0...86400)
        guard reader.has("text") != reader.has("handler") else {
            reader.problem(
                "does not name exactly one answer", hint: "write {\"text\": \"…\"} or {\"handler\": {…}}")
            return nil
        }
        guard
            let answer = text.map({ .text($0.text) })
                ?? binding.map({ FallbackConfiguration.Answer.handler($0) })
        else { return nil }
        if let text, text.text.isEmpty {
            reader.report(text, "is empty", hint: "write what customers are told")
        }
        var fallback = FallbackConfiguration(answer)
        fallback.after = after.map { .seconds($0) } ?? fallback.after
        return fallback
    }
}

extension [any HandlerFactory] {
    /// The handler named by `{"builtin": name}`.
    func builtin(_ name: String) -> (any HandlerFactory)? {
        first { $0.name == name && !($0 is any HandlerBinder) }
    }

    /// The names that `builtin` accepts.
    var builtinNames: [String] {
        filter { !($0 is any HandlerBinder) }.map(\.name) + [HandlerBinding.none]
    }

    /// Returns the binder that creates handlers from `{key: …}`.
    func binder(_ key: String) -> (any HandlerBinder)? {
        compactMap { $0 as? any HandlerBinder }.first { $0.name == key }
    }
}
