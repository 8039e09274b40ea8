// A token: only one that we signed ourselves is accepted, and its claims are those that we signed.
@testable import BalloonWire

let secret = try! Secret([UInt8](repeating: 7, count: 32))
let verifier = TokenVerifier(secret: secret)
let signed = Array(TokenSigner(secret: secret).sign(Array("{\"aud\":\"a\",\"iat\":1}".utf8)).utf8)

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let claims = try? verifier.verify(bytes) {
        // A header of another spelling would need a signature that only the secret makes.
        precondition(bytes == signed && claims == Array("{\"aud\":\"a\",\"iat\":1}".utf8), "forged")
    }
    guard !bytes.isEmpty else { return 0 }
    // Any bytes are accepted as claims after signing.
    let token = TokenSigner(secret: secret).sign(bytes)
    precondition((try? verifier.verify(Array(token.utf8))) == bytes, "a signed token is refused")
    #if PLANTED
    precondition(bytes.split(separator: 0x2E, omittingEmptySubsequences: false).count != 3, "planted")
    #endif
    return 0
}
