import TurboJPEG

// Pixels to JPEG and back, without any socket.
let image = try PixelBuffer(width: 64, height: 48, format: .bgra)
let jpeg = try JPEGEncoder().encode(image)
let decoded = try JPEGDecoder().decode(jpeg.span, as: .bgra)
print("\(decoded.width)x\(decoded.height)")
