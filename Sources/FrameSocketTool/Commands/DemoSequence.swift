import FrameSocket

/// Pictures that belong together: the frames of a screen that moves, or photographs of one kind.
struct DemoSequence: Sendable {
    let name: String
    let paths: [FilePath]

    /// The sequences below a directory of fixtures; without one, of the nearest that is found.
    static func all(in directory: String?) throws(CommandFailure) -> [DemoSequence] {
        guard let directory = directory ?? nearestFixtures() else {
            throw CommandFailure(.noInput, "there is no directory Fixtures here or above; name one with --fixtures")
        }
        var sequences: [DemoSequence] = []
        do {
            for name in try Files.names(in: directory + "/screens") where !name.hasPrefix(".") {
                let paths = try PictureFile.expand(["\(directory)/screens/\(name)"])
                sequences.append(DemoSequence(name: name, paths: paths))
            }
        } catch let error as Files.Failure {
            throw CommandFailure(.noInput, error.message)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(.noInput, "\(error)")
        }
        for path in try PictureFile.expand([directory + "/photos"]) {
            let name = path.name.split(separator: "-").first ?? "photo"
            sequences.append(DemoSequence(name: String(name), paths: [path]))
        }
        return sequences
    }

    private static func nearestFixtures() -> String? {
        ["Fixtures", "../Fixtures", "../../Fixtures"].first { Files.isDirectory($0 + "/screens") }
    }

    func pictures() throws(CommandFailure) -> [PixelBuffer] {
        var pictures: [PixelBuffer] = []
        let pool = PixelBufferPool(maximumIdle: 1)
        for path in paths {
            pictures.append(try Picture(name: path.text, content: PictureFile(path, pool: pool).content).pixels(pool))
        }
        return pictures
    }
}
