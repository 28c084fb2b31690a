package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/pelletier/go-toml/v2"
)

// Settings are what was configured.
type Settings struct {
	Board   string
	DB      auth.Secret // an address may have a password in it
	Project string
	Policy  string
	Areas   []string
	Skills  []string
	Lease   time.Duration
	Notify  []string
	Budget  Budget
	Land    Land
	Review  Review
	// Upstreams are the sections [upstream.NAME] of the user's own file, for package gateway.
	Upstreams map[string]any
	// UpstreamsIgnored says why such sections are not among them; empty if none was left out.
	UpstreamsIgnored string

	// Origin is where each value came from, by the name of its key: a file, a variable, a
	// flag, or default.
	Origin map[string]string
	// Ignored describes keys that a file may not set, and unknown ones.
	Ignored []string
	// Broken is why the project's file, or a part of it, is not used. It is nil unless there
	// is a board already: an agent that breaks the file stops nobody, but a board is not
	// created with other settings than its project wants.
	Broken error

	// check is that of the user's own file, proposed that of the project's.
	check, proposed *Check
	// setup is that of the project's file.
	setup *Setup
	// safe are the directories of others that the user trusts, and gitSafe those that it told git.
	safe    []string
	gitSafe func() []string

	getenv   func(string) string
	location Location
	noBoard  *NoBoardError
}

// Location is where the board is, the zero Location if it is on a server that a flag or a
// variable names. The error is a *NoBoardError.
func (s *Settings) Location() (Location, error) {
	if s.noBoard != nil {
		return Location{}, s.noBoard
	}
	return s.location, nil
}

// originDefault is the origin of a value that was not set.
const originDefault = "default"

func newSettings() *Settings {
	s := &Settings{Policy: string(board.PolicyEvidence), Land: defaultLand, Origin: map[string]string{}}
	s.gitSafe = sync.OnceValue(func() []string { return git.SafeDirectories(context.Background()) })
	for _, k := range keys {
		s.Origin[k.Name] = originDefault
	}
	return s
}

// IsSet reports whether a key was set by a flag, a variable or a file.
func (s *Settings) IsSet(key string) bool { return s.Origin[key] != originDefault }

