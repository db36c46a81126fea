import FrameSocket

/// Images that belong together: the frames of a moving screen, or photographs of one kind.
struct DemoSequence: Sendable {
    let name: String
    let paths: [FilePath]

    /// Returns the sequences below a directory of fixtures, by default the nearest one.
    static func all(in directory: String?) throws(CommandFailure) -> [DemoSequence] {
        guard let directory = directory ?? nearestFixtures() else {
            throw CommandFailure(
                .noInput,
                "no directory 'Fixtures' here or in a parent directory; name one with --fixtures"
            )
        }
        var sequences: [DemoSequence] = []
        do {
            for name in try Files.names(in: directory + "/screens") where !name.hasPrefix(".") {
                let paths = try ImageFile.expand(["\(directory)/screens/\(name)"])
                sequences.append(DemoSequence(name: name, paths: paths))
            }
        } catch let error as Files.Failure {
            throw CommandFailure(.noInput, error.message)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.noInput, "\(error)")
        }
        for path in try ImageFile.expand([directory + "/photos"]) {
            let name = path.name.split(separator: "-").first ?? "photo"
            sequences.append(DemoSequence(name: String(name), paths: [path]))
        }
        return sequences
    }

    private static func nearestFixtures() -> String? {
        ["Fixtures", "../Fixtures", "../../Fixtures"].first { Files.isDirectory($0 + "/screens") }
    }

    func images() throws(CommandFailure) -> [PixelBuffer] {
        var images: [PixelBuffer] = []
        let pool = PixelBuffer.Pool(maximumIdleImages: 1)
        for path in paths {
            var image = InputImage(name: path.text, content: try ImageFile(path, pool: pool).content)
            images.append(try image.pixels(pool, isLenient: true))
        }
        return images
    }
}
