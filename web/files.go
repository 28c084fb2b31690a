package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
)

//go:embed static
var staticFiles embed.FS

// files are the stylesheet and the script. Their address has a hash of all of them, so a
// browser keeps them for ever and still gets those of a new version.
type files struct {
	hash  string
	plain map[string][]byte
	small map[string][]byte // compressed
}

func newFiles() *files {
	f := &files{plain: map[string][]byte{}, small: map[string][]byte{}}
	all := sha256.New()
	_ = fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(staticFiles, name)
		if err != nil {
			return err
		}
		all.Write(text)
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write(text)
		_ = z.Close()
		f.plain[path.Base(name)], f.small[path.Base(name)] = text, b.Bytes()
		return nil
	})
	f.hash = hex.EncodeToString(all.Sum(nil)[:8])
	return f
}

// address returns the path of a file.
func (f *files) address(name string) string { return "/static/" + f.hash + "/" + name }

var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// serveFile serves one of the files. An address with another hash is that of another version.
func serveFile(q *request) error {
	name := q.PathValue("name")
	body, ok := q.site.files.plain[name]
	if !ok {
		return board.ErrNotFound
	}
	h := q.w.Header()
	h.Set("Content-Type", contentTypes[path.Ext(name)])
	if q.PathValue("hash") == q.site.files.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(q.Request) {
		h.Set("Content-Encoding", "gzip")
		body = q.site.files.small[name]
	}
	_, _ = q.w.Write(body)
	return nil
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.TrimSpace(name) == "gzip" && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}

// compressed returns a writer of the answer's body, and what ends it. Pages have secrets (the
// token of forms) beside text that others wrote, but none of that text is chosen by whoever
// sees the length of the answer on the way: requests of other sites carry no cookie.
func (q *request) compressed() (io.Writer, func() error) {
	q.w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(q.Request) {
		return q.w, func() error { return nil }
	}
	q.w.Header().Set("Content-Encoding", "gzip")
	z := compressors.Get().(*gzip.Writer)
	z.Reset(q.w)
	return z, func() error {
		defer compressors.Put(z)
		return z.Close()
	}
}

// compressors are writers that are not in use: a new one takes nearly a megabyte.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	return z
}}
