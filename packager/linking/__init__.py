"""Device links: code for devices in what a host link is given -> one image for each target."""
