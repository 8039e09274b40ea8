import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Logging

extension BusinessHandler {
    /// Makes every business's handler, and starts none; all that cannot be made is reported together.
    static func make(
        _ businesses: [BusinessConfiguration], _ factories: [any HandlerFactory],
        _ configuration: ServerConfiguration, _ logger: Logger
    ) throws(ConfigurationError) -> [BusinessHandler] {
        var handlers: [BusinessHandler] = []
        var problems: [ConfigurationProblem] = []
        for business in businesses {
            do throws(HandlerProblem) {
                let limits = configuration.limits
                let concurrency = business.concurrency ?? limits.handlerConcurrency
                let deadline = business.deadline ?? limits.handlerDeadline
                var logger = logger
                logger[metadataKey: "business"] = "\(business.businessID.rawValue)"
                let request = { (binding: JSONValue) in
                    HandlerBindingRequest(
                        binding: binding, business: business.businessID, slug: business.slug,
                        directory: business.directory,
                        scratchDirectory: absolute(
                            "\(configuration.dataDirectory)/handlers/\(business.slug)"),
                        deadline: deadline, maximumInFlight: concurrency, logger: logger)
                }
                handlers.append(
                    BusinessHandler(
                        business: business.businessID, slug: business.slug,
                        handler: try handler(business.handler, factories, request),
                        concurrency: concurrency, deadline: deadline))
            } catch {
                problems.append(ConfigurationProblem(business: business, error))
            }
        }
        guard problems.isEmpty else { throw .problems(problems) }
        return handlers
    }

    private static func handler(
        _ binding: HandlerBinding, _ factories: [any HandlerFactory],
        _ request: (JSONValue) -> HandlerBindingRequest
    ) throws(HandlerProblem) -> (any Handler)? {
        switch binding {
        case .builtin(HandlerBinding.none, _): return nil
        case .builtin(let name, let configuration):
            guard let factory = factories.builtin(name) else {
                throw .unknown(name: name, known: factories.builtinNames)
            }
            do { return try factory.make(configuration: configuration) } catch {
                throw .refused(name: name, reason: "\(error)")
            }
        case .bound(let key, let binding):
            guard let binder = factories.binder(key) else {
                throw .unknown(name: key, known: factories.map(\.name))
            }
            do { return try binder.make(request(binding)) } catch {
                throw .refused(name: key, reason: "\(error)")
            }
        }
    }

    /// A child has a working directory of its own.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = try? ProcessPaths.workingDirectory() else { return path }
        return directory + "/" + path
    }
}

/// Why a business has no handler.
enum HandlerProblem: Error, Sendable {
    /// No handler of that name was compiled in.
    case unknown(name: String, known: [String])
    /// The handler does not take the business's configuration.
    case refused(name: String, reason: String)
}

extension ConfigurationProblem {
    fileprivate init(business: BusinessConfiguration, _ problem: HandlerProblem) {
        let place = ConfigurationPlace.file("businesses/\(business.slug).json")
        switch problem {
        case .unknown(let name, let known):
            self.init(
                at: place, "no handler is called \"\(name)\"",
                hint: "use one of: \(known.joined(separator: ", "))")
        case .refused(let name, let reason):
            self.init(
                at: place, "the handler \"\(name)\" refuses its configuration: \(reason)",
                hint: "correct the handler's \"config\"")
        }
    }
}
