package mcpcli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// files writes what a server sends to new files in one directory; if dir is empty, in ownDir.
type files struct{ dir string }

// ownDir is a directory below the current one. In the current one itself other programs would take
// files for their own whose names the server has chosen, such as AGENTS.md.
const ownDir = "mcp-files"

// extensions are the file name extensions of media types, without any that a desktop would
// run on a click.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
	"application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz", "application/json": ".json",
	"text/plain": ".txt", "text/csv": ".csv", "text/markdown": ".md",
}

// maxSameName is how many files with the same name are numbered.
const maxSameName = 1000

// write creates a new file and returns its path. The server can influence the letters of
// the name, but neither the directory nor what is overwritten.
func (f *files) write(name, mime string, data []byte) (string, error) {
	root, err := f.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	ext := cmp.Or(extensions[strings.TrimSpace(mime)], ".bin")
	name = strings.TrimSuffix(fileName(name), ext)
	for i := 1; i <= maxSameName; i++ {
		try := name + ext
		if i > 1 {
			try = fmt.Sprintf("%s-%d%s", name, i, ext)
		}
		w, err := root.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = w.Write(data)
		return filepath.Join(root.Name(), try), errors.Join(err, w.Close())
	}
	return "", fmt.Errorf("there are %d files named %s in %s already", maxSameName, name+ext, root.Name())
}

// open opens the directory, and makes it if it is not there. Whoever named it may have named a link.
func (f *files) open() (*os.Root, error) {
	if f.dir == "" {
		return plaindir.Make(".", ownDir)
	}
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return nil, err
	}
	return os.OpenRoot(f.dir)
}

// maxName is the maximum length of a file's name, without number and extension.
const maxName = 60

// fileName replaces characters that are not allowed in file names on every system.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, name)
	name = strings.Trim(name[:min(maxName, len(name))], ".-")
	return cmp.Or(name, "file")
}
