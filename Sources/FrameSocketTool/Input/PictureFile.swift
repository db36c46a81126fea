import FrameSocket
import PNGReading

/// A picture file: JPEG, PNM or PNG, told by its first bytes and not by its name.
struct PictureFile {
    /// The ends of names that a directory's pictures have.
    static let extensions = [".jpg", ".jpeg", ".ppm", ".pgm", ".pnm", ".png"]

    let content: Picture.Content

    /// Reads a file; its pixels, if it has any, into memory of `pool`.
    init(_ path: FilePath, pool: PixelBufferPool) throws(CommandFailure) {
        let bytes: [UInt8]
        do {
            bytes = try Files.contents(of: path)
        } catch {
            throw CommandFailure(.noInput, error.message)
        }
        let kind = FileKind(bytes)
        switch kind {
        case .jpeg, .png, .pnm: break
        case .empty: throw CommandFailure(.badData, "\(path.text): the file is empty")
        case .foreign(let name):
            throw CommandFailure(.badData, "\(path.text): a \(name) file, and not a JPEG, PNG or PNM file")
        case .unknown: throw CommandFailure(.badData, "\(path.text): not a JPEG, PNG or PNM file")
        }
        do throws(TurboJPEGError) {
            switch kind {
            case .jpeg:
                // Checked here, so that what is sent as it is has at least a size.
                _ = try JPEGHeader(inspecting: bytes.span)
                content = .jpeg(bytes)
            case .png:
                content = .pixels(try PixelBuffer(png: bytes.span, pool: pool))
            case .pnm, .empty, .foreign, .unknown:
                content = .pixels(try PixelBuffer(ppm: bytes.span))
            }
        } catch {
            throw CommandFailure(.badData, "\(path.text): \(Self.complaint(error, about: bytes))")
        }
    }

    /// The library's words without its name, where they are those of another one.
    private static func complaint(_ error: TurboJPEGError, about bytes: [UInt8]) -> String {
        guard case .png = FileKind(bytes) else { return "\(error)" }
        return error.libraryMessage.map { "\(error.message) (libpng: \($0))" } ?? error.message
    }

    /// The files that `paths` name: themselves, and the pictures in those that are directories, by name.
    static func expand(_ paths: [String]) throws(CommandFailure) -> [FilePath] {
        var files: [FilePath] = []
        for path in paths {
            guard Files.isDirectory(path) else {
                guard Files.exists(path) else { throw CommandFailure(.noInput, "\(path): there is no such file") }
                files.append(FilePath(path))
                continue
            }
            do {
                let entries = try Files.entries(in: path).filter { entry in
                    extensions.contains { entry.text.lowercased().hasSuffix($0) }
                }
                files += entries.map { FilePath(path).appending($0) }
            } catch {
                throw CommandFailure(.noInput, error.message)
            }
        }
        guard !files.isEmpty else {
            throw CommandFailure(.noInput, "there is no picture in \(paths.joined(separator: ", "))")
        }
        return files
    }
}
