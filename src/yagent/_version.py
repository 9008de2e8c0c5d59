"""The one place of the version; the build reads it too."""

VERSION = "0.1.0"
