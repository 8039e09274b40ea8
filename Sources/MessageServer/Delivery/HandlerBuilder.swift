import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Logging
import RetentionClient

/// Creates the handlers of businesses without starting them, and throws all failures together.
struct HandlerBuilder: Sendable {
    let factories: [any HandlerFactory]
    let unasked: ProactiveMessages
    let logger: Logger

    /// Creates the handlers of all businesses whose handler's configuration has changed.
    ///
    /// `known` returns the fingerprint of the configuration with which a business's handler was made; nil creates the handler.
    func make(
        _ configuration: ServerConfiguration, unless known: (BusinessID) -> [UInt8]? = { _ in nil }
    ) throws(ConfigurationError) -> [BusinessHandler] {
        var handlers: [BusinessHandler] = []
        var problems: [ConfigurationProblem] = []
        for business in configuration.businesses {
            let fingerprint = fingerprint(of: business, configuration)
            if known(business.businessID) == fingerprint { continue }
            do throws(InvalidSetting) {
                handlers.append(try make(business, configuration, fingerprint))
            } catch {
                problems.add(
                    at: .file("businesses/\(business.slug).json"), error.reason, hint: error.hint)
            }
        }
        guard problems.isEmpty else { throw .problems(problems) }
        return handlers
    }

    /// Creates the handlers of all apps that have one, by slug, except those whose fingerprint equals the `known` one.
    func makeForApps(
        _ configuration: ServerConfiguration, unless known: (String) -> [UInt8]? = { _ in nil }
    ) throws(ConfigurationError) -> [String: RetentionResponder] {
        var handlers: [String: RetentionResponder] = [:]
        var problems: [ConfigurationProblem] = []
        for app in configuration.apps {
            guard let binding = app.handler else { continue }
            // A binder expects a business as the owner of a handler, so describe the app as a business.
            var owner = BusinessConfiguration(
                slug: app.slug, businessID: BusinessID(app.identity.bundleID), name: app.slug,
                handler: binding)
            (owner.directory, owner.concurrency, owner.deadline) = (
                app.directory, app.concurrency, app.budget
            )
            let fingerprint = fingerprint(of: owner, configuration)
            if known(app.slug) == fingerprint { continue }
            do throws(InvalidSetting) {
                handlers[app.slug] = try makeForApp(owner, configuration, fingerprint)
            } catch {
                problems.add(at: .file("apps/\(app.slug).json"), error.reason, hint: error.hint)
            }
        }
        guard problems.isEmpty else { throw .problems(problems) }
        return handlers
    }

    private func makeForApp(
        _ owner: BusinessConfiguration, _ configuration: ServerConfiguration, _ fingerprint: [UInt8]
    ) throws(InvalidSetting) -> RetentionResponder? {
        // A slug has no full stop, so no business has this folder.
        guard let handler = try handler(owner.handler, owner, configuration, scratch: ".app") else {
            return nil
        }
        let answering = try checked(
            handler as? any RetentionHandler, "the handler answers no retention questions",
            hint: "make it conform to RetentionHandler, or name another")
        var logger = logger
        logger[metadataKey: "app"] = "\(owner.slug)"
        let host = HandlerHost(business: owner.businessID, slug: owner.slug, logger: logger) { _, _, _ in
            throw HandlerHostError.noConversations
        }
        return RetentionResponder(
            answering, HandlerLifecycle(handler, host: host), slug: owner.slug, fingerprint: fingerprint,
            concurrency: bounds(of: owner, configuration).concurrency, logger: logger)
    }

    private func make(
        _ business: BusinessConfiguration, _ configuration: ServerConfiguration, _ fingerprint: [UInt8]
    ) throws(InvalidSetting) -> BusinessHandler {
        let (concurrency, deadline) = bounds(of: business, configuration)
        let logger = logger(for: business)
        let (unasked, id) = (unasked, business.businessID)
        let host = HandlerHost(
            business: id, slug: business.slug, logger: logger,
            withdrawPayment: { try await unasked.withdrawPayment($0, of: id) }
        ) { message, customer, key in
            try await unasked.send(message, from: id, to: customer, key: key)
        }
        let life = try handler(business.handler, business, configuration)
            .map { HandlerLifecycle($0, host: host) }
        let second: (any Handler)? =
            switch business.fallback?.answer {
            case nil: nil
            case .text(let text): CannedAnswer(text: text)
            // The handler `none` as a fallback means no fallback.
            case .handler(let binding): try handler(binding, business, configuration, scratch: "-fallback")
            }
        let fallback = second.map { handler in
            BusinessHandler.Fallback(
                life: HandlerLifecycle(handler, host: host),
                slots: HandlerSlots(maximumCount: concurrency), after: business.fallback?.after ?? .zero)
        }
        return BusinessHandler(
            business: id, slug: business.slug, fingerprint: fingerprint, life: life, fallback: fallback,
            concurrency: concurrency, deadline: deadline, logger: logger)
    }

