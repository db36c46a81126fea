import FrameTransport
import FrameWire
import TestSupport
import Testing

@testable import FrameSocket

/// A frame that is sent again, with a deferred one behind it: each waits for room of its own.
@Suite struct HeldBackRepeatTests {
    /// Shows P340.
    ///
    /// A JPEG of 30,000 bytes is sent where two seconds have room for 41,800.
    @Test func `a large frame that is to be sent again waits for room, and a small newer one does not`() {
        var configuration = SampleUploader.Configuration()
        configuration.adaptation = .init(maximumByteRate: 20_000)
        configuration.pacing = .framesPerSecond(15).skippingUnchanged(keepAlive: .seconds(1))
        var rig = UploaderRig(configuration)
        rig.run([.connect, .offer(1, bytes: 30_000), .wait(1_900)])
        #expect(rig.submitted == [1])
        rig.run(.offer(2))
        #expect(rig.submitted == [1, 2])
    }

    /// Shows P340.
    @Test func `an image that was given up while it was encoded waits for room as its JPEG`() throws {
        var configuration = SampleUploader.Configuration(usesStrips: false)
        configuration.adaptation = .init(maximumByteRate: 4000)
        var machine = UploaderMachine(configuration, owner: 1)
        var terms = ReceiverTerms()
        (terms.revision, terms.connection, terms.isConnected) = (1, 1, true)
        machine.termsChanged(terms, at: 0)
        let image = try testImage(64, 48, as: .gray)
        let second: UInt64 = 1_000_000_000
        var messages: [Int] = []

        func encode(_ byteCount: Int, givesUp: Bool, at now: UInt64) throws {
            let outcome = machine.offer(.pixels(image), at: now)
            #expect(outcome == .taken)
            let begun = machine.beginUpload(at: now)
            #expect(begun?.quality != nil)
            if givesUp { machine.giveUpImages() }
            let info = FrameInfo(bufferSize: BufferSize(width: 64, height: 48))
            let jpeg = FrameMessage(jpeg: FrameBytes([UInt8](repeating: 0, count: byteCount)), info: info)
            machine.encoded(.encoded(jpeg, digest: nil), at: now)
        }
        func send(at now: UInt64) {
            guard let message = machine.takeEffects().message else { return }
            messages.append(message.jpeg.count)
            machine.sent(nil, at: now)
        }

        try encode(1000, givesUp: false, at: second)
        send(at: second)
        // More than was expected of it, and more than there is room for within two seconds of the first.
        try encode(7400, givesUp: true, at: 2 * second)
        send(at: 2 * second)
        #expect(messages == [1000])
        let timer = machine.timer
        let due = try #require(timer)
        #expect(due >= 3 * second && due < 4 * second)
        machine.deadlinePassed(at: due)
        let job = machine.beginUpload(at: due)
        #expect(job == nil, "there is no image to encode")
        send(at: due)
        #expect(messages == [1000, 7400])
    }

    /// Shows P76.
    ///
    /// Its first attempt has ended with its connection, but may have brought its number to a receiver.
    @Test func `the number of a frame that is held back is not given to the next one if it was sent under it`() throws {
        var configuration = SampleUploader.Configuration(usesStrips: false)
        configuration.adaptation = .init(maximumByteRate: 4000)
        var machine = UploaderMachine(configuration, owner: 1)
        var terms = ReceiverTerms()
        var numbers: [UInt64?] = []
        let second: UInt64 = 1_000_000_000
        let image = try testImage(64, 48, as: .gray)

        func connect(at now: UInt64) {
            (terms.revision, terms.connection, terms.isConnected) = (terms.revision + 1, terms.connection + 1, true)
            machine.termsChanged(terms, at: now)
        }
        func offer(at now: UInt64) {
            _ = machine.offer(.pixels(image), at: now)
        }
        func encode(_ byteCount: Int, at now: UInt64, while body: () -> Void = {}) {
            guard machine.beginUpload(at: now) != nil else { return }
            body()
            let info = FrameInfo(bufferSize: BufferSize(width: 64, height: 48))
            let jpeg = FrameMessage(jpeg: FrameBytes([UInt8](repeating: 0, count: byteCount)), info: info)
            machine.encoded(.encoded(jpeg, digest: nil), at: now)
            if let message = machine.takeEffects().message { numbers.append(message.info.sequence) }
        }

        connect(at: second)
        offer(at: second)
        encode(1000, at: second)
        machine.sent(.connectionLost, at: second)
        // Another quality: its JPEG cannot be sent again as it is.
        terms.preferences = .init(quality: 50)
        connect(at: 2 * second)
        encode(7400, at: 2 * second) { offer(at: 2 * second) }
        #expect(numbers == [0], "there is no room for it")
        while let due = machine.timer, numbers.count < 2 {
            machine.deadlinePassed(at: due)
            encode(100, at: due)
        }
        #expect(numbers == [0, 1])
    }
}
