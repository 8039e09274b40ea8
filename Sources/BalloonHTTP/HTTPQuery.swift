/// The decoded parameters of a query, in the order of arrival.
///
/// Browsers and client libraries write a query as `a=1&b=x+y` (`application/x-www-form-urlencoded`, WHATWG
/// URL §5.1). `+` is a space, a parameter without `=` has an empty value, and empty parameters are skipped.
package struct HTTPQuery: Sendable, Hashable {
    /// One parameter.
    package struct Parameter: Sendable, Hashable {
        /// The decoded name.
        package let name: String
        /// The decoded value; empty when there is no `=`.
        package let value: String
        /// Whether the value was sent with a `+`, which is decoded as a space.
        package let hasPlus: Bool
    }

    /// The maximum number of parameters.
    package static let maximumCount = 32
    /// The maximum bytes of a decoded name.
    package static let maximumNameBytes = 64
    /// The maximum bytes of a decoded value.
    package static let maximumValueBytes = 2048

    /// All parameters; a name may be repeated.
    package let parameters: [Parameter]

    /// Parses a query without its `?`.
    ///
    /// Throws ``HTTPRefusal/malformedTarget`` when a name or value is not UTF-8 after percent-decoding.
    /// Throws ``HTTPRefusal/parametersTooLong`` when there are too many parameters, or when a name or value
    /// is too long.
    package init(_ query: ArraySlice<UInt8>) throws(HTTPRefusal) {
        var parameters: [Parameter] = []
        for part in query.split(separator: UInt8(ascii: "&")) {
            guard parameters.count < Self.maximumCount else { throw .parametersTooLong }
            let equals = part.firstIndex(of: UInt8(ascii: "="))
            guard let name = percentDecoded(part[..<(equals ?? part.endIndex)], plusIsSpace: true),
                let value = percentDecoded(
                    part[(equals.map { $0 + 1 } ?? part.endIndex)...], plusIsSpace: true)
            else { throw .malformedTarget }
            guard name.utf8.count <= Self.maximumNameBytes, value.utf8.count <= Self.maximumValueBytes else {
                throw .parametersTooLong
            }
            let hasPlus = equals.map { part[$0...].contains(UInt8(ascii: "+")) } ?? false
            parameters.append(Parameter(name: name, value: value, hasPlus: hasPlus))
        }
        self.parameters = parameters
    }

    /// The first value of a name; nil when there is none.
    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Returns all values of a name.
    package func values(of name: String) -> [String] {
        parameters.filter { $0.name == name }.map(\.value)
    }
}
