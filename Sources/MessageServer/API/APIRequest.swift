import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// One authenticated request for an operation, with checked parameters; a copy that stays valid after the HTTP handler
/// returns.
struct APIRequest: Sendable {
    /// The token that authenticated the request.
    let token: APIToken
    /// The complete body; empty when the operation has no body, or reads it in pieces with ``bodyReader``.
    let body: [UInt8]
    /// Reads the body in pieces; nil unless the operation's body is ``APIRoute/Body/pulled(maximumBytes:)``.
    let bodyReader: HTTPBodyReader?
    /// The tokens and businesses; a stream registers here, so that it ends when its token is removed.
    let access: APIAccess

    private let named: APIBusiness?
    private let path: [String: String]
    private let query: HTTPQuery
    private let fields: [(name: String, value: String)]
    /// The path as the client sent it.
    let target: String
    let cursors: APICursor
    /// The record numbers as the token sees them.
    let numbers: RecordNumbers

    /// Checks the parameters of a request that ``APIAccess`` admitted.
    init(
        _ request: HTTPRequest, _ route: APIRoute, token: APIToken, business: APIBusiness?, access: APIAccess,
        cursors: APICursor, numbers: RecordNumbers
    ) throws(APIProblem) {
        self.token = token
        self.access = access
        self.cursors = cursors
        self.numbers = numbers.seen(by: token)
        named = business
        target = String(decoding: request.path, as: UTF8.self)
        body = Array(request.body)
        bodyReader = request.bodyReader
        fields = request.fields
        path = try Self.pathParameters(of: request, route)
        query = try Self.query(of: request, route)
    }

    private static func pathParameters(
        of request: HTTPRequest, _ route: APIRoute
    ) throws(APIProblem) -> [String: String] {
        var path: [String: String] = [:]
        for name in APIPath.names(in: route.path) {
            // A value of the wrong form cannot name a resource, so the answer is the same as for a missing
            // resource.
            guard let value = request.parameter(name), let known = APIPath.parameter(name),
                known.format.accepts(value)
            else { throw APIProblem(.notFound, parameter: name) }
            path[name] = value
        }
        return path
    }

    private static func query(
        of request: HTTPRequest, _ route: APIRoute
    ) throws(APIProblem) -> HTTPQuery {
        let query: HTTPQuery
        do throws(HTTPRefusal) {
            query = try HTTPQuery(request.query)
        } catch {
            throw error.problem
        }
        var seen: Set<String> = []
        for parameter in query.parameters {
            let name = parameter.name
            guard let known = route.query.first(where: { $0.name == name }) else {
                throw APIProblem(.unknownParameter, parameter: name)
            }
            guard seen.insert(name).inserted || known.isRepeatable else {
                throw APIProblem(.badParameter, "the parameter is given twice", parameter: name)
            }
            guard known.format.accepts(parameter.value), !(known.format.refusesPlus && parameter.hasPlus)
            else {
                let hint = parameter.hasPlus ? "; write a plus sign as %2B, because + is a space" : ""
                throw APIProblem(
                    .badParameter, "the value is not \(known.format.description)\(hint)", parameter: name)
            }
        }
        return query
    }

    /// The business that the path names; throws `not-found` when the path of the operation names none.
    var business: APIBusiness {
        get throws(APIProblem) {
            guard let named else { throw APIProblem(.notFound) }
            return named
        }
    }

    /// The decoded value of a path's parameter; throws `not-found` when the path has none of that name.
    func path(_ name: String) throws(APIProblem) -> String {
        guard let value = path[name] else { throw APIProblem(.notFound, parameter: name) }
        return value
    }

    /// The journal record that the path names; throws `not-found` when the path names none.
    var record: UInt64 {
        get throws(APIProblem) {
            guard let number = UInt64(try path("record")) else { throw APIProblem(.notFound) }
            return numbers.record(number)
        }
    }

    /// The person for whom the request acts: the token's own, or for a token without a person the one that a body names.
    ///
    /// Throws `other-person` when the body names another person than the token, unless `mayBeOther`.
    func person(in body: JSONValue, mayBeOther: Bool = false) throws(APIProblem) -> Person? {
        let named = try body["person"].map { value throws(APIProblem) in try Person(api: value) }
        guard let own = token.person else { return named }
        if let named, named.id != own.id {
            if mayBeOther { return named }
            throw APIProblem(.otherPerson, at: body["person"] ?? body)
        }
        return own
    }

