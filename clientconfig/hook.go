package clientconfig

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// A Hook is a command of Bossman that a client runs at an event.
type Hook struct {
	File    File
	Event   string
	Program string // without quotes
}

// Hooks returns the hooks of Bossman in the client's files. The error reports files that cannot be read; the hooks of
// the other files are returned anyway.
func (c *Client) Hooks(p Places) (list []Hook, err error) {
	h := c.row.Install.Hooks
	if h == nil {
		return nil, nil
	}
	var errs []error
	files := Client{row: row{User: h.User, Project: h.Project}}
	for _, f := range files.Files(p) {
		var text []byte
		if f.Scope == User {
			text, err = readFile(f.Path, cmp.Or(c.row.Limit, maxFile), os.OpenFile, nil)
		} else {
			text, err = readInside(p.Project, f.Path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var tree map[string]any
		if err == nil {
			tree, err = parse("json", text)
		}
		if err != nil {
			errs = append(errs, &Error{File: f.Path, Err: err})
			continue
		}
		events, _ := tree["hooks"].(map[string]any)
		for _, event := range h.Events {
			groups, _ := events[event].([]any)
			for _, g := range groups {
				if program, ok := hookProgram(g, event); ok {
					list = append(list, Hook{f, event, program})
				}
			}
		}
	}
	return list, errors.Join(errs...)
}

// hookProgram returns the program of a hook of Bossman.
func hookProgram(group any, event string) (string, bool) {
	if !isHook(group, "", event) {
		return "", false
	}
	hook := group.(map[string]any)["hooks"].([]any)[0].(map[string]any)
	program := strings.TrimSuffix(hook["command"].(string), " hook "+event)
	if n := len(program) - 1; n > 0 && strings.ContainsRune(`'"`, rune(program[0])) && program[n] == program[0] {
		program = program[1:n]
	}
	return program, true
}
