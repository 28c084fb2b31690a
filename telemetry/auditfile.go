package telemetry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
)

// maxAuditLine bounds a line of the audit stream. Its values are clipped, so that ours are much shorter.
const maxAuditLine = 1 << 20

// An AuditFile is a file with an audit stream. Each line names the hash of the line before it, so that an AuditCheck
// finds out if one was changed, added or taken out. It may be used by several goroutines.
type AuditFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	last string // the hash of the last line, empty if there is none
	torn []byte // the beginning of a line that could not be written whole
}

// OpenAudit opens a file to append to, and goes on from its last line. "-" is the standard output.
func OpenAudit(path string) (*AuditFile, error) {
	if path == "-" {
		return &AuditFile{file: os.Stdout}, nil
	}
	f := &AuditFile{path: path}
	return f, f.open()
}

func (f *AuditFile) open() error {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the audit stream: %w", err)
	}
	last, whole, err := lastLine(file)
	if err != nil {
		file.Close()
		return fmt.Errorf("read the end of the audit stream %s: %w", f.path, err)
	}
	if f.file != nil {
		f.file.Close()
	}
	f.file = file
	switch {
	case !whole:
		f.torn = last
	case len(last) > 0:
		f.last, f.torn = lineHash(last), nil
	case f.torn != nil: // it is empty, as after a rotation: the old file ends with half a line
		f.last, f.torn = lineHash(f.torn), nil
	}
	return nil
}

// Reopen closes the file and opens it anew by its name, after it was renamed. The first line of a new file names the
// last one of the old. If the file cannot be opened, the old one stays in use.
func (f *AuditFile) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return nil
	}
	return f.open()
}

// Head returns the hash of the last line, empty if there is none. Where it is kept elsewhere, in the server's log for instance,
// an AuditCheck finds out if the end of the stream was cut off.
func (f *AuditFile) Head() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Write writes lines, each of which is a JSON object, with the hash of the one before. If it fails, it may have written some of them.
func (f *AuditFile) Write(lines []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []byte
	last := f.last
	if f.torn != nil { // do not go on in an incomplete line
		out, last = append(out, '\n'), lineHash(f.torn)
	}
	for line := range bytes.Lines(lines) {
		begin := len(out)
		out = append(out, bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("}"))...)
		out = fmt.Appendf(out, `,"prev":%q}`, last)
		last = lineHash(out[begin:])
		out = append(out, '\n')
	}
	n, err := f.file.Write(out)
	if err != nil {
		f.wrote(out[:n])
		return 0, err
	}
	f.last, f.torn = last, nil
	return len(lines), nil
}

// wrote notes what was written by a Write that failed.
func (f *AuditFile) wrote(out []byte) {
	for line := range bytes.Lines(out) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		text = append(f.torn, text...)
		f.torn = nil
		if !whole {
			f.torn = text
		} else {
			f.last = lineHash(text)
		}
	}
}

// lastLine returns the last line of a file, and whether it is complete. It is empty if the file is, or is no regular file.
func lastLine(file *os.File) (line []byte, whole bool, err error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, true, err
	}
	from := max(0, info.Size()-maxAuditLine-2)
	tail := make([]byte, info.Size()-from)
	if _, err := file.ReadAt(tail, from); err != nil && err != io.EOF {
		return nil, true, err
	}
	tail, whole = bytes.CutSuffix(tail, []byte("\n"))
	i := bytes.LastIndexByte(tail, '\n')
	if i < 0 && from > 0 {
		return nil, true, fmt.Errorf("its last line has more than %d bytes: it is no audit stream", maxAuditLine)
	}
	return tail[i+1:], whole, nil
}

func lineHash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}