    /// Refuses what a token with a person may do only with the right `supervise`.
    func requireSupervision() throws(APIProblem) {
        guard !token.supervises else { return }
        throw APIProblem(.rightMissing, "the operation requires the right supervise")
    }

    /// The first value of a query's parameter; nil when it is absent.
    subscript(name: String) -> String? { query[name] }

    /// All values of a query's parameter.
    func values(of name: String) -> [String] { query.values(of: name) }

    /// The value of a query's parameter as a number; nil when it is absent.
    func integer(_ name: String) -> Int? { query[name].flatMap { Int($0) } }

    /// The value of a query's parameter as an instant; nil when it is absent.
    func time(_ name: String) -> Timestamp? { query[name].flatMap { Timestamp(rfc3339: $0) } }

    /// The maximum number of entries on the page: the parameter `limit`, or 50.
    var limit: Int { integer(APIParameter.limit.name) ?? 50 }

    /// The parameters of the query except `cursor` and `limit`, sorted by name.
    var filter: [HTTPQuery.Parameter] {
        query.parameters.filter { $0.name != APIParameter.cursor.name && $0.name != APIParameter.limit.name }
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
    }

    /// The value of the first header field with this name, which must be in lower case; nil without such a field.
    func field(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }

    /// The values of all header fields with this name, which must be in lower case, joined with commas; nil without
    /// any.
    func list(_ name: String) -> String? {
        let values = fields.filter { $0.name.lowercased() == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The limits of a body: one message and some values beside it.
    static let bodyLimits = JSONLimits(maximumNodes: MessageBounds.standard.values + 1000)

    /// Returns the body as a JSON object; throws when it has a repeated member, or one that is not in
    /// `members`.
    ///
    /// With `mayBeEmpty`, an empty body is an empty object.
    func object(_ members: [String], mayBeEmpty: Bool = false) throws(APIProblem) -> JSONValue {
        let body = mayBeEmpty && body.isEmpty ? Array("{}".utf8) : body
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONDocument(body, limits: Self.bodyLimits).root
        } catch {
            let (line, column) = error.position(in: body)
            var problem = APIProblem(.badJSON, error.reason)
            problem.place = APIProblem.Place(pointer: "", line: line, column: column)
            throw problem
        }
        guard root.kind == .object else { throw APIProblem(.badJSON, "the body is not an object", at: root) }
        try Self.check(root, members)
        return root
    }

    /// Refuses members of an object that are unknown or repeated.
    static func check(_ object: JSONValue, _ members: [String]) throws(APIProblem) {
        var seen: Set<String> = []
        var all = object.members
        while let (bytes, value) = all.nextWithBytes() {
            guard let name = members.first(where: { $0.utf8.elementsEqual(bytes) }) else {
                throw APIProblem(.unknownMember, at: value)
            }
            guard seen.insert(name).inserted else {
                throw APIProblem(.badMember, "the member is given twice", at: value)
            }
        }
    }
}

extension JSONValue {
    /// The member of a body as `read` reads it; throws `bad-member` with `demand`, such as "must be true or false", when it is
    /// missing or `read` returns nil.
    func needed<Value>(
        _ name: String, _ demand: String, _ read: (JSONValue) -> Value?
    ) throws(APIProblem) -> Value {
        guard let value = self[name].flatMap(read) else {
            throw APIProblem(.badMember, "\(name) \(demand)", at: self[name] ?? self)
        }
        return value
    }

    /// The member as ``needed(_:_:_:)`` returns it; nil when it is missing.
    func given<Value>(
        _ name: String, _ demand: String, _ read: (JSONValue) -> Value?
    ) throws(APIProblem) -> Value? {
        self[name] == nil ? nil : try needed(name, demand, read)
    }

    /// A flag that is false when it is missing.
    func flag(_ name: String) throws(APIProblem) -> Bool {
        try given(name, "must be true or false", \.bool) ?? false
    }
}
