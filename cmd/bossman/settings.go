package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/pelletier/go-toml/v2"
)

// settings is what was configured. Each value has an origin.
type settings struct {
	Board   string
	DB      auth.Secret // an address may have a password in it
	Project string
	Policy  string
	Areas   []string
	Skills  []string
	Lease   time.Duration
	Notify  []string

	// Origin says where a value came from, by key.
	Origin map[string]string
	// Ignored are keys that a file may not set, or that nobody knows.
	Ignored []string
}

// A key of the configuration. A file in a project may come from anybody, so only
// what cannot run anything is taken from there.
type settingKey struct {
	name      string
	inProject bool
	env       string
	// runs is set for a command: it is not taken from a file that everybody may write.
	runs bool
	set  func(s *settings, v any) error
	get  func(s *settings) any
}

var settingKeys = []settingKey{
	{
		"board", true, "BOSSMAN_BOARD", false, func(s *settings, v any) error { return setText(&s.Board, v) },
		func(s *settings) any { return s.Board },
	},
	{
		"db", false, "BOSSMAN_DB", false, func(s *settings, v any) error { return setSecret(&s.DB, v) },
		func(s *settings) any { return hidePassword(s.DB) },
	},
	{
		"project", true, "BOSSMAN_PROJECT", false, func(s *settings, v any) error {
			if err := setText(&s.Project, v); err != nil {
				return err
			}
			if s.Project != "" && !board.ValidSlug(s.Project) {
				return fmt.Errorf("%q cannot be a project's name: a lower-case letter, then at most 15 letters and digits", s.Project)
			}
			return nil
		},
		func(s *settings) any { return s.Project },
	},
	{
		"policy", true, "BOSSMAN_POLICY", false, func(s *settings, v any) error {
			if err := setText(&s.Policy, v); err != nil {
				return err
			}
			switch board.Policy(s.Policy) {
			case board.PolicyEvidence, board.PolicyTrust, board.PolicyPerson:
				return nil
			}
			return fmt.Errorf("%q is none of evidence, trust, person", s.Policy)
		},
		func(s *settings) any { return s.Policy },
	},
	{
		"areas", true, "BOSSMAN_AREAS", false, func(s *settings, v any) error { return setList(&s.Areas, v) },
		func(s *settings) any { return s.Areas },
	},
	{
		"skills", true, "BOSSMAN_SKILLS", false, func(s *settings, v any) error { return setList(&s.Skills, v) },
		func(s *settings) any { return s.Skills },
	},
	{
		"lease", true, "BOSSMAN_LEASE", false, func(s *settings, v any) error { return setDuration(&s.Lease, v) },
		func(s *settings) any {
			if s.Lease == 0 {
				return ""
			}
			return s.Lease.String()
		},
	},
	{
		"notify", false, "", true, func(s *settings, v any) error { return setWords(&s.Notify, v) },
		func(s *settings) any { return s.Notify },
	},
}

// originDefault is where a value comes from that nobody has set.
const originDefault = "default"

func newSettings() *settings {
	s := &settings{Policy: string(board.PolicyEvidence), Origin: map[string]string{}}
	for _, k := range settingKeys {
		s.Origin[k.name] = originDefault
	}
	return s
}

// explicit reports whether somebody has set a key.
func (s *settings) explicit(key string) bool { return s.Origin[key] != originDefault }

