package gateway

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// A redactor removes the secrets of an upstream from texts. Everything that an upstream writes passes it, in one place: it
// is the Redact of the client's options. Errors and logs pass it once more, and lose all configured values.
type redactor struct {
	sure, all atomic.Pointer[strings.Replacer]

	mu      sync.Mutex
	secrets []string
	values  []string // which may be secrets or not
	tokens  []string // that were sent, the last ones
	known   map[string]bool
}

const (
	// minSecret is the length from which a value is looked for. Shorter ones are no secrets, and would make texts unreadable.
	minSecret = 6
	// keptTokens is how many tokens are remembered that were sent to an upstream: an old one may be answered late.
	keptTokens = 4

	redacted = "[redacted]"
)

func newRedactor(u *Upstream) *redactor {
	r := &redactor{secrets: u.secrets()}
	for _, m := range []map[string]auth.Secret{u.Env, u.Headers} {
		for _, v := range m {
			if len(v.Reveal()) >= minSecret {
				r.values = append(r.values, v.Reveal())
			}
		}
	}
	r.buildLocked()
	return r
}

// text returns a text of the upstream without the secrets.
func (r *redactor) text(s string) string { return replace(&r.sure, s) }

// strict returns an error or a line of a log without any configured value.
func (r *redactor) strict(s string) string { return replace(&r.all, s) }

func replace(with *atomic.Pointer[strings.Replacer], s string) string {
	if r := with.Load(); r != nil {
		return r.Replace(s)
	}
	return s
}

// sent notes the value of a header that is sent to the upstream, such as a token that was renewed.
func (r *redactor) sent(authorization string) {
	_, token, ok := strings.Cut(authorization, " ")
	if !ok || len(token) < minSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[token] {
		return
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[token] = true
	if r.tokens = append(r.tokens, token); len(r.tokens) > keptTokens {
		delete(r.known, r.tokens[0])
		r.tokens = r.tokens[1:]
	}
	r.buildLocked()
}

func (r *redactor) buildLocked() {
	secrets := slices.Concat(r.secrets, r.tokens)
	r.sure.Store(newReplacer(secrets))
	r.all.Store(newReplacer(slices.Concat(secrets, r.values)))
}

// newReplacer returns what replaces secrets in all their forms, nil if there are none.
func newReplacer(secrets []string) *strings.Replacer {
	var forms []string
	for _, s := range secrets {
		forms = append(forms, formsOf(s)...)
	}
	if len(forms) == 0 {
		return nil
	}
	// The longest comes first, so that no part of one is left.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, redacted)
	}
	return strings.NewReplacer(pairs...)
}

