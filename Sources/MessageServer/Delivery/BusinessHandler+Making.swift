import BusinessMessages
import HandlerKit

extension BusinessHandler {
    /// Makes every business's handler; all that cannot be made is reported together.
    static func make(
        _ businesses: [BusinessConfiguration], _ factories: [any HandlerFactory], _ limits: ServerLimits
    ) throws(ConfigurationError) -> [BusinessHandler] {
        var handlers: [BusinessHandler] = []
        var problems: [ConfigurationProblem] = []
        for business in businesses {
            do throws(HandlerProblem) {
                handlers.append(
                    BusinessHandler(
                        business: business.businessID, slug: business.slug,
                        handler: try handler(business.handler, factories),
                        concurrency: limits.handlerConcurrency))
            } catch {
                problems.append(ConfigurationProblem(business: business, error))
            }
        }
        guard problems.isEmpty else { throw .problems(problems) }
        return handlers
    }

    private static func handler(
        _ binding: HandlerBinding, _ factories: [any HandlerFactory]
    ) throws(HandlerProblem) -> (any Handler)? {
        switch binding {
        case .builtin(HandlerBinding.none, _): return nil
        case .builtin(let name, let configuration):
            guard let factory = factories.first(where: { $0.name == name }) else {
                throw .unknown(name: name, known: factories.map(\.name) + [HandlerBinding.none])
            }
            do { return try factory.make(configuration: configuration) } catch {
                throw .refused(name: name, reason: "\(error)")
            }
        }
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
