/// Why an address that Apple named is not fetched.
package enum DownloadRefusal: Error, Sendable, Equatable {
    /// It is no absolute URL of printable ASCII with a host, or it has a fragment.
    case malformed
    /// It is neither `https` nor, towards a listed loopback address, `http`.
    case scheme
    /// It carries a user name or a password.
    case userInformation
    /// Its host is neither on the list nor below one that is; an IP address never is, however it is spelled.
    case host
    /// It names a port other than 443.
    case port
}
