/// The error codes of the Retention Messaging API that are known (Apple's App Store Server libraries, 2026).
public enum RetentionErrorCode: Int, Sendable, Hashable, CaseIterable {
    case badRequest = 4_000_000
    case invalidTransaction = 4_000_006
    case invalidProduct = 4_000_023
    case appTransactionNotSupported = 4_000_048
    case invalidImage = 4_000_161
    case headerTooLong = 4_000_162
    case bodyTooLong = 4_000_163
    case invalidLocale = 4_000_164
    case alternativeTextTooLong = 4_000_175
    case familySharing = 4_000_185
    case notTheOriginalTransaction = 4_000_187
    case invalidPerformanceTest = 4_000_211
    case invalidRequestID = 4_000_212
    case performanceTestRuns = 4_000_213
    case invalidRealtimeURL = 4_000_215
    case imageSize = 4_000_216
    case tooManyBulletPoints = 4_000_218
    case bulletTextTooLong = 4_000_219
    case aboveImageNeedsImage = 4_000_224
    case maximumImages = 4_030_014
    case maximumMessages = 4_030_016
    case messageNotApproved = 4_030_017
    case imageNotApproved = 4_030_018
    case imageInUse = 4_030_019
    case noPassedPerformanceTest = 4_030_026
    case imageNotFound = 4_040_014
    case messageNotFound = 4_040_015
    case performanceTestNotFound = 4_040_018
    case defaultMessageNotFound = 4_040_020
    case realtimeURLNotFound = 4_040_021
    case imageExists = 4_090_000
    case messageExists = 4_090_001
    case rateLimitExceeded = 4_290_000
    case internalError = 5_000_000
    case internalErrorToRetry = 5_000_001
}
