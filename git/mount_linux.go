package git

import (
	"os"
	"strconv"
	"strings"
)

// mountBelow returns a place below a directory where something is mounted, empty if there is none.
func mountBelow(dir string) string {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if at := unescape(fields[4]); strings.HasPrefix(at, dir+"/") {
			return at
		}
	}
	return ""
}

// unescape reads a path in which spaces and the like are written as \040.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
