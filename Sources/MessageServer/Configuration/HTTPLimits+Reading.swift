import BalloonHTTP

extension HTTPLimits {
    /// Reads the limits that are present; absent ones keep their defaults.
    ///
    /// The ranges allow every reasonable value. They exclude values so large that the limit would have no
    /// effect.
    static func read(_ reader: inout ObjectReader) -> HTTPLimits? {
        var limits = HTTPLimits()
        reader.set(&limits.maximumRequestLineBytes, "maximumRequestLineBytes", in: 64...1 << 20)
        reader.set(&limits.maximumFieldLineBytes, "maximumFieldLineBytes", in: 1024...1 << 20)
        reader.set(&limits.maximumFieldCount, "maximumFieldCount", in: 16...10_000)
        reader.set(&limits.maximumHeaderBytes, "maximumHeaderBytes", in: 2048...1 << 20)
        reader.set(&limits.maximumRequestsPerConnection, "maximumRequestsPerConnection", in: 1...1 << 31)
        reader.set(&limits.maximumConnections, "maximumConnections", in: 1...1 << 20)
        reader.set(&limits.maximumConnectionsPerPeer, "maximumConnectionsPerPeer", upTo: 1 << 20)
        reader.set(&limits.maximumBufferedBytes, "maximumBufferedBytes", in: 1 << 16...1 << 40)
        reader.set(&limits.maximumBufferedBytesPerPeer, "maximumBufferedBytesPerPeer", upTo: 1 << 40)
        reader.set(&limits.maximumPendingOutputBytes, "maximumPendingOutputBytes", in: 4096...1 << 24)
        let seconds = 1...3600
        reader.set(&limits.firstByteTimeout, "firstByteSeconds", in: seconds)
        reader.set(&limits.headTimeout, "headerSeconds", in: seconds)
        reader.set(&limits.bodyTimeout, "bodySeconds", in: seconds)
        reader.set(&limits.bodyGrace, "bodyGraceSeconds", in: seconds)
        reader.set(&limits.minimumBodyBytesPerSecond, "minimumBodyBytesPerSecond", in: 1...1 << 30)
        reader.set(&limits.requestTimeout, "requestSeconds", in: seconds)
        reader.set(&limits.idleTimeout, "idleSeconds", in: seconds)
        reader.set(&limits.answerTimeout, "answerSeconds", in: seconds)
        reader.set(&limits.writeTimeout, "writeSeconds", in: seconds)
        reader.set(&limits.lingerTimeout, "lingerSeconds", in: 1...60)
        if limits.maximumFieldLineBytes > limits.maximumHeaderBytes {
            reader.problem(
                "allows one field line to exceed the limit of all field lines",
                hint: "raise maximumHeaderBytes, or lower maximumFieldLineBytes")
        }
        return limits
    }
}
