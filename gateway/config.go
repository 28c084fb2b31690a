package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
)

// An Upstream is a server behind the gateway, as the operator configured it.
type Upstream struct {
	Name string

	// Command is the program and its arguments, of a server that runs as a child
	// process. It sees Env, and little of this process's environment. It runs in Dir, an absolute path or Here, or
	// else in an empty directory.
	Command []string
	Dir     string
	Env     map[string]auth.Secret

	// URL is the address of a server over HTTP, and Headers are sent with each
	// request. Private allows addresses that are not public.
	URL     string
	Headers map[string]auth.Secret
	Private bool
	// OAuth sends the operator's token, see Options.Authorize.
	OAuth bool

	// sources returns secrets that values of Env and Headers were made from. As a function it is not printed.
	sources func() []string

	// Dial connects to a server that has a gateway of its own; see NewRelay.
	Dial func(context.Context, *mcp.ClientOptions) (*mcp.Client, error)

	Share Share
	// Class says which calls need a claim. Read, Claim and Open are patterns of tools
	// that have another class than the upstream.
	Class             Class
	Read, Claim, Open []string
	// Allow and Deny are patterns of tools. An empty Allow means all.
	Allow, Deny []string
	// Pin are patterns of tools that are listed by name for every client.
	Pin []string
	// List says how tools are listed: auto, real or search.
	List string
	// TrustFirst pins definitions that are seen for the first time, without a
	// person's approval. VolatileMeta are members of _meta that may change.
	TrustFirst   bool
	VolatileMeta []string

	// Max is the number of concurrent calls, Timeout the time limit of one, and Idle how
	// long the server may be unused until it is stopped.
	Max           int
	Timeout, Idle time.Duration
	// JournalArguments records the arguments of calls, not only their hash.
	JournalArguments bool
}

// A Share says who shares a process of an upstream.
type Share string

const (
	ShareOwn    Share = "own"     // nobody: one for each connection, or key
	ShareAll    Share = "shared"  // everybody
	SharePerKey Share = "per-key" // the connections of one key
)

// A Class says which calls of a tool need a claim.
type Class string

const (
	ClassUnset Class = ""      // those of workers, not those of leads
	ClassRead  Class = "read"  // none
	ClassClaim Class = "claim" // all
)

const (
	defaultTimeout = time.Minute
	defaultIdle    = 10 * time.Minute
	maxOnPipe      = 16
	maxOverHTTP    = 64
)

// ReadUpstreams reads the sections [upstream.NAME] of the operator's file. Values of env and headers
// have ${VAR}, which lookup expands, or are file:PATH.
func ReadUpstreams(sections map[string]any, lookup func(string) (string, bool)) ([]Upstream, error) {
	var list []Upstream
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if !upstreamName.MatchString(name) {
			return nil, fmt.Errorf("[upstream.%s]: a name is at most 16 of a-z 0-9, and begins with a letter", name)
		}
		table, ok := sections[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("[upstream.%s] must be a section", name)
		}
		u, err := readUpstream(name, table, lookup)
		if err != nil {
			return nil, fmt.Errorf("[upstream.%s]: %w", name, err)
		}
		list = append(list, u)
	}
	return list, nil
}

func readUpstream(name string, table map[string]any, lookup func(string) (string, bool)) (Upstream, error) {
	r := &tableReader{table: table, lookup: lookup}
	u := Upstream{
		Name: name, Command: r.strings("command"), Dir: r.string("dir"), Env: r.secrets("env"),
		URL: r.string("url"), Headers: r.secrets("headers"), Private: r.bool("private"), OAuth: r.bool("oauth"),
		Share: Share(r.choice("share", "own", "shared", "per-key")), Class: Class(r.choice("class", "", "read", "claim")),
		Pin: r.strings("pin"), List: r.choice("list", "auto", "real", "search"),
		TrustFirst: r.choice("trust", "", "first") == "first", VolatileMeta: r.strings("volatile"),
		Max: r.int("max"), Timeout: r.duration("timeout", defaultTimeout), Idle: r.duration("idle", defaultIdle),
		JournalArguments: r.choice("journal", "", "arguments") == "arguments",
	}
	tools := r.sub("tools")
	u.Allow, u.Deny = tools.strings("allow"), tools.strings("deny")
	u.Read, u.Claim, u.Open = tools.strings("read"), tools.strings("claim"), tools.strings("open")
	for _, list := range [][]string{u.Allow, u.Deny, u.Read, u.Claim, u.Open, u.Pin} {
		for _, pattern := range list {
			if _, err := path.Match(pattern, "x"); err != nil {
				r.fail("%q is not a pattern", pattern)
			}
		}
	}
	u.sources = func() []string { return slices.Clone(r.sources) }
	r.err = cmp.Or(r.err, tools.finish("tools."), r.finish(""))
	switch {
	case r.err != nil:
		return u, r.err
	case (len(u.Command) > 0) == (u.URL != ""):
		return u, fmt.Errorf("either command or url is needed")
	case u.URL != "" && (u.Dir != "" || len(u.Env) > 0):
		return u, fmt.Errorf("dir and env are for a command")
	case len(u.Command) > 0 && (len(u.Headers) > 0 || u.Private || u.OAuth):
		return u, fmt.Errorf("headers, private and oauth are for a url")
	case u.Max < 0 || u.Timeout <= 0 || u.Idle <= 0:
		return u, fmt.Errorf("max, timeout and idle must be positive")
	}
	if len(u.Command) > 0 {
		if err := u.checkDir(); err != nil {
			return u, err
		}
	}
	if u.URL != "" {
		if a, err := url.Parse(u.URL); err != nil || a.Host == "" || a.User != nil || a.Scheme != "https" && a.Scheme != "http" {
			return u, fmt.Errorf("url: %q is not an address such as https://host/mcp", u.URL)
		}
	}
	u.Max = cmp.Or(u.Max, maxOnPipe)
	if u.URL != "" && table["max"] == nil {
		u.Max = maxOverHTTP
	}
	return u, nil
}