// readFile takes what a file says. A file that is not there says nothing.
func (s *settings) readFile(path string, inProject bool) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		if broken, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, col := broken.Position()
			return fmt.Errorf("%s:%d:%d is not TOML: %w", path, row, col, err)
		}
		return fmt.Errorf("%s is not TOML: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		i := slices.IndexFunc(settingKeys, func(k settingKey) bool { return k.name == name })
		switch {
		case i < 0:
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %s: there is no such key", name, path))
			continue
		case inProject && !settingKeys[i].inProject:
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %s: a project's file may not set it, your own may", name, path))
			continue
		case inProject && name == "board" && !boardFromProject(filepath.Dir(filepath.Dir(path)), file[name]):
			s.Ignored = append(s.Ignored, fmt.Sprintf("board in %s: a project's file may name a server or a path inside the project", path))
			continue
		case settingKeys[i].runs && everybodyWrites(path):
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s in %s: everybody may write this file, so nothing in it is run; mend it with: chmod o-w %s", name, path, path))
			continue
		}
		if err := settingKeys[i].set(s, file[name]); err != nil {
			return fmt.Errorf("%s in %s: %w", name, path, err)
		}
		s.Origin[name] = path
	}
	return nil
}

// boardFromProject tells what a project's own file may say about its board: it must
// not lead to the board of another project, by a link neither.
func boardFromProject(root string, v any) bool {
	text, ok := v.(string)
	if !ok || isURL(text) {
		return ok
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return false
	}
	defer dir.Close()
	for _, name := range []string{text, boardFile(text)} {
		if _, err := dir.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// boardFile is the file of a board that is named by it or by its folder.
func boardFile(name string) string {
	if strings.HasSuffix(name, ".db") {
		return name
	}
	return filepath.Join(name, "board.db")
}

// everybodyWrites reports whether everybody may write a file. A group often has one member.
func everybodyWrites(path string) bool {
	info, err := os.Stat(path)
	return err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

// readEnv takes what the environment says.
func (s *settings) readEnv(getenv func(string) string) error {
	for _, k := range settingKeys {
		if k.env == "" {
			continue
		}
		if v := getenv(k.env); v != "" {
			if err := k.set(s, v); err != nil {
				return fmt.Errorf("%s: %w", k.env, err)
			}
			s.Origin[k.name] = k.env
		}
	}
	return nil
}

// readFlag takes what the command line says.
func (s *settings) readFlag(name, v string) error {
	i := slices.IndexFunc(settingKeys, func(k settingKey) bool { return k.name == name })
	if err := settingKeys[i].set(s, v); err != nil {
		return console.Usagef("--%s: %v", name, err)
	}
	s.Origin[name] = "--" + name
	return nil
}

// userFile is the configuration of whoever runs this.
func userFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bossman", "config.toml")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "bossman", "config.toml")
	}
	return ""
}

func projectFile(root string) string { return filepath.Join(root, ".bossman", "config.toml") }

// homeProject is the project that the first write makes.
func (s *settings) homeProject(name string) *board.Project {
	p := &board.Project{Slug: s.Project, Name: name, Policy: board.Policy(s.Policy), Lease: s.Lease, Skills: s.Skills}
	if p.Slug == "" {
		p.Slug = slug(name)
	}
	return p
}

func setText(to *string, v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%v is not a text", v)
	}
	*to = strings.TrimSpace(text)
	return nil
}

// setSecret takes a text, and does not repeat what is none.
func setSecret(to *auth.Secret, v any) error {
	if _, ok := v.(string); !ok {
		return errors.New("it is not a text")
	}
	return setText((*string)(to), v)
}

// setList takes an array, or a text with commas.
func setList(to *[]string, v any) error {
	if text, ok := v.(string); ok {
		*to = board.SplitList(text)
		return nil
	}
	return setWords(to, v)
}

func setWords(to *[]string, v any) error {
	items, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%v is not a list of texts", v)
	}
	*to = nil
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return fmt.Errorf("%v is not a text", item)
		}
		*to = append(*to, text)
	}
	return nil
}

func setDuration(to *time.Duration, v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf(`%v is not a time such as "10m"`, v)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 24*time.Hour {
		return fmt.Errorf(`%q is not a time such as "10m", of at most 24h`, text)
	}
	*to = d
	return nil
}

func isURL(s string) bool { return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") }

// hidePassword shows a database's address without what opens it.
func hidePassword(dsn auth.Secret) string {
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
