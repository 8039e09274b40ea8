extension ServerLimits {
    /// Reads the limits that are present; absent ones keep their defaults.
    static func read(_ reader: inout ObjectReader) -> ServerLimits? {
        var limits = ServerLimits()
        // The JSON parser's index supports bodies of at most 64 MiB.
        let bytes = 1024...64 << 20
        reader.set(&limits.maximumBodyBytes, "maximumBodyBytes", in: bytes)
        reader.set(&limits.maximumInflatedBytes, "maximumInflatedBytes", in: bytes)
        // Deflate's maximum ratio is 1032, so a larger limit would have no effect.
        reader.set(&limits.maximumInflationRatio, "maximumInflationRatio", in: 2...1032)
        reader.set(&limits.tokenAge, "tokenAgeSeconds", in: 1...86_400)
        reader.set(&limits.handlerDeadline, "handlerDeadlineSeconds", in: 1...3600)
        reader.set(&limits.handlerConcurrency, "handlerConcurrency", in: 1...1024)
        reader.set(&limits.referenceConcurrency, "referenceConcurrency", in: 1...1024)
        if let shards = reader.integer("shards", in: 0...256), shards > 0 { limits.shards = shards }
        return limits
    }
}
