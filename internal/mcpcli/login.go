package mcpcli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp/oauth"
)

var (
	// errWanted ends a request that needs a person's consent, so that the person has
	// all the time they want.
	errWanted = errors.New("the server wants a person to agree")
	// errNobodyToAgree means that there is no terminal to show an address on.
	errNobodyToAgree = errors.New("there is nobody to agree")
)

// A login brings the tokens that a server over HTTP wants. The person is shown an
// address to agree at; nothing is opened for them.
type login struct {
	session   *session
	back      *oauth.Loopback
	files     *tokenFiles
	transport *oauth.Transport
	wanted    atomic.Bool
	ready     atomic.Bool // the person may be asked now
}

func (s *session) newLogin(base http.RoundTripper) (*login, error) {
	l := &login{session: s}
	o := &oauth.Options{Base: base, ClientName: "Bossman", Authorize: l.authorize}
	var err error
	if dir := tokenDir(s.Getenv); dir != "" {
		l.files = &tokenFiles{dir: dir}
		o.Store = l.files
	}
	if l.back, err = oauth.NewLoopback(l.show); err != nil {
		l.close()
		return nil, err
	}
	o.Redirect = l.back.Redirect()
	if l.transport, err = oauth.NewTransport(s.target.url, o); err != nil {
		l.close()
		return nil, console.Errorf(console.Usage, "", "%s is not the address of a server", shownURL(s.target.url))
	}
	return l, nil
}

// tokenDir is where tokens are kept, readable for nobody else.
func tokenDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bossman", "tokens")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "bossman", "tokens")
	}
	return ""
}

func (l *login) authorize(ctx context.Context, address string) (string, error) {
	if !console.IsTerminal(l.session.Stderr) {
		return "", errNobodyToAgree
	}
	if !l.ready.Load() {
		l.wanted.Store(true)
		return "", errWanted
	}
	return l.back.Authorize(ctx, address)
}

// agree lets the person agree before anything else is sent.
func (l *login) agree(ctx context.Context) error {
	l.ready.Store(true)
	return l.transport.Login(ctx)
}

// show shows an address that has been checked.
func (l *login) show(address string) error {
	l.session.progress.Infof("The server wants you to agree. Open this address in a browser of this machine:\n\n  %s\n\nWaiting; Ctrl-C gives up.", address)
	return nil
}

func (l *login) close() {
	if l.back != nil {
		_ = l.back.Close()
	}
	if l.files != nil && l.files.files != nil {
		_ = l.files.files.Close()
	}
}

// tokenFiles is a folder of tokens that is made when there is one to keep.
type tokenFiles struct {
	dir   string
	once  sync.Once
	files *oauth.Files
	err   error
}

var _ oauth.Store = (*tokenFiles)(nil)

func (f *tokenFiles) open() (*oauth.Files, error) {
	f.once.Do(func() { f.files, f.err = oauth.OpenFiles(f.dir) })
	return f.files, f.err
}

// Load finds the record of an issuer. Looking makes no folder.
func (f *tokenFiles) Load(ctx context.Context, issuer string) (*oauth.Record, error) {
	if _, err := os.Lstat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	files, err := f.open()
	if err != nil {
		return nil, err
	}
	return files.Load(ctx, issuer)
}

// Save keeps a record.
func (f *tokenFiles) Save(ctx context.Context, r *oauth.Record) error {
	files, err := f.open()
	if err != nil {
		return err
	}
	return files.Save(ctx, r)
}
