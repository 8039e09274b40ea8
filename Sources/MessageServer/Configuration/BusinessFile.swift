import HandlerKit
import Logging

/// One file of the folder `businesses`.
enum BusinessFile {
    /// Reads a business; nil after reporting problems.
    ///
    /// `handlers` are the handlers of the program; nil leaves the binding unchecked. Without `secrets`, `authentication`
    /// and `applePay` are not read.
    static func read(
        _ root: JSONValue, file: String, slug: String, handlers: [any HandlerFactory]?,
        secrets: BusinessSecrets? = nil, noting problems: inout [ConfigurationProblem]
    ) -> (business: BusinessConfiguration, place: ConfigurationPlace)? {
        ObjectReader.read(root, file: file, noting: &problems) {
            read(&$0, slug: slug, handlers: handlers, secrets: secrets)
        }
    }

    private static func read(
        _ reader: inout ObjectReader, slug: String, handlers: [any HandlerFactory]?, secrets: BusinessSecrets?
    ) -> (business: BusinessConfiguration, place: ConfigurationPlace)? {
        let id = required("businessID", of: &reader)
        let name = required("name", of: &reader)
        reader.require("handler", hint: HandlerBinding.hint)
        let binding = { (reader: inout ObjectReader) in
            HandlerBinding.read(
                &reader, of: BusinessID(id?.text ?? ""), slug: slug, deadline: .seconds(30), handlers)
        }
        let handler = reader.object("handler", binding)
        // Replaced below, or the business is left out.
        var business = BusinessConfiguration(
            slug: slug, businessID: BusinessID(""), name: "",
            handler: handler ?? .builtin(name: HandlerBinding.none, configuration: nil))
        business.directory = reader.directory
        business.fallback = reader.object("fallback") {
            fallback(&$0, binding)
        }
        business.people = reader.object("people", PeopleConfiguration.read)
        business.notices = reader.object("notices", NoticesConfiguration.read)
        business.opening = OpeningConfiguration.read(&reader)
        _ = reader.object("texts") { business.readTexts(&$0) }
        for key in ["authentication", "applePay"] where secrets == nil { reader.has(key) }
        if let secrets {
            business.authentication = reader.object("authentication") {
                AuthenticationConfiguration.read(&$0, secrets: secrets)
            }
            business.applePay = reader.object("applePay", ApplePayConfiguration.read)
        }
        if business.applePay?.decryption != nil, let url = reader.value["handler"]?["http"]?["url"]?.string,
            !isPrivateService(url)
        {
            reader.problem(
                "decrypts payment tokens for a service without TLS",
                hint: "give the service an address that begins with https:// or unix:, or one on this machine"
            )
        }
        business.concurrency = reader.integer("concurrency", in: 1...1024)
        business.deadline = reader.integer("deadlineSeconds", in: 1...300).map { .seconds($0) }
        business.replies = reader.object("replies", RepliesConfiguration.read) ?? business.replies
        business.links = reader.object("links", LinksConfiguration.read) ?? business.links
        if let hours = reader.integer("newAfterHours", in: 1...8760) {
            business.silence = .seconds(hours * 3600)
        }
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        business.logLevel = reader.choice("logLevel", "is not a log level", hint: "use one of \(levels)")
        business.maximumPendingMessages = reader.object("quota") {
            $0.integer("pendingMessages", in: 1...1_000_000_000)
        }
        business.retention = reader.object("retention", RetentionPeriods.read) ?? business.retention
        let checked = reader.noting { problems in
            (
                id?.parsed(SettingFormat.businessID, noting: &problems),
                name?.parsed(SettingFormat.name, noting: &problems)
            )
        }
        guard let businessID = checked.0, let name = checked.1, handler != nil, let id else { return nil }
        (business.businessID, business.name) = (businessID, name)
        return (business, id.place)
    }

    /// Whether the connection to this address is encrypted, or does not leave this machine.
    private static func isPrivateService(_ url: String) -> Bool {
        if url.hasPrefix("unix:") || url.hasPrefix("https://") { return true }
        let base = url.prefix { $0 != "?" && $0 != "#" }
        return WebAddress(String(base))?.isLoopback ?? false
    }

    private static func required(_ key: String, of reader: inout ObjectReader) -> Setting? {
        reader.require(key, hint: "add it")
        return reader.text(key)
    }

    private static func fallback(
        _ reader: inout ObjectReader, _ read: (inout ObjectReader) -> HandlerBinding?
    ) -> FallbackConfiguration? {
        let text = reader.text("text")
        let binding = reader.object("handler", read)
        var fallback = FallbackConfiguration(.text(text?.text ?? ""))
        reader.set(&fallback.after, "afterSeconds", in: 0...86400)
        guard reader.has("text") != reader.has("handler") else {
            reader.problem(
                "does not name exactly one answer", hint: "write {\"text\": \"…\"} or {\"handler\": {…}}")
            return nil
        }
        if text == nil {
            guard let binding else { return nil }
            fallback.answer = .handler(binding)
        }
        if let text, text.text.isEmpty {
            reader.report(text, "is empty", hint: "write what customers are told")
        }
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
