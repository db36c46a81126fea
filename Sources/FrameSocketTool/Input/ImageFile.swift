import FrameSocket
import PNGReading

/// An image file: JPEG or PNG, detected from its first bytes and not from its name.
struct ImageFile {
    /// The file name extensions that are picked from a directory.
    static let extensions = [".jpg", ".jpeg", ".jpe", ".jfif", ".png"]

    let content: InputImage.Content
    /// What is not sent of the file: images behind the first.
    let omission: InputImage.Omission?

    /// Reads a file; its pixels, if any, into memory of `pool`, and those of a PNG over a background, or with their alpha.
    init(
        _ path: FilePath,
        over background: PNGBackground?,
        pool: PixelBuffer.Pool
    ) throws(CommandFailure) {
        let bytes: [UInt8]
        do {
            bytes = try Files.contents(of: path)
        } catch {
            throw Self.unreadable(error)
        }
        let kind = FileKind(bytes)
        switch kind {
        case .jpeg, .png: break
        case .empty: throw CommandFailure(.badData, "\(path.text): the file is empty")
        case .foreign(let name):
            if let video = kind.video(in: path.text) {
                throw CommandFailure(.badData, "\(path.text): no image file, but \(video)")
            }
            throw CommandFailure(
                .badData,
                "\(path.text): \(name) files are not supported; convert it to JPEG or PNG"
            )
        case .unknown:
            // A stream of them, such as multipart/x-mixed-replace.
            let remedy =
                FurtherImage.hasJPEG(bytes)
                ? ", but a stream of JPEGs; send it with \(kind.commandForAll(in: path.text))" : ""
            throw CommandFailure(.badData, "\(path.text): not a JPEG or PNG file\(remedy)")
        }
        let slice = bytes[...]
        let end: Int?
        do throws(TurboJPEGError) {
            if case .png = kind {
                content = .pixels(try PixelBuffer(png: slice.span, over: background, pool: pool))
                end = FurtherImage.endOfPNG(bytes) ?? bytes.count
            } else {
                // Checked here, so that an image that is sent unchanged has at least a size.
                _ = try JPEGHeader.size(of: slice.span)
                content = .jpeg(bytes)
                end = JPEGHeader.endOfImage(in: slice.span)
            }
        } catch {
            throw CommandFailure(ExitCode(error), "\(path.text): \(Self.complaint(error, about: bytes))")
        }
        omission = FurtherImage.offset(in: bytes, kind, behind: end).map { offset in
            InputImage.Omission(offset: offset, command: kind.commandForAll(in: path.text))
        }
    }

    /// Returns the error's message, with libpng's own if it comes from there.
    private static func complaint(_ error: TurboJPEGError, about bytes: [UInt8]) -> String {
        guard case .png = FileKind(bytes) else { return "\(error)" }
        return error.libraryMessage.map { "\(error.message) (libpng: \($0))" } ?? error.message
    }

    private static func unreadable(_ failure: Files.Failure) -> CommandFailure {
        CommandFailure(.noInput, failure.isMissing ? "\(failure.name): no such file" : failure.message)
    }

    /// Returns the files that `paths` name: files themselves, and the images in directories, in the order of ``FilePath``.
    ///
    /// Of a directory, hidden files are left out, such as those in which macOS keeps what other systems cannot, and what is
    /// not a file: other directories and pipes. Of several paths, one that cannot be read is returned as a file, which fails
    /// when it is its turn.
    static func expand(_ paths: [String]) throws(CommandFailure) -> [FilePath] {
        var files: [FilePath] = []
        for path in paths {
            do throws(Files.Failure) {
                guard Files.isDirectory(path) else {
                    try Files.checkExists(path)
                    files.append(FilePath(path))
                    continue
                }
                let entries = try Files.entries(in: path).filter { entry in
                    !entry.text.hasPrefix(".") && extensions.contains { entry.text.lowercased().hasSuffix($0) }
                }
                files += entries.map { FilePath(path).appending($0) }.filter(Files.mayBeRegular)
            } catch {
                guard paths.count > 1 else { throw unreadable(error) }
                files.append(FilePath(path))
            }
        }
        guard !files.isEmpty else {
            throw CommandFailure(.noInput, "no images in \(paths.joined(separator: ", "))")
        }
        return files
    }
}
