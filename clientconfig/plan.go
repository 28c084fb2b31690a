package clientconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrOther means that a file has another entry of the same name.
var ErrOther = errors.New("is another entry")

// ErrUnsupported means that a client cannot have such an entry.
var ErrUnsupported = errors.New("not supported")

// An Entry is a server to add to a client's files. It has Args or URL.
type Entry struct {
	Name string
	Args []string // program and arguments
	URL  string
	// Pass lists environment variables to pass on, for clients that pass on only a few by default.
	Pass []string
	// KeyName is the environment variable with the key that is sent to URL as a bearer token; empty if
	// none is sent. VS Code asks for the key instead.
	KeyName string
	// Hook is a command line for clients that run commands at events; the name of the event is added
	// to it. Empty means none.
	Hook string
	// Replace replaces another entry of the same name.
	Replace bool
}

// A Plan is a change of one file. Nothing is written before Write.
type Plan struct {
	File File
	Keys []string // what is added or removed: mcpServers.bossman
	// Old and New are the text of the file before and after. Old is nil if there is no file,
	// and New if it is removed.
	Old, New []byte
	// Added is what Install adds, as a file of its own.
	Added []byte
	// Extra is what an entry that was there already has besides what Install would add, such as
	// mcpServers.bossman.env. Others may have written it, if the file is a project's.
	Extra []string
	// Backup is a file with the text from before the first change, which Write makes if it is not there;
	// empty if there is nothing to keep.
	Backup string
	// Restored is set if New has all that was there before the first change: Write removes the backup.
	Restored bool

	project string
	limit   int64
}

// Changed reports whether there is anything to write.
func (p *Plan) Changed() bool {
	return (p.Old == nil) != (p.New == nil) || !bytes.Equal(p.Old, p.New)
}

// Desktop reports whether the client is usually not started from a shell, so that it may have another PATH.
func (c *Client) Desktop() bool { return c.row.Install.Desktop }

// Elsewhere reports whether the client starts its servers outside the project.
func (c *Client) Elsewhere() bool { return c.row.Install.Elsewhere }

// HasScope reports whether the client has a file of a scope.
func (c *Client) HasScope(s Scope) bool {
	return s == User || s == Project && len(c.row.Project) > 0
}

// HasHooks reports whether the client runs commands at events.
func (c *Client) HasHooks() bool { return c.row.Install.Hooks != nil }

// Notes returns what users of an entry have to know, a sentence each.
func (c *Client) Notes(s Scope) (notes []string) {
	for _, scope := range []Scope{"", s} {
		if text := c.row.Install.Note[scope]; text != "" {
			notes = append(notes, text)
		}
	}
	return notes
}

// Present reports whether the client seems to be installed: it has a file or a directory of its own.
func (c *Client) Present(p Places) bool {
	paths := forOS(c.row.User, p.OS)
	if h := c.row.Install.Hooks; h != nil {
		paths = append(paths[:len(paths):len(paths)], forOS(h.User, p.OS)...)
	}
	for _, path := range paths {
		path, ok := p.resolve(path)
		if !ok {
			continue
		}
		if dir := filepath.Dir(path); dir != filepath.Clean(p.Home) {
			path = dir
		}
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// Install plans how an entry is added to the client's files. A file that has it already is not changed.
func (c *Client) Install(p Places, scope Scope, e Entry) ([]*Plan, error) {
	changes, err := c.entry(&e)
	if err != nil {
		return nil, err
	}
	main, err := c.plan(p, scope, c.row.User, c.row.Project)
	if err != nil {
		return nil, err
	}
	if err := main.put(c.row.Format, changes, e.Replace); err != nil {
		return nil, &Error{File: main.File.Path, Err: err}
	}
	plans := []*Plan{main}
	if h := c.row.Install.Hooks; h != nil && e.Hook != "" {
		more, err := c.plan(p, scope, h.User, h.Project)
		if err != nil {
			return nil, err
		}
		if err := more.put("json", h.changes(e.Hook), true); err != nil {
			return nil, &Error{File: more.File.Path, Err: err}
		}
		plans = append(plans, more)
	}
	return plans, nil
}

// Uninstall plans how the entry with the name of e, and hooks that Install added, are removed. If a file was not
// changed since, it gets the text from before.
func (c *Client) Uninstall(p Places, scope Scope, e Entry) ([]*Plan, error) {
	main, err := c.plan(p, scope, c.row.User, c.row.Project)
	if err != nil {
		return nil, err
	}
	changes := []*change{{path: append(append([]string{}, c.row.Key...), e.Name)}}
	if in := c.row.Install.Input; in != nil {
		changes = append(changes, c.input())
	}
	if err := main.cut(c.row.Format, changes); err != nil {
		return nil, &Error{File: main.File.Path, Err: err}
	}
	plans := []*Plan{main}
	if h := c.row.Install.Hooks; h != nil {
		more, err := c.plan(p, scope, h.User, h.Project)
		if err != nil {
			return nil, err
		}
		if err := more.cut("json", h.changes(e.Hook)); err != nil {
			return nil, &Error{File: more.File.Path, Err: err}
		}
		plans = append(plans, more)
	}
	return plans, nil
}

// entry returns the changes that add an entry.
func (c *Client) entry(e *Entry) ([]*change, error) {
	for _, text := range append([]string{e.Name, e.URL, e.KeyName, e.Hook}, e.Args...) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%q cannot be written to a configuration file: it is not UTF-8", text)
		}
	}
	in := c.row.Install
	template := in.Stdio
	if e.URL != "" {
		template = in.HTTP
	}
	if template == nil {
		return nil, fmt.Errorf("%s starts servers itself: a URL is %w", c.Title, ErrUnsupported)
	}
	value := readTemplate(template).(ordered)
	changes := []*change{{path: append(append([]string{}, c.row.Key...), e.Name)}}
	if e.KeyName != "" && e.URL != "" {
		if in.Key == nil {
			return nil, fmt.Errorf("%s reads no key from a variable, and a key in its file is %w", c.Title, ErrUnsupported)
		}
		value = value.with(readTemplate(in.Key).(ordered))
		if in.Input != nil {
			changes = append(changes, c.input())
		}
	}
	changes[0].value = fill(value, e)
	return changes, nil
}

