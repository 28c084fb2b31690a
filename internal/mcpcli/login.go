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
	// errConsentNeeded ends a request that needs a person's consent, so that the request's
	// timeout does not limit the person.
	errConsentNeeded = errors.New("the server requires a person's consent")
	// errNoTerminal means that there is no terminal to show an address on.
	errNoTerminal = errors.New("there is no terminal to ask for consent")
)

// A login gets the tokens that a server over HTTP requires. The person is shown an address
// to consent at; no browser is opened.
type login struct {
	session   *session
	back      *oauth.Loopback
	files     *tokenFiles
	transport *oauth.Transport
	needed    atomic.Bool // a person's consent is needed
	allowed   atomic.Bool // the person may be asked now
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

// tokenDir is the directory of stored tokens, empty if there is no place for one.
func tokenDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bossman", "tokens")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "bossman", "tokens")
	}
	return ""
}

func (l *login) authorize(ctx context.Context, address string) (string, error) {
	if !l.session.ErrIsTerminal() {
		return "", errNoTerminal
	}
	if !l.allowed.Load() {
		l.needed.Store(true)
		return "", errConsentNeeded
	}
	return l.back.Authorize(ctx, address)
}

// getConsent asks the person for consent, before anything else is sent.
func (l *login) getConsent(ctx context.Context) error {
	l.allowed.Store(true)
	return l.transport.Login(ctx)
}

// show shows the address to the person.
func (l *login) show(address string) error {
	l.session.progress.Infof("The server requires your consent. Open this address in a browser on this machine:\n\n  %s\n\nWaiting; Ctrl-C cancels.", address)
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

// tokenFiles stores tokens in a directory, which the first Save creates.
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

// Load returns the record of an issuer, nil if there is none.
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

// Save stores a record.
func (f *tokenFiles) Save(ctx context.Context, r *oauth.Record) error {
	files, err := f.open()
	if err != nil {
		return err
	}
	return files.Save(ctx, r)
}
