/// The reason why an address that Apple named is not downloaded.
package enum DownloadRefusal: String, Error, Sendable {
    /// The address is not an absolute URL of printable ASCII with a host, or it has a fragment.
    case malformed = "it is not an absolute URL"
    /// The scheme is neither `https` nor, for a listed loopback address, `http`.
    case scheme = "it is not https"
    /// The address contains a user name or a password.
    case userInformation = "it contains a user name"
    /// The host is neither listed nor below a listed host; an unlisted IP address is refused in every spelling.
    case host = "its host is not in gateway.downloadHosts"
    /// The address names a port other than 443.
    case port = "its port is not 443"
}
