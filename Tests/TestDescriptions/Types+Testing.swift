// A release build makes every target, and has no Testing.
#if canImport(Testing)
    public import FrameSocket
    public import Testing

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