    private func bounds(
        of business: BusinessConfiguration, _ configuration: ServerConfiguration
    ) -> (concurrency: Int, deadline: Duration) {
        let limits = configuration.limits
        return (
            business.concurrency ?? limits.handlerConcurrency, business.deadline ?? limits.handlerDeadline
        )
    }

    private func logger(for business: BusinessConfiguration) -> Logger {
        var logger = logger
        logger[metadataKey: "business"] = "\(business.businessID.rawValue)"
        if let level = business.logLevel { logger.logLevel = level }
        return logger
    }

    /// Returns all inputs of a business's handlers as bytes: equal fingerprints mean equal handlers.
    private func fingerprint(
        of business: BusinessConfiguration, _ configuration: ServerConfiguration
    ) -> [UInt8] {
        let (concurrency, deadline) = bounds(of: business, configuration)
        var parts = [Array(business.slug.utf8), Array(business.directory.utf8)]
        parts += [Array("\(concurrency) \(deadline) \(business.logLevel?.rawValue ?? "")".utf8)]
        let bindings = [business.handler] + [business.fallback?.binding].compactMap { $0 }
        for binding in bindings {
            parts.append(binding.text)
            guard case .bound(let key, let value) = binding, let binder = factories.binder(key) else {
                continue
            }
            parts.append(binder.ingredients(of: request(value, business, configuration, scratch: "")))
        }
        if case .text(let text)? = business.fallback?.answer { parts.append(Array(text.utf8)) }
        parts.append(Array("\(business.fallback?.after ?? .zero)".utf8))
        return parts.flatMap { Array("\($0.count):".utf8) + $0 }
    }

    private func request(
        _ binding: JSONValue, _ business: BusinessConfiguration, _ configuration: ServerConfiguration,
        scratch suffix: String
    ) -> HandlerBindingRequest {
        let (concurrency, deadline) = bounds(of: business, configuration)
        return HandlerBindingRequest(
            binding: binding, business: business.businessID, slug: business.slug,
            directory: business.directory,
            scratchDirectory: absolute("\(configuration.dataDirectory)/handlers/\(business.slug)\(suffix)"),
            deadline: deadline, maximumInFlight: concurrency, logger: logger(for: business))
    }

    private func handler(
        _ binding: HandlerBinding, _ business: BusinessConfiguration, _ configuration: ServerConfiguration,
        scratch suffix: String = ""
    ) throws(InvalidSetting) -> (any Handler)? {
        switch binding {
        case .builtin(HandlerBinding.none, _): return nil
        case .builtin(let name, let settings):
            return try made(name, known: factories.builtinNames) {
                try factories.builtin(name)?.make(configuration: settings)
            }
        case .bound(let key, let value):
            return try made(key, known: factories.map(\.name)) {
                try factories.binder(key)?.make(request(value, business, configuration, scratch: suffix))
            }
        }
    }

    /// Returns the handler that `make` creates, after it has checked its configuration; `make` returns nil when the
    /// program has no handler called `name`.
    private func made(
        _ name: String, known: [String], _ make: () throws -> (any Handler)?
    ) throws(InvalidSetting) -> any Handler {
        let handler: (any Handler)?
        do {
            handler = try make()
            try (handler as? any LifecycleHandler)?.validate()
        } catch {
            throw InvalidSetting(
                "the handler \"\(name)\" refuses its configuration: \(error)",
                hint: "correct the handler's \"config\"")
        }
        return try checked(
            handler, "no handler is called \"\(name)\"", hint: "use one of: \(known.joined(separator: ", "))")
    }
}

extension HandlerBinding {
    /// The binding as text, for comparison.
    fileprivate var text: [UInt8] {
        switch self {
        case .builtin(let name, let settings):
            Array("\(name) ".utf8) + (settings.map { Array($0.text) } ?? [])
        case .bound(let key, let value): Array("\(key) ".utf8) + Array(value.text)
        }
    }
}