// classOf returns the class of a tool.
func (u *Upstream) classOf(tool string) Class {
	switch {
	case matches(u.Claim, tool):
		return ClassClaim
	case matches(u.Open, tool):
		return ClassUnset
	case matches(u.Read, tool):
		return ClassRead
	}
	return u.Class
}

// offers reports whether the operator allows a tool.
func (u *Upstream) offers(tool string) bool {
	return (len(u.Allow) == 0 || matches(u.Allow, tool)) && !matches(u.Deny, tool)
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

// A tableReader reads a table of a configuration file. The first wrong value is the error.
type tableReader struct {
	table  map[string]any
	known  []string
	lookup func(string) (string, bool)
	err    error

	sources []string // secrets of variables and files
}

func (r *tableReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func read[T any](r *tableReader, name, want string) (v T) {
	r.known = append(r.known, name)
	raw, ok := r.table[name]
	if !ok {
		return v
	}
	if v, ok = raw.(T); !ok {
		r.fail("%s: want %s", name, want)
	}
	return v
}

func (r *tableReader) string(name string) string { return read[string](r, name, "text") }
func (r *tableReader) bool(name string) bool     { return read[bool](r, name, "true or false") }
func (r *tableReader) int(name string) int       { return int(read[int64](r, name, "a number")) }

func (r *tableReader) strings(name string) []string {
	var out []string
	for _, v := range read[[]any](r, name, "an array of texts") {
		s, ok := v.(string)
		if !ok {
			r.fail("%s: want an array of texts", name)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// choice reads one of several texts; the first is the default.
func (r *tableReader) choice(name string, options ...string) string {
	v := cmp.Or(r.string(name), options[0])
	if !slices.Contains(options, v) {
		r.fail("%s: %q is not one of the choices: %s", name, v, strings.Join(slices.DeleteFunc(slices.Clone(options), func(o string) bool { return o == "" }), ", "))
	}
	return v
}

func (r *tableReader) duration(name string, otherwise time.Duration) time.Duration {
	text := r.string(name)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		r.fail("%s: %q is not a duration such as 90s or 10m", name, text)
	}
	return d
}

func (r *tableReader) secrets(name string) map[string]auth.Secret {
	table := read[map[string]any](r, name, "a table of texts")
	if len(table) == 0 {
		return nil
	}
	out := map[string]auth.Secret{}
	for key, v := range table {
		text, ok := v.(string)
		if !ok {
			r.fail("%s.%s: want text", name, key)
			return nil
		}
		value, err := r.expand(text)
		if err != nil {
			r.fail("%s.%s: %w", name, key, err)
		}
		out[key] = auth.Secret(value)
	}
	return out
}

func (r *tableReader) sub(name string) *tableReader {
	return &tableReader{table: read[map[string]any](r, name, "a table"), lookup: r.lookup}
}

// finish returns the first error, also for a name that nobody reads.
func (r *tableReader) finish(prefix string) error {
	for _, name := range slices.Sorted(maps.Keys(r.table)) {
		if !slices.Contains(r.known, name) {
			r.fail("there is no %s%s", prefix, name)
		}
	}
	return r.err
}

// expand replaces ${VAR} by its value, and file:PATH by the first line of a file.
func (r *tableReader) expand(text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "file:"); ok {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("%q is not an absolute path", name)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		line, _, _ := strings.Cut(string(b), "\n")
		line = strings.TrimSpace(line)
		r.sources = append(r.sources, secretsIn(name, line, true)...)
		return line, nil
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has ${ without }", text)
		}
		value, ok := r.lookup(name)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", name)
		}
		r.sources = append(r.sources, secretsIn(name, value, false)...)
		out.WriteString(value)
		text = after
	}
}
