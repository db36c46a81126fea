@_exported public import PixelFormats
