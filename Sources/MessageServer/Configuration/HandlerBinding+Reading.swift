import HandlerKit
import Logging

extension HandlerBinding {
    /// The keys under which `handler` binds a handler outside the program.
    private static let bindings = ["exec", "http"]
    /// The hint for a missing or unclear handler.
    static let hint =
        "write {\"builtin\": \"demo\"}, {\"exec\": [\"./bot.py\"]}, or {\"builtin\": \"none\"} to only record"

    /// Reads the object `handler`; nil after reporting problems.
    ///
    /// `handlers` are the handlers of the program; nil leaves the binding unchecked. A handler outside the
    /// program is created for `business` and `slug`, with `deadline`, to check it.
    static func read(
        _ reader: inout ObjectReader, of business: BusinessID, slug: String, deadline: Duration,
        _ handlers: [any HandlerFactory]?
    ) -> HandlerBinding? {
        let hasBuiltin = reader.has("builtin")
        let configuration = reader.anyObject("config")
        // The binder of a program reads it.
        reader.has("environment")
        let named = bindings.filter { reader.has($0) } + (hasBuiltin ? ["builtin"] : [])
        guard named.count <= 1 else {
            reader.problem("names more than one handler", hint: hint)
            return nil
        }
        if let key = named.first, key != "builtin" {
            let request = HandlerBindingRequest(
                binding: reader.value, business: business, slug: slug, directory: reader.directory,
                scratchDirectory: "", deadline: deadline, maximumInFlight: 1, logger: Logger(label: "balloon")
            )
            if let handlers { check(key, request, among: handlers, &reader) }
            return .bound(by: key, reader.value)
        }
        guard hasBuiltin else {
            reader.problem("names no handler", hint: hint)
            return nil
        }
        guard let name = reader.text("builtin") else { return nil }
        if let handlers, name.text != none {
            check(name, configuration, among: handlers, &reader)
        }
        return .builtin(name: name.text, configuration: configuration)
    }

    /// Creates the handler once, because only its factory can check its configuration.
    private static func check(
        _ name: Setting, _ configuration: JSONValue?, among handlers: [any HandlerFactory],
        _ reader: inout ObjectReader
    ) {
        guard let handler = handlers.builtin(name.text) else {
            let known = handlers.builtinNames.joined(separator: ", ")
            return reader.report(name, "is not a handler of this program", hint: "use one of: \(known)")
        }
        do {
            try (try handler.make(configuration: configuration) as? any LifecycleHandler)?.validate()
        } catch {
            reader.problem(
                "is refused by the handler: \(error)", hint: "correct the handler's member \"config\"")
        }
    }

    private static func check(
        _ key: String, _ request: HandlerBindingRequest, among handlers: [any HandlerFactory],
        _ reader: inout ObjectReader
    ) {
        guard let binder = handlers.binder(key) else {
            let known = handlers.builtinNames.map { "{\"builtin\": \"\($0)\"}" }.joined(separator: ", ")
            return reader.problem(
                "is bound by \"\(key)\", which this program cannot run",
                hint: known.isEmpty ? hint : "use one of: \(known)")
        }
        do {
            try (try binder.make(request) as? any LifecycleHandler)?.validate()
        } catch {
            reader.problem("\(error)", hint: "correct this handler's entry")
        }
    }
}
