// Type-checked against stubs, not run on a device.

#if canImport(CoreVideo)
    internal import CoreVideo
    internal import FrameSocket

    /// How a Core Video buffer is read.
    enum CoreVideoFormat {
        /// In place.
        case direct(PixelFormat)
        /// As NV12, in a copy: two planes of 16-bit samples whose upper 10 bits count.
        case tenBit

        /// Creates the way to read a pixel format; nil if there is none.
        init?(_ type: OSType) {
            switch type {
            case kCVPixelFormatType_32BGRA: self = .direct(.bgra)
            case kCVPixelFormatType_32RGBA: self = .direct(.rgba)
            case kCVPixelFormatType_32ARGB: self = .direct(.argb)
            case kCVPixelFormatType_32ABGR: self = .direct(.abgr)
            case kCVPixelFormatType_420YpCbCr8BiPlanarFullRange, kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange:
                self = .direct(.nv12)
            case kCVPixelFormatType_420YpCbCr8PlanarFullRange, kCVPixelFormatType_420YpCbCr8Planar:
                self = .direct(.i420)
            case kCVPixelFormatType_420YpCbCr10BiPlanarFullRange, kCVPixelFormatType_420YpCbCr10BiPlanarVideoRange:
                self = .tenBit
            default: return nil
            }
        }

        /// The format of the image.
        var pixelFormat: PixelFormat {
            switch self {
            case .direct(let format): format
            case .tenBit: .nv12
            }
        }

        /// Whether the samples of a pixel format have video range.
        static func isLimited(_ type: OSType) -> Bool {
            switch type {
            case kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, kCVPixelFormatType_420YpCbCr8Planar,
                kCVPixelFormatType_420YpCbCr10BiPlanarVideoRange:
                true
            default: false
            }
        }

        /// The name of a pixel format for a person: its four letters, or its number if it has none.
        static func name(of type: OSType) -> String {
            let letters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: type >> $0) }
            guard letters.allSatisfy({ 0x20..<0x7F ~= $0 }) else { return "\(type)" }
            return "'" + String(decoding: letters, as: UTF8.self) + "'"
        }
    }
#endif
