print("framesocket")