// readFile reads the settings in a file. One that does not exist has none. If a value is
// wrong, the others are set all the same, and the error is about the first such value.
func (s *Settings) readFile(path string, inProject bool) error {
	read := readOwn
	if inProject {
		read = func(path string) ([]byte, error) { return readInside(filepath.Dir(filepath.Dir(path)), path) }
	}
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return console.WithNext(fmt.Errorf("read the configuration: %w", err), fmt.Sprintf("replace %q with a readable file, or remove it", path))
	}
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		return console.WithNext(&syntaxError{path: path, err: err, board: boardLine.Match(text)}, "correct that line, or restore the file with git")
	}
	var first error
	wrong := func(where string, err error) {
		if first == nil {
			first = console.WithNext(fmt.Errorf("%s in %q: %w", where, path, err), "correct "+where+" there, or remove it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
		switch {
		case name == "check":
			if err := s.setCheck(path, file[name], inProject); err != nil {
				wrong("[check]", err)
			}
			continue
		case name == "budget":
			if err := s.setBudget(path, file[name], inProject); err != nil {
				wrong("[budget]", err)
			}
			continue
		case name == "land":
			if err := s.setLand(path, file[name], inProject); err != nil {
				wrong("[land]", err)
			}
			continue
		case name == "review":
			if err := s.setReview(path, file[name]); err != nil {
				wrong("[review]", err)
			}
			continue
		case name == "work" && inProject:
			var err error
			if s.setup, err = readSetup(file[name]); err != nil {
				wrong("[work]", err)
			}
			continue
		case name == "work":
			s.Ignored = append(s.Ignored, fmt.Sprintf("[work] in %q: a project's file may set it, your own may not", path))
			continue
		case name == "upstream":
			if err := s.setUpstreams(path, file[name], inProject); err != nil {
				wrong("[upstream]", err)
			}
			continue
		case name == "safe" && !inProject:
			if worldWritable(path) {
				s.ignoreForeign("[safe]", path)
				continue
			}
			if err := s.setSafe(file[name]); err != nil {
				wrong("[safe]", err)
			}
			continue
		case i < 0:
			s.Ignored = append(s.Ignored, fmt.Sprintf("%.80q in %q: there is no such key", name, path))
			continue
		case inProject && !keys[i].inProject:
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %q: a project's file may not set it, your own may", name, path))
			continue
		case inProject && name == "board" && !isServerName(file[name]):
			s.Ignored = append(s.Ignored, fmt.Sprintf("board in %q: a project's file may name a server, but no file: the repository could bring one", path))
			continue
		case (name == "db" || name == "board") && !inProject && worldWritable(path):
			s.ignoreForeign(name, path)
			continue
		case keys[i].runs && worldWritable(path):
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %s: the file is world-writable, so no command in it is run; fix it with: chmod o-w %s", name, path, path))
			continue
		}
		if err := keys[i].set(s, file[name]); err != nil {
			wrong(name, err)
			continue
		}
		s.Origin[name] = path
	}
	return first
}

// boardLine is a line that sets the key board, in a file that is not TOML.
var boardLine = regexp.MustCompile(`(?m)^\s*["']?board["']?\s*=`)

// A syntaxError says where a file is not TOML.
type syntaxError struct {
	path  string
	err   error
	board bool // it has a line for the key board, which may name a server
}

func (e *syntaxError) Error() string {
	where, why := e.path, strings.TrimPrefix(e.err.Error(), "toml: ")
	if broken, ok := errors.AsType[*toml.DecodeError](e.err); ok {
		row, col := broken.Position()
		where = fmt.Sprintf("%s:%d:%d", e.path, row, col)
	}
	return fmt.Sprintf("%q is not TOML: %.200q", where, why)
}

// setCheck takes the section [check]. That of a project's file is only proposed.
func (s *Settings) setCheck(path string, v any, inProject bool) (err error) {
	if inProject {
		s.proposed, err = readCheck(v)
		return err
	}
	if worldWritable(path) {
		s.Ignored = append(s.Ignored, fmt.Sprintf("[check] in %s: the file is world-writable, so no command in it is run; fix it with: chmod o-w %s", path, path))
		return nil
	}
	s.check, err = readCheck(v)
	s.Origin["check"] = path
	return err
}

// isServerName reports whether a value names a server.
func isServerName(v any) bool {
	text, ok := v.(string)
	return ok && IsServer(text)
}

// worldWritable reports whether everybody may write a file. Group permissions do not
// matter: a group often has one member.
func worldWritable(path string) bool {
	info, err := os.Stat(path)
	return err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

// ignoreForeign notes that a world-writable file does not set something, because others may have written it.
func (s *Settings) ignoreForeign(what, path string) {
	s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %s: the file is world-writable, so others may have written it; fix it with: chmod o-w %s", what, path, path))
}

// readEnv reads the settings in the environment.
func (s *Settings) readEnv(getenv func(string) string) error {
	for _, k := range keys {
		if k.Env == "" {
			continue
		}
		if v := getenv(k.Env); v != "" {
			if err := k.set(s, v); err != nil {
				return fmt.Errorf("%s: %w", k.Env, err)
			}
			s.Origin[k.Name] = k.Env
		}
	}
	return nil
}

// set sets a key by its name.
func (s *Settings) set(name string, v any, origin string) error {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if err := keys[i].set(s, v); err != nil {
		return err
	}
	s.Origin[name] = origin
	return nil
}

// userFile is the user's own configuration file, empty if there is no place for one.
func userFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bossman", "config.toml")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "bossman", "config.toml")
	}
	return ""
}

func projectFile(root string) string { return filepath.Join(root, ".bossman", "config.toml") }

// HomeProject is the project that the first write to a board in a file creates.
func (s *Settings) HomeProject(name string) *board.Project {
	p := &board.Project{Slug: s.Project, Name: name, Policy: board.Policy(s.Policy), Lease: s.Lease, Skills: s.Skills}
	if p.Slug == "" {
		p.Slug = slug(name)
	}
	return p
}

// HidePassword is a database's address without its password, for people.
func HidePassword(dsn auth.Secret) string {
	if dsn == "" {
		return ""
	}
	u, err := url.Parse(dsn.Reveal())
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return "(not an address)"
	}
	q := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if q.Has(name) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

// slug makes a project's short name from the name of a directory.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		letter := c >= 'a' && c <= 'z'
		digit := c >= '0' && c <= '9'
		if letter || digit && b.Len() > 0 {
			b.WriteRune(c)
		}
		if b.Len() == 16 {
			break
		}
	}
	if b.Len() == 0 {
		return "board"
	}
	return b.String()
}
