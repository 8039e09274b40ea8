import BalloonJSON
internal import COpenSSL

/// A certificate and its private key, issued by a simulation; only the simulation trusts the certificate.
package struct IssuedCertificate: Sendable {
    /// The properties of a certificate to issue.
    package struct Request: Sendable {
        /// The kind of the certificate's key.
        package enum Key: String, Sendable {
            /// ECDSA on P-256.
            case p256 = "P-256"
            /// ECDSA on P-384.
            case p384 = "P-384"
            /// RSA of 2,048 bits, which takes 50 to 500 ms to create.
            case rsa = "RSA"
        }

        /// The common name of the subject.
        package var name: String
        /// The kind of the new key.
        package var key: Key
        /// The digest of the issuer's signature, by OpenSSL's name.
        package var digest = "SHA256"
        /// The object identifier of an extension whose value is ASN.1 NULL; nil for no extension.
        package var extensionID: String?
        /// The names of a server, in OpenSSL's form such as `IP:127.0.0.1`; nil for none.
        package var serverNames: String?
        /// Whether the certificate may issue others.
        package var isAuthority: Bool
        /// The validity in whole seconds since 1970.
        package var validity: ClosedRange<Int>

        /// Creates a request.
        package init(
            name: String, key: Key, extensionID: String? = nil, serverNames: String? = nil,
            isAuthority: Bool, validity: ClosedRange<Int>
        ) {
            self.name = name
            self.key = key
            self.extensionID = extensionID
            self.serverNames = serverNames
            self.isAuthority = isAuthority
            self.validity = validity
        }
    }

    /// The certificate as DER.
    package let der: [UInt8]
    /// The key as PKCS#8 PEM.
    package let keyPEM: Secret

    /// The certificate as PEM.
    package var pem: [UInt8] {
        let digits = Array(Base64.encode(der).utf8)
        var text = Array("-----BEGIN CERTIFICATE-----\n".utf8)
        for start in stride(from: 0, to: digits.count, by: 64) {
            text += digits[start..<min(start + 64, digits.count)] + [UInt8(ascii: "\n")]
        }
        return text + Array("-----END CERTIFICATE-----\n".utf8)
    }

    /// Issues a certificate for a new key, signed by `issuer`; without an issuer, the certificate is
    /// self-signed.
    ///
    /// Throws `WireError.signingKeyRefused` when OpenSSL does not know the digest or the extension, or the
    /// certificate exceeds 4,096 bytes.
    package init(_ request: Request, issuer: IssuedCertificate? = nil) throws(WireError) {
        var der = [UInt8](repeating: 0, count: Int(RootCertificate.maximumBytes))
        var pem = [UInt8](repeating: 0, count: SigningKey.maximumBytes)
        var (derCount, pemCount) = (der.count, pem.count)
        let issuerDER = issuer?.der ?? []
        let issuerPEM = issuer?.keyPEM.bytes ?? []
        let curve = request.key == .rsa ? "" : request.key.rawValue
        // Sound: every pointer lives during the call and comes with its count or ends with a zero byte; without an
        // issuer the pointer is nil.
        let status = unsafe issuerDER.withUnsafeBufferPointer { certificate in
            unsafe request.name.withCString { name in
                unsafe curve.withCString { curve in
                    unsafe request.digest.withCString { digest in
                        unsafe (request.extensionID ?? "").withCString { extensionID in
                            unsafe (request.serverNames ?? "").withCString { serverNames in
                                var properties = unsafe balloon_certificate_request(
                                    name: name, curve: request.key == .rsa ? nil : curve, digest: digest,
                                    extension: request.extensionID == nil ? nil : extensionID,
                                    names: request.serverNames == nil ? nil : serverNames,
                                    is_authority: request.isAuthority ? 1 : 0,
                                    not_before: Int64(request.validity.lowerBound),
                                    not_after: Int64(request.validity.upperBound))
                                return unsafe balloon_issue_certificate(
                                    &properties,
                                    balloon_certificate(
                                        bytes: issuer == nil ? nil : certificate.baseAddress,
                                        count: certificate.count),
                                    issuerPEM, issuerPEM.count, &der, &derCount, &pem, &pemCount)
                            }
                        }
                    }
                }
            }
        }
        guard status == 1 else { throw .signingKeyRefused }
        self.der = Array(der.prefix(derCount))
        keyPEM = try Secret(Array(pem.prefix(pemCount)))
    }
}

/// A signer of tokens that puts its certificate chain into their headers, as the App Store does.
package struct CertifiedTokenSigner: Sendable {
    private let key: SigningKey
    private let certificates: [[UInt8]]

    /// Creates a signer with the key of `leaf`, which must be on P-256, and the certificates of its chain.
    package init(leaf: IssuedCertificate, intermediate: IssuedCertificate, root: IssuedCertificate)
        throws(WireError)
    {
        key = try SigningKey(pem: leaf.keyPEM)
        certificates = [leaf.der, intermediate.der, root.der]
    }

    /// Signs `claims`, one JSON object, and returns the token in compact form.
    package func sign(_ claims: [UInt8]) throws(WireError) -> String {
        let header = JSONWriter.object { writer in
            writer.field("alg", key.publicKey.algorithm.rawValue)
            writer.list("x5c", certificates) { $1.string(Base64.encode($0)) }
        }
        return try key.sign(header: header, claims: claims)
    }
}
