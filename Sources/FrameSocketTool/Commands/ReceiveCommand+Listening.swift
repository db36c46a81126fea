import FrameSocket
import Locking

/// How `framesocket receive` starts.
extension ReceiveCommand {
    /// Starts listening, and then opens the files: a path that is in use must not cost anybody a file.
    ///
    /// - Parameters:
    ///   - reception: Writes the audio.
    ///   - log: Writes the wire log, if there is one.
    ///   - holder: Gets the server as soon as it exists. If this method fails later, the caller has to close it.
    ///   - gate: Opens when the files are open; no sender is accepted before.
    /// - Returns: The server.
    /// - Throws: The failure to listen or to open a file.
    func listen(
        _ reception: Reception,
        _ log: WireLog?,
        _ holder: Locked<FrameServer?>,
        _ gate: AcceptingGate
    ) async throws(CommandFailure) -> FrameServer {
        let configuration = try configuration(log, reception)
        gate.hold(configuration.thread)
        let made = try holder.withLock { holder throws(CommandFailure) -> Result<FrameServer?, TransportError> in
            try Interruption.check()
            do throws(TransportError) {
                holder = try place.server(configuration)
                return .success(holder)
            } catch {
                return .failure(error)
            }
        }
        let server: FrameServer?
        do throws(TransportError) {
            server = try made.get()
        } catch {
            await reception.report(.failed(connection: nil, code: error.code.rawValue, message: error.description))
            throw CommandFailure(ExitCode(error), error.description)
        }
        guard let server else {
            await reception.report(.failed(connection: nil, code: "socket.missing", message: place.complaint))
            throw CommandFailure(.noInput, place.complaint)
        }
        do throws(Files.Failure) {
            if let directory { await reception.keep(try prepare(directory)) }
            // Before the log, which is emptied.
            if let audio { await reception.writeSound(to: try soundFile(audio)) }
            if let wireLog { try log?.open(wireLog) }
            // If they cannot be written now, nothing is received, and nothing written at the end.
            try writeMetrics(server, reception)
        } catch {
            throw CommandFailure(.cannotCreate, opening: error)
        }
        gate.open()
        return server
    }

    private func configuration(_ log: WireLog?, _ reception: Reception) throws(CommandFailure)
        -> FrameServer.Configuration
    {
        var configuration = FrameServer.Configuration()
        configuration.tokens = try tokens?.read()
        configuration.info = info
        if let log { configuration.onRead = { log.write($1, of: $0) } }
        configuration.acceptsSharedMemory = acceptsSharedMemory
        configuration.log = { reception.reportRefusal($0) }
        configuration.delivery = takesNewest ? .newest : .everyFrame
        configuration.limits.maximumConnections = try ProcessLimits.places(
            configuration.limits.maximumConnections,
            beside: ProcessLimits.laterDescriptors
        )
        return configuration
    }

    /// Creates the file for audio; a pipe or a device has nothing to lose.
    private func soundFile(_ path: String) throws(Files.Failure) -> OutputFile {
        let kind = Files.status(of: path)?.kind
        return try OutputFile(path, overwrites: overwrites || (kind != nil && kind != S_IFREG))
    }

    /// Creates the directory for frames, which must contain none unless they are replaced.
    ///
    /// - Returns: The numbers of the frames that earlier runs have left, in ascending order, if the number of frames is
    ///   limited.
    private func prepare(_ directory: String) throws(Files.Failure) -> [Int] {
        try Files.makeDirectory(directory)
        guard unsafe access(directory, W_OK | X_OK) == 0 else { throw Files.Failure(directory) }
        let frames = try Files.names(in: directory).filter(Reception.isFrame)
        guard overwrites else {
            if let name = frames.first { throw Files.Failure("\(directory)/\(name)", EEXIST) }
            return []
        }
        return keep == nil ? [] : frames.compactMap(Reception.number(of:)).sorted()
    }
}
