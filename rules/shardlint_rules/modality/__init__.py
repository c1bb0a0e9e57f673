"""Text, images, video and audio on their way into a batch."""
