package boardcli

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/loopback"
)

// An archivePlace is where an archive goes. Name is its name for people, which has no
// password or signature.
type archivePlace interface {
	board.ArchivePlace
	Name() string
	Close() error
}

// newPlace returns the place that --to names, and whether that is a directory, which can have
// several. It creates nothing yet.
func newPlace(to, project string, now time.Time) (place archivePlace, dir bool, err error) {
	if strings.Contains(to, "://") {
		place, err = newPut(to)
		return place, false, err
	}
	name, err := filepath.Abs(to)
	if err != nil {
		return nil, false, err
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(to, string(filepath.Separator)):
		dir, name = true, filepath.Join(name, project+now.UTC().Format("-20060102T150405.000Z")+".jsonl.gz")
	case err == nil:
		return nil, false, console.Errorf(console.Conflict, "choose a name that does not exist, or a directory; nothing was changed", "%s exists", name)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	return &filePlace{name: name}, dir, nil
}

// A filePlace is a new file. What is written between two saves is one member of a gzip file,
// so that a crash spoils only what had not been saved.
type filePlace struct {
	name string
	file *os.File
	part bytes.Buffer
	zip  *gzip.Writer
}

func (p *filePlace) Name() string { return p.name }

func (p *filePlace) Write(lines []byte) (int, error) {
	if p.zip == nil {
		p.part.Reset()
		p.zip = gzip.NewWriter(&p.part)
	}
	return p.zip.Write(lines)
}

func (p *filePlace) Save(context.Context) (board.Saved, error) {
	if err := p.zip.Close(); err != nil {
		return board.Saved{}, err
	}
	p.zip = nil
	if p.file == nil {
		if err := p.create(); err != nil {
			return board.Saved{}, err
		}
	}
	if _, err := p.file.Write(p.part.Bytes()); err != nil {
		return board.Saved{}, err
	}
	if err := p.file.Sync(); err != nil {
		return board.Saved{}, err
	}
	sum := sha256.Sum256(p.part.Bytes())
	return board.Saved{Place: p.name, SHA256: hex.EncodeToString(sum[:])}, nil
}

// create creates the file, and its directory if that is missing, for their owner alone.
func (p *filePlace) create() (err error) {
	dir := filepath.Dir(p.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if p.file, err = os.OpenFile(p.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	// The name must survive a power failure, too. Not all systems can do that.
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if f, err := os.Open(d); err == nil {
			_ = f.Sync()
			f.Close()
		}
	}
	return nil
}

func (p *filePlace) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// A putPlace is a URL to which one file is sent. Until then it is a temporary file.
type putPlace struct {
	to   *url.URL
	file *os.File
	zip  *gzip.Writer
}

func newPut(to string) (*putPlace, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return nil, console.Usagef("--to is not the URL of a file") // without its signature
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(u.Hostname())) {
		return nil, console.Usagef("--to has the scheme %q, want https: an archive has all that was said on the board", u.Scheme)
	}
	return &putPlace{to: u}, nil
}

func (p *putPlace) Name() string {
	return (&url.URL{Scheme: p.to.Scheme, Host: p.to.Host, Path: p.to.Path}).String()
}

func (p *putPlace) Write(lines []byte) (n int, err error) {
	if p.file == nil {
		if p.file, err = os.CreateTemp("", "bossman-archive-*"); err != nil {
			return 0, err
		}
		p.zip = gzip.NewWriter(p.file)
	}
	return p.zip.Write(lines)
}

func (p *putPlace) Save(ctx context.Context) (board.Saved, error) {
	if err := p.zip.Close(); err != nil {
		return board.Saved{}, err
	}
	hash := sha256.New()
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return board.Saved{}, err
	}
	size, err := io.Copy(hash, p.file)
	if err != nil {
		return board.Saved{}, err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return board.Saved{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, p.to.String(), io.NopCloser(p.file))
	if err != nil {
		return board.Saved{}, errors.New("the URL cannot be used")
	}
	r.ContentLength = size
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the URL has a signature
		}
		return board.Saved{}, fmt.Errorf("PUT %s: %w", p.Name(), err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return board.Saved{}, fmt.Errorf("PUT %s: the server answered %s", p.Name(), answer.Status)
	}
	return board.Saved{Place: p.Name(), SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

func (p *putPlace) Close() error {
	if p.file == nil {
		return nil
	}
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}
