extension Judges {
    static func logos(_ evidence: Evidence) -> [Finding] {
        guard !evidence.brief.logos.isEmpty else { return [.notTested("the brief has no \"logos\"")] }
        return evidence.brief.logos.flatMap { logo -> [Finding] in
            guard let bytes = evidence.files[logo.file] else {
                return [.objection("\(logo.file) cannot be read.")]
            }
            let unmeasured: [Finding] =
                LogoImage.isMeasured(bytes)
                ? []
                : [
                    .look(
                        "Measure the margin and the contrast of \(logo.file): the review reads those of PNG with 8 bits only."
                    )
                ]
            return LogoImage.faults(of: bytes).map { .objection("\(logo.file) \($0)") } + unmeasured
        }
    }
}
