/// The reason why an address that Apple named is not downloaded.
package enum DownloadRefusal: Error, Sendable, Equatable {
    /// The address is not an absolute URL of printable ASCII with a host, or it has a fragment.
    case malformed
    /// The scheme is neither `https` nor, for a listed loopback address, `http`.
    case scheme
    /// The address contains a user name or a password.
    case userInformation
    /// The host is neither listed nor below a listed host; an unlisted IP address is refused in every spelling.
    case host
    /// The address names a port other than 443.
    case port
}
