// A release build makes every target, and has no Testing.
#if canImport(Testing)
    public import FrameSocket
    public import Testing

    /// A text with so many characters at most: if it has more, its middle becomes a number that tells texts apart.
    package func shortened(_ text: String, to limit: Int = 36) -> String {
        guard text.count > limit else { return text }
        let end = limit / 4
        return "\(text.prefix(limit - end - 7))…\(fingerprint(of: text.utf8))…\(text.suffix(end))"
    }

    /// Five letters and digits that follow from all bytes.
    package func fingerprint(of bytes: some Sequence<UInt8>) -> String {
        let sum = bytes.reduce(into: UInt32(0)) { $0 = $0 &* 31 &+ UInt32($1) }
        return String(sum % 58_786_560 + 1_679_616, radix: 36)
    }

    /// An argument that is a text too long for a test's log.
    package struct Short: Sendable, CustomStringConvertible {
        package let text: String

        package init(_ text: String) {
            self.text = text
        }

        package var description: String { shortened(text.debugDescription) }
    }

    extension Array: @retroactive CustomTestStringConvertible {
        /// The elements, in so few characters that a line tells a failing case from others.
        public var testDescription: String {
            if let bytes = self as? [UInt8], bytes.count > 12 {
                let start = bytes.prefix(4).map { String($0, radix: 16) }.joined(separator: " ")
                return "\(bytes.count) bytes \(start)…\(fingerprint(of: bytes))"
            }
            return shortened("[\(map { String(describingForTest: $0) }.joined(separator: ", "))]")
        }
    }

    extension SampleUploader.OutputScale: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String {
            guard case .box(let box) = form else { return ".\(form)" }
            return ".\(box.mode)(\(box.width)x\(box.height), rotation: .\(box.rotation))"
        }
    }

    extension SampleUploader.Pacing: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String {
            "\(rate)\(skipsUnchanged ? ", skips unchanged" : ""), keepAlive: \(keepAlive.map { "\($0)" } ?? "none")"
        }
    }

    extension PixelBuffer.Color: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String { "\(range) \(matrix)" }
    }

    extension JPEGEncoder: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String { "quality \(quality), \(subsampling)" }
    }

    extension SenderStatus: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String {
            let state =
                switch state {
                case .stopped(let reason): "stopped \(reason.rawValue)"
                default: "\(state)"
                }
            return "\(state), pong \(pong.map { "\($0)" } ?? "none"), \(refusedPreferences) refused, version \(version)"
        }
    }

    extension ControlRequest.Preferences: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String {
            let size = size.map { "\($0.width)x\($0.height)" } ?? "any"
            return "\(frameRateInMillihertz ?? 0) mHz, \(size), quality \(quality ?? 0)"
        }
    }

    extension ControlRequest: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String {
            switch self {
            case .prefer(let preferences): ".prefer(\(preferences.testDescription))"
            case .hello(let hello): ".hello(version \(hello.version), \(hello.wants.rawValue))"
            default: ".\(self)"
            }
        }
    }

    extension SharedFrameHeader: CustomTestStringConvertible {
        /// A description for a test's log.
        public var testDescription: String {
            let positions = planes.map { "\($0.offset)/\($0.bytesPerRow)" }.joined(separator: " ")
            return shortened("\(format) \(info.bufferSize.width)x\(info.bufferSize.height) at \(positions)", to: 80)
        }
    }
#endif