// formsOf returns the ways in which programs write a secret: as it is, quoted, escaped for a URL, in hexadecimal, and in base64 at any
// place of a longer text.
func formsOf(s string) []string {
	inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
	forms := []string{s, inner(strconv.Quote(s)), inner(string(quote(s))), url.QueryEscape(s), url.PathEscape(s)}
	for _, escaped := range forms[3:] {
		forms = append(forms, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	if len(s) < 2*minSecret {
		return forms
	}
	forms = append(forms, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))))
	for before := range 3 {
		// What stands before and after it decides about the characters at its ends: these are left out.
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), s...))
		text = text[[]int{0, 2, 3}[before] : len(text)-1]
		forms = append(forms, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return forms
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// secrets returns the values of the configuration that must not be shown, and parts of them that are secrets by themselves.
func (u *Upstream) secrets() []string {
	var out []string
	if u.sources != nil {
		out = u.sources()
	}
	for name, v := range u.Env {
		out = append(out, secretsIn(name, v.Reveal(), false)...)
	}
	for name, v := range u.Headers {
		out = append(out, secretsIn(name, v.Reveal(), !plainHeader.MatchString(name))...)
	}
	if a, err := url.Parse(u.URL); err == nil {
		for name, values := range a.Query() {
			for _, v := range values {
				out = append(out, secretsIn(name, v, secretName.MatchString(name) || maybeName.MatchString(name))...)
			}
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < minSecret || protocolWords[s] })
	slices.Sort(out)
	return slices.Compact(out)
}

var (
	secretName  = regexp.MustCompile(`(?i)token|secret|passw|passphrase|_pass$|^pass$|pwd|private|credential|bearer|api_?key|_pat$|^pat$|jwt`)
	maybeName   = regexp.MustCompile(`(?i)key|auth($|[^o])|cred|cookie|session|signing|signature|dsn|webhook`)
	plainWord   = regexp.MustCompile(`^[A-Za-z][a-z]*([-_ ][A-Za-z][a-z]*)*$`)
	plainHeader = regexp.MustCompile(`(?i)^(accept.*|content-.*|user-agent|host|origin|referer|mcp-.*|connection|cache-control)$`)
	keyword     = regexp.MustCompile(`^[A-Za-z]+[-A-Za-z]* `)
	tokenForm   = regexp.MustCompile(`^(gh[a-z]_|github_pat_|glpat-|sk-|[sprk]k_|xox[a-z]-|hf_|npm_|dop_v1_|AKIA|AIza|ya29\.|eyJ|bossman_)`)
	tokenChars  = regexp.MustCompile(`^[A-Za-z0-9+/=_.~-]{24,}$`)
	upper       = regexp.MustCompile(`[A-Z]`)
	lower       = regexp.MustCompile(`[a-z]`)
	digit       = regexp.MustCompile(`[0-9]`)
)

// protocolWords are in so many messages that none would be understood without them, whatever a value is called.
var protocolWords = map[string]bool{
	"object": true, "string": true, "number": true, "integer": true, "boolean": true, "content": true, "properties": true, "description": true, "jsonrpc": true,
	"result": true, "inputSchema": true, "protocolVersion": true, "capabilities": true, "2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true, "2026-07-28": true,
}

// secretsIn returns what is secret in a value: all of it if that is sure, or its name or form says so. Values such as a directory, a project or a mode are
// not: results have them, and agents need them.
func secretsIn(name, value string, sure bool) []string {
	named := secretName.MatchString(name) || maybeName.MatchString(name) && !plainWord.MatchString(value)
	if !sure && !named && !looksSecret(value) {
		return passwordIn(value)
	}
	out := append(passwordIn(value), value)
	if scheme := keyword.FindString(value); scheme != "" { // Bearer, Basic
		rest := strings.TrimSpace(value[len(scheme):])
		out = append(out, rest)
		if b, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "Basic ") {
			_, password, _ := strings.Cut(string(b), ":")
			out = append(out, password)
		}
	}
	for line := range strings.Lines(value) { // of a private key; a log has them one by one
		if line = strings.TrimSpace(line); line != value && len(line) >= 16 && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	return out
}

// passwordIn returns the password in an address, if there is one.
func passwordIn(value string) []string {
	a, err := url.Parse(value)
	if err != nil || a.User == nil {
		return nil
	}
	if password, ok := a.User.Password(); ok {
		return []string{password, value}
	}
	return nil
}

// looksSecret reports whether a value looks like a key or token, whatever it is called: it begins as one, or is long and random.
func looksSecret(value string) bool {
	random := func(of *regexp.Regexp) bool { return len(of.FindAllString(value, 3)) == 3 }
	return tokenForm.MatchString(value) || tokenChars.MatchString(value) && !filepath.IsAbs(value) && random(upper) && random(lower) && random(digit)
}

// redactError returns the error of a call for the caller and the journal. Only an answer of the upstream, and why we cancelled, keep their kind.
func (u *upstream) redactError(err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &jsonrpc.Error{Code: e.Code, Message: u.redact(e.Message), Data: rawjson.EditTexts(e.Data, u.redact)}
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*lostError](err); ok {
		return err
	}
	return errors.New(u.redact(err.Error()))
}

// A redactedLog is a slog.Handler for what is logged about an upstream.
type redactedLog struct {
	slog.Handler
	redact func(string) string
}

func (g *Gateway) logOf(u *upstream) *slog.Logger {
	return slog.New(&redactedLog{g.log.Handler(), u.redact})
}

func (h *redactedLog) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h *redactedLog) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.redact(v.String()))
	case slog.KindAny:
		return slog.String(a.Key, h.redact(fmt.Sprint(v.Any())))
	case slog.KindGroup:
		var members []any
		for _, m := range v.Group() {
			members = append(members, h.attr(m))
		}
		return slog.Group(a.Key, members...)
	}
	return a
}

func (h *redactedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	list := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		list[i] = h.attr(a)
	}
	return &redactedLog{h.Handler.WithAttrs(list), h.redact}
}

func (h *redactedLog) WithGroup(name string) slog.Handler {
	return &redactedLog{h.Handler.WithGroup(name), h.redact}
}
