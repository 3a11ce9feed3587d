"""The numbers in a text of base 64, as cmd/page/frames_json.h says."""
import base64


class Numbers:
    def __init__(self, text):
        self.data, self.at = base64.b64decode(text, validate=True), 0

    def more(self):
        return self.at < len(self.data)

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        number = self.number()
        return ~(number >> 1) if number & 1 else number >> 1