// input is the change that adds the input for a key.
func (c *Client) input() *change {
	value := readTemplate(c.row.Install.Input).(ordered)
	id := ""
	for _, m := range value {
		if m.name == "id" {
			id = m.value.(string)
		}
	}
	return &change{path: []string{c.row.Inputs}, value: value, ours: func(v any) bool {
		m, _ := v.(map[string]any)
		return m["id"] == id
	}}
}

// changes returns the changes that add a command to each event.
func (h *hooks) changes(command string) (all []*change) {
	for _, event := range h.Events {
		value := ordered{{"hooks", []any{ordered{
			{"type", "command"},
			{"command", command + " " + event},
			{"timeout", int64(hookTimeout)},
		}}}}
		all = append(all, &change{path: []string{"hooks", event}, value: value, ours: func(v any) bool { return isHook(v, command, event) }})
	}
	return all
}

// isHook reports whether an element of an event's list is a hook of Bossman and nothing else: command, or
// another program with bossman in its name.
func isHook(v any, command, event string) bool {
	m, _ := v.(map[string]any)
	list, _ := m["hooks"].([]any)
	if len(list) != 1 {
		return false
	}
	m, _ = list[0].(map[string]any)
	have, _ := m["command"].(string)
	program, ok := strings.CutSuffix(have, " hook "+event)
	name := program[strings.LastIndexAny(program, `/\`)+1:]
	return have == command+" "+event || ok && oneWord.MatchString(program) && strings.Contains(name, "bossman")
}

// oneWord matches a word of a shell.
var oneWord = regexp.MustCompile(`^('[^']*'|"[^"$\x60]*"|[\w./\\:~+-]+)$`)

// plan reads the file of a scope that is to be changed: of several the one that takes precedence, or, if there is
// none yet, the one with the shortest name.
func (c *Client) plan(p Places, scope Scope, user, project map[string][]string) (*Plan, error) {
	if !c.HasScope(scope) {
		return nil, fmt.Errorf("%s has no file for a project: the scope %s is %w", c.Title, scope, ErrUnsupported)
	}
	if scope == Project && p.Project == "" {
		return nil, errors.New("there is no project here")
	}
	one := Client{Title: c.Title, row: row{User: user, Project: project}}
	var best *Plan
	for _, f := range one.Files(p) {
		if f.Scope != scope {
			continue
		}
		limit := cmp.Or(c.row.Limit, maxFile)
		next := &Plan{File: f, limit: limit}
		if scope == Project {
			next.project, next.limit = p.Project, maxProject
		}
		if err := next.read(); err != nil {
			return nil, &Error{File: f.Path, Err: err}
		}
		if best == nil || next.Old != nil || best.Old == nil && len(f.Path) < len(best.File.Path) {
			best = next
		}
	}
	if best == nil {
		return nil, fmt.Errorf("where %s keeps its files is not known: HOME is not set", c.Title)
	}
	return best, nil
}

// put sets New.
func (p *Plan) put(format string, changes []*change, replace bool) error {
	tree, err := parse(format, p.Old)
	if err != nil {
		return err
	}
	var missing []*change
	for _, c := range changes {
		if err := checkPath(tree, c); err != nil {
			return err
		}
		want := wanted(format, c)
		have, ok := lookup(tree, c)
		switch {
		case ok && contains(have, want):
			p.Extra = append(p.Extra, extra(c.String(), have, want)...)
			continue
		case ok && !replace && !contains(want, have): // it is not merely incomplete
			return fmt.Errorf("%s %w", c, ErrOther)
		}
		missing = append(missing, c)
		p.Keys = append(p.Keys, c.String())
	}
	if p.New = p.Old; len(missing) == 0 {
		return nil
	}
	if p.Added, err = putAll(format, nil, missing); err != nil {
		return err
	}
	if p.New, err = putAll(format, p.Old, missing); errors.Is(err, errByHand) {
		return fmt.Errorf("%w: add this by hand:\n%s", err, p.Added)
	}
	return err
}

// cut sets New.
func (p *Plan) cut(format string, changes []*change) error {
	tree, err := parse(format, p.Old)
	if err != nil {
		return err
	}
	var there []*change
	for _, c := range changes {
		if _, ok := lookup(tree, c); ok {
			there = append(there, c)
			p.Keys = append(p.Keys, c.String())
		}
	}
	if p.New = p.Old; len(there) == 0 {
		return nil
	}
	before, err := p.readBackup()
	if err != nil {
		return err
	}
	old, err := parse(format, before)
	replaced := err != nil || slices.ContainsFunc(there, func(c *change) bool { _, ok := lookup(old, c); return ok })
	if replaced { // another entry of the same name, which is not to come back
		before = nil
	}
	if p.New, err = cutAll(format, p.Old, before, there); err != nil {
		if errors.Is(err, errByHand) {
			err = fmt.Errorf("%w: remove the entry by hand", err)
		}
		return err
	}
	left, err := parse(format, p.New)
	if err != nil {
		return err
	}
	p.Restored = bytes.Equal(p.New, before) || replaced && equal(without(old, there), without(left, nil))
	if before == nil && len(left) == 0 && !bytes.ContainsAny(p.New, "#/") {
		p.New = nil // nothing was there before, and nobody has added anything
	}
	return nil
}
