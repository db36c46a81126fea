import TestDescriptions
import TestSupport
import Testing

@testable import FrameSocket

private typealias Adaptation = SampleUploader.Configuration.Adaptation

/// Which quality is chosen, and when something may be sent.
@Suite(.tags(.computes)) struct QualityControlTests {
    private static let millisecond: UInt64 = 1_000_000

    /// A source of images of one size at quality 80, offered at a steady rate.
    private struct Source {
        var control: QualityControl
        var now: UInt64 = 1_000_000_000
        var sent: [(at: UInt64, count: Int, quality: Int)] = []
        /// How much of each image is encoded anew, unless its quality is new.
        var changedPart: Double?
        /// How many bytes the receiver takes in a millisecond; nil if it takes everything at once.
        var taken: Int?
        private(set) var unread = 0

        init(_ adaptation: Adaptation, quality: Int = 80, shortestBody: Int = 0) {
            control = QualityControl(.init(quality: quality, adaptation: adaptation), shortestBody: shortestBody)
        }

        /// Offers an image every `interval` milliseconds.
        mutating func run(_ milliseconds: UInt64, interval: UInt64 = 33, size: Double) {
            let end = now + milliseconds * millisecond
            while now < end {
                unread = taken.map { max(0, unread - $0 * Int(interval)) } ?? 0
                if control.holdEnd(at: now) == nil { control.sample(unread: unread, at: now) }
                if control.holdEnd(at: now) == nil {
                    let quality = control.begin(sharpening: false, interval: interval * millisecond, at: now)
                    control.ended()
                    let count = Int(size * JPEGSize.ratio(quality))
                    let changedPart = sent.last?.quality == quality ? changedPart : changedPart.map { _ in 1 }
                    if control.encoded(count, quality: quality, changedPart: changedPart, at: now) {
                        control.submitted(count, at: now)
                        control.sent(count, beganAt: now, at: now)
                        sent.append((now, count, quality))
                        unread += count
                    }
                }
                now += interval * millisecond
            }
        }

        /// The most bytes in any two seconds with more than one image.
        var most: Int {
            sent.indices.map { first in
                let images = sent[first...].prefix { $0.at < sent[first].at + 2_000_000_000 }
                return images.count > 1 ? images.reduce(0) { $0 + $1.count } : 0
            }.max() ?? 0
        }
    }

    // MARK: The budget

    /// Shows P340.
    @Test(arguments: [20_000, 200_000, 2_000_000], [5_000, 60_000, 400_000])
    func `in any two seconds at most 5 percent more than the maximum are sent, or one image`(
        rate: Int,
        size: Double
    ) {
        for preference in [Adaptation.Preference.detail(), .motion, .detail(minimumFrameRate: 1)] {
            var source = Source(.init(maximumByteRate: rate, preference: preference))
            source.run(6_000, size: size)
            // Another scene, whose images are much larger, and back.
            source.run(3_000, size: size * 4)
            source.run(6_000, size: size / 4)
            #expect(source.most <= rate * 21 / 10, "\(preference): \(source.most) of \(rate * 2)")
            #expect(!source.sent.isEmpty)
        }
    }

    @Test func `a receiver that takes everything gets every image at the highest quality without a maximum`() {
        var source = Source(.init())
        source.run(1_000, size: 300_000)
        #expect(source.sent.count == 31 && source.sent.allSatisfy { $0.quality == 80 })
    }

    @Test(arguments: [(20_000, true), (1_500_000, false)])
    func `whether the maximum suffices is known before the second image is made`(rate: Int, isDifficult: Bool) {
        var source = Source(.init(maximumByteRate: rate, minimumQuality: 40))
        source.run(33, size: 200_000)
        #expect(source.sent.map(\.quality) == [80])
        source.now += 50_000_000
        let difficulty = source.control.difficulty(for: nil, interval: 33_000_000, at: source.now)
        #expect(difficulty == (isDifficult ? .budgetLow : nil))
    }

    // MARK: What gives way first

    @Test func `detail is kept at the cost of frames, down to the lowest rate, and motion at the cost of quality`() {
        // Seven images a second at 80, and ten at 30: 30 frames are possible at no quality.
        let adaptation = Adaptation(maximumByteRate: 700_000, preference: .detail())
        var detail = Source(adaptation)
        detail.run(4_000, size: 100_000)
        #expect(detail.sent.allSatisfy { $0.quality == 80 })
        #expect((24...30).contains(detail.sent.count), "\(detail.sent.count)")
        var motion = Source(.init(maximumByteRate: 700_000, preference: .motion))
        motion.run(4_000, size: 100_000)
        #expect(motion.sent.dropFirst().allSatisfy { $0.quality == 30 })
        #expect(motion.sent.count >= 40, "\(motion.sent.count)")
        var slow = Source(.init(maximumByteRate: 300_000, preference: .detail()))
        slow.run(4_000, size: 100_000)
        #expect(slow.sent.last.map { $0.quality < 80 } == true, "five a second are not possible at 80")
    }

    @Test(arguments: [(0.25, 80), (0.26, 30), (nil, 30)] as [(Double?, Int)])
    func `while little changes, frames are left out down to one a second before the quality falls`(
        changedPart: Double?,
        quality: Int
    ) throws {
        var source = Source(.init(maximumByteRate: 150_000))
        source.changedPart = changedPart
        source.run(8_000, size: 100_000)
        // What changes is known from the second image.
        let known = source.sent.dropFirst(quality == 80 ? 0 : 2)
        #expect(known.allSatisfy { $0.quality == quality } && known.count >= 8, "\(source.sent)")
        // Then everything changes, for two images: the first one shows it.
        source.changedPart = 1
        source.run(4_000, size: 100_000)
        #expect(source.sent.last?.quality == 30)
    }

    /// Longest intervals in milliseconds, while much changes and while little does.
    @Test(
        arguments: [
            (.detail(), 200, 1_000), (.detail(minimumFrameRate: 20), 50, 250),
            (.detail(minimumFrameRate: 2), 500, 1_000),
            (.detail(minimumFrameRate: 1), 1_000, 1_000), (.detail(minimumFrameRate: .nan), 1_000, 1_000),
            (.detail(minimumFrameRate: -.infinity), 1_000, 1_000), (.detail(minimumFrameRate: 1e-300), 1_000, 1_000),
            (.detail(minimumFrameRate: .infinity), 0, 0), (.detail(minimumFrameRate: 1e300), 0, 0),
            (.motion, 0, 0),
        ] as [(SampleUploader.Configuration.Adaptation.Preference, UInt64, UInt64)]
    )
    func `a lower frame rate than was asked for is a fifth of it, and one a second`(
        preference: SampleUploader.Configuration.Adaptation.Preference,
        much: UInt64,
        little: UInt64
    ) {
        let adaptation = Adaptation(preference: preference)
        #expect(adaptation.longestInterval(changesLittle: false) == much * Self.millisecond)
        #expect(adaptation.longestInterval(changesLittle: true) == little * Self.millisecond)
    }

    @Test func `the quality falls at once, and rises after a second`() throws {
        var source = Source(.init(maximumByteRate: 1_000_000, preference: .motion))
        source.run(1_000, size: 100_000)
        let low = try #require(source.sent.last?.quality)
        #expect(low == 30)
        let change = source.now
        source.run(3_000, size: 10_000)
        let risen = try #require(source.sent.first { $0.at > change && $0.quality > low })
        #expect(risen.at >= change + 1_000_000_000 && risen.quality == 80)
        let again = source.now
        source.run(500, size: 100_000)
        let after = source.sent.filter { $0.at >= again }
        #expect(after.count > 1 && after[1].quality == 30, "the first one shows how large they are")
    }

    @Test func `a small possible rise changes nothing`() {
        var source = Source(.init(maximumByteRate: 1_000_000, minimumQuality: 1, preference: .motion))
        source.run(2_000, size: 45_000)
        let level = source.control.level
        source.run(3_000, size: 43_500)
        #expect(source.control.level == level)
    }

    // MARK: Limits

    @Test(
        arguments: [
            (0, nil), (-1, nil), (.min, nil), (1, 1), (.max, .max),
        ] as [(Int, Int?)]
    )
    func `any number may be given as the maximum`(given: Int, maximum: Int?) {
        var adaptation = Adaptation(maximumByteRate: given)
        #expect(adaptation.maximumByteRate == maximum)
        adaptation.maximumByteRate = given
        #expect(adaptation.maximumByteRate == maximum)
        var source = Source(adaptation)
        source.run(5_000, size: 1e9)
        #expect(!source.sent.isEmpty)
    }

    @Test(arguments: [(-5, 1), (0, 1), (1, 1), (100, 100), (101, 100), (.max, 100)])
    func `any number may be given as the lowest quality, which is not higher than the highest`(given: Int, lowest: Int)
    {
        var adaptation = Adaptation(maximumByteRate: 1, minimumQuality: given)
        #expect(adaptation.minimumQuality == lowest)
        adaptation.minimumQuality = given
        #expect(adaptation.minimumQuality == lowest)
        var source = Source(adaptation, quality: 50)
        source.run(5_000, size: 50_000)
        #expect(source.sent.allSatisfy { $0.quality >= min(lowest, 50) && $0.quality <= 50 })
    }

    /// Shows P340.
    @Test(arguments: [(500_000, 200), (nil, 0), (1_000, 2_200), (10_000, 2_200)] as [(Int?, UInt64)])
    func `what was too much is made up for at the maximum in force, or not at all without one`(
        maximum: Int?,
        milliseconds: UInt64
    ) {
        var control = QualityControl(.init(adaptation: .init(maximumByteRate: 5_000)))
        let start: UInt64 = 1_000_000_000
        control.submitted(90_000, at: start)
        #expect(control.holdEnd(at: start).map { $0 > start + 18_000 * Self.millisecond } == true)
        control.follow(.init(adaptation: .init(maximumByteRate: maximum)), at: start)
        let hold = (control.holdEnd(at: start) ?? start) - start
        #expect(hold <= milliseconds * Self.millisecond && hold >= milliseconds / 2 * Self.millisecond, "\(hold)")
        // It can be sharp as soon.
        let sharp = control.sharpeningTime(changedAt: 0, at: start)
        #expect(sharp <= start + milliseconds * Self.millisecond, "\(sharp - start)")
    }

    @Test func `a maximum that is raised lets the very next image have the quality that is possible`() {
        var source = Source(.init(maximumByteRate: 1_000_000, preference: .motion))
        source.run(1_000, size: 100_000)
        #expect(source.sent.last?.quality == 30)
        source.control.follow(.init(quality: 80, adaptation: .init(maximumByteRate: 20_000_000)), at: source.now)
        source.sent = []
        source.run(300, size: 100_000)
        #expect(source.sent.count >= 8 && source.sent.allSatisfy { $0.quality == 80 }, "\(source.sent)")
    }

    @Test func `bytes that pad a short body count`() {
        var source = Source(.init(maximumByteRate: 50_000), shortestBody: 10_240)
        source.run(10_000, interval: 10, size: 500)
        #expect((40...50).contains(source.sent.count), "five a second for ten seconds: \(source.sent.count)")
    }

    // MARK: What the receiver takes

    @Test func `a receiver that comes after a slow one is not taken for slow`() {
        var control = QualityControl(.init(adaptation: .init()))
        var now: UInt64 = 1_000_000_000
        for _ in 0..<20 {
            let quality = control.begin(sharpening: false, interval: 33 * Self.millisecond, at: now)
            control.ended()
            _ = control.encoded(100_000, quality: quality, at: now)
            control.submitted(100_000, at: now)
            now += 400 * Self.millisecond
            control.sent(100_000, beganAt: now - 400 * Self.millisecond, at: now)
        }
        #expect(control.holdEnd(at: now) != nil && control.level < 80)
        control.connect()
        #expect(control.holdEnd(at: now) == nil)
        #expect(control.begin(sharpening: false, interval: 33 * Self.millisecond, at: now) == 80)
    }

    @Test func `bytes that pad a short body take time, which says nothing against the quality`() {
        var control = QualityControl(.init(adaptation: .init(preference: .motion)), shortestBody: 10_240)
        var now: UInt64 = 1_000_000_000
        for _ in 0..<20 {
            #expect(control.begin(sharpening: false, interval: 33 * Self.millisecond, at: now) == 80)
            control.ended()
            _ = control.encoded(2_000, quality: 80, at: now)
            control.submitted(2_000, at: now)
            now += 100 * Self.millisecond
            control.sent(2_000, beganAt: now - 100 * Self.millisecond, at: now)
        }
    }

    @Test func `an empty JPEG, which takes long, says nothing of an image whose size nobody knows`() async {
        await #expect(processExitsWith: .success) {
            var control = QualityControl(.init(adaptation: .init()))
            control.submitted(0, at: 1_000_000_000)
            control.sent(0, beganAt: 1_000_000_000, at: 1_030_000_000)
            _ = control.begin(sharpening: false, interval: 33_000_000, at: 1_030_000_000)
            #expect(control.holdEnd(at: 1_030_000_000).map { $0 < 1_040_000_000 } ?? true)
        }
    }

    @Test func `a receiver that lags is sent what it takes`() throws {
        var source = Source(.init())
        source.taken = 200
        for _ in 0..<4_000 {
            source.run(1, interval: 1, size: 60_000)
            #expect(source.unread <= 2 * 60_000)
        }
        #expect((14...26).contains(source.sent.count), "five a second are kept: \(source.sent.count)")
        #expect(source.sent.dropFirst().allSatisfy { $0.quality < 80 }, "\(source.sent)")
    }

    @Test func `a receiver that took nothing for a minute is not waited for again`() {
        var control = QualityControl(.init(adaptation: .init()))
        control.submitted(100_000, at: 1_000_000_000)
        control.sent(100_000, beganAt: 1_000_000_000, at: 61_000_000_000)
        control.submitted(100_000, at: 61_000_000_000)
        let end = control.holdEnd(at: 61_000_000_000)
        #expect(end.map { $0 <= 62_000_000_000 } == true)
    }

    // MARK: Sizes

    @Test func `the expected size grows with the quality`() {
        for quality in 2...100 { #expect(JPEGSize.ratio(quality) >= JPEGSize.ratio(quality - 1)) }
        #expect(JPEGSize.ratio(JPEGSize.reference) == 1)
        #expect(JPEGSize.quality(for: 0, 1_000, in: 30...80) == 30)
        #expect(JPEGSize.quality(for: .infinity, 1_000, in: 30...80) == 80)
        #expect(JPEGSize.quality(for: 1_000, 1_000, in: 30...100) == 80)
    }

    // MARK: The budget alone

    /// What is spent, at a maximum of 1,000 bytes a second, and the maximum from then on; when, after that, there is room for
    /// one more byte, and for 500.
    private static let budgets: [(spent: [(at: UInt64, byteCount: Double)], maximum: Int?, one: UInt64, many: UInt64)] =
        [
            ([], 1_000, 0, 0),
            // Each is made up for at 95 % of the maximum.
            ([(0, 95)], 1_000, 100, 100), ([(0, 95), (0, 95)], 1_000, 200, 200), ([(0, 950)], 1_000, 1_000, 1_000),
            // In any two seconds there is room for 2,090, or for a single message.
            ([(0, 1_600)], 1_000, 1_684, 2_000), ([(0, 95), (100, 1_590)], 1_000, 1_773, 2_000),
            ([(0, 9_500)], 1_000, 10_000, 10_000),
            // What is owed is read at the maximum in force, and is two seconds of it at most.
            ([(0, 9_500)], 10_000, 1_000, 1_000), ([(0, 9_500)], 100_000, 100, 100), ([(0, 9_500)], nil, 0, 0),
            ([(0, 9_500)], 100, 2_105, 2_105), ([(0, 95)], 1, 2_105, 2_105),
        ]

    /// Shows P340.
    @Test(arguments: budgets.indices) func `a budget in bytes refills at the maximum in force`(index: Int) {
        let (spent, maximum, one, many) = Self.budgets[index]
        var (budget, now): (ByteBudget, UInt64) = (ByteBudget(), 0)
        let start: UInt64 = 5_000 * Self.millisecond
        budget.follow(1e-6, at: start)
        for (at, byteCount) in spent {
            now = at
            budget.spend(byteCount, at: start + at * Self.millisecond)
        }
        if maximum != 1_000 { budget.follow(maximum.map { Double($0) / 1e9 }, at: start + now * Self.millisecond) }
        let times = [1.0, 500].map { byteCount in
            (budget.time(for: byteCount, after: start + now * Self.millisecond) - start) / Self.millisecond
        }
        #expect(times == [one, many])
    }

    @Test func `a budget remembers two seconds, in a bounded number of entries`() {
        var budget = ByteBudget()
        budget.follow(15_000 / 1e9, at: 0)
        for index in 0..<10_000 { budget.spend(10, at: UInt64(index) * Self.millisecond) }
        let used = 31_350 - budget.room(at: 9_999 * Self.millisecond)
        #expect((20_000...20_300).contains(used), "\(used)")
        for _ in 0..<2 { budget.spend(1e300, at: 10_000 * Self.millisecond) }
        #expect(budget.room(at: 10_000 * Self.millisecond) == 0)
        #expect(budget.time(for: 1, after: 10_000 * Self.millisecond) > 1_000_000 * Self.millisecond)
        budget.follow(1, at: 10_000 * Self.millisecond)
        #expect(budget.time(for: 1, after: 10_000 * Self.millisecond) < 13_000 * Self.millisecond)
    }
}

private let millisecond: UInt64 = 1_000_000
