import BalloonJSON
import BusinessMessages
import HandlerKit

/// One file of the folder `businesses`.
enum BusinessFile {
    private static let keys = ["businessID", "name", "handler"]

    /// Reads a business; nil after problems were noted.
    ///
    /// `handlers` are those that were compiled in; nil leaves the binding unchecked.
    static func read(
        _ root: JSONValue, file: String, slug: String, handlers: [any HandlerFactory]?,
        noting problems: inout [ConfigurationProblem]
    ) -> (business: BusinessConfiguration, place: ConfigurationPlace)? {
        var reader = ObjectReader(root, file: file, keys: keys)
        let id = required("businessID", of: &reader)
        let name = required("name", of: &reader)
        if !reader.has("handler") { reader.problem("has no \"handler\"", hint: handlerHint) }
        let handler = reader.object("handler", keys: ["builtin", "config"]) { self.handler(&$0, handlers) }
        problems += reader.problems
        guard let businessID = id?.parsed(SettingFormat.businessID, noting: &problems),
            let name = name?.parsed(SettingFormat.name, noting: &problems), let handler, let id
        else { return nil }
        let business = BusinessConfiguration(slug: slug, businessID: businessID, name: name, handler: handler)
        return (business, id.place)
    }

    private static func required(_ key: String, of reader: inout ObjectReader) -> Setting? {
        if !reader.has(key) { reader.problem("has no \"\(key)\"", hint: "add it") }
        return reader.text(key)
    }

    private static func handler(
        _ reader: inout ObjectReader, _ handlers: [any HandlerFactory]?
    ) -> HandlerBinding? {
        let configuration = reader.anyObject("config")
        guard reader.has("builtin") else {
            reader.problem("does not say which handler", hint: handlerHint)
            return nil
        }
        guard let name = reader.text("builtin") else { return nil }
        if let handlers, name.text != HandlerBinding.none {
            check(name, configuration, among: handlers, &reader)
        }
        return .builtin(name: name.text, configuration: configuration)
    }

    /// Makes the handler once, because only its maker knows what it can be told.
    private static func check(
        _ name: Setting, _ configuration: JSONValue?, among handlers: [any HandlerFactory],
        _ reader: inout ObjectReader
    ) {
        guard let handler = handlers.first(where: { $0.name == name.text }) else {
            let known = (handlers.map(\.name) + [HandlerBinding.none]).joined(separator: ", ")
            return reader.note(name, "names no handler of this program", hint: "it has \(known)")
        }
        do {
            _ = try handler.make(configuration: configuration)
        } catch {
            reader.problem("is refused by the handler: \(error)", hint: "correct \"config\"")
        }
    }

    private static let handlerHint =
        "write {\"builtin\": \"demo\"}, or {\"builtin\": \"none\"} to only record"
}
