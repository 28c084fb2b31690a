package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Check is the section [check] of a configuration file: the command that decides
// whether work is done.
type Check struct {
	// Command is the program and its arguments.
	Command []string `json:"command"`
	// Line is set if the command was written as one line for a shell.
	Line bool `json:"line,omitzero"`
	// Timeout is how long it may take; 0 means the default.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Wrap is put in front of the command, such as a sandbox.
	Wrap []string `json:"wrap,omitzero"`
	// Env names further environment variables that it gets.
	Env []string `json:"env,omitzero"`
}

// Equal reports whether two checks are the same; nil is none.
func (c *Check) Equal(o *Check) bool {
	if c == nil || o == nil {
		return c == o
	}
	return slices.Equal(c.Command, o.Command) && c.Line == o.Line && c.Timeout == o.Timeout &&
		slices.Equal(c.Wrap, o.Wrap) && slices.Equal(c.Env, o.Env)
}

// Lines describes the check for people, one line per setting, as its file would have it.
func (c *Check) Lines() []string {
	var out []string
	if c.Line {
		out = append(out, fmt.Sprintf("command = %q", c.Command[0]))
	} else {
		out = append(out, "command = "+tomlList(c.Command))
	}
	if c.Timeout > 0 {
		out = append(out, fmt.Sprintf("timeout = %q", c.Timeout))
	}
	if len(c.Wrap) > 0 {
		out = append(out, "wrap = "+tomlList(c.Wrap))
	}
	if len(c.Env) > 0 {
		out = append(out, "env = "+tomlList(c.Env))
	}
	return out
}

func tomlList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// maxCheck bounds the texts of a check.
const maxCheck = 4096

// readCheck reads the section [check].
func readCheck(v any) (*Check, error) {
	section, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("wrong type: want a section with a command, got %.100q", fmt.Sprint(v))
	}
	c := &Check{}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		var err error
		switch name {
		case "command":
			if line, ok := section[name].(string); ok {
				c.Command, c.Line = []string{strings.TrimSpace(line)}, true
			} else {
				err = setWords(&c.Command, section[name])
			}
		case "timeout":
			err = setDuration(&c.Timeout, section[name])
		case "wrap":
			err = setWords(&c.Wrap, section[name])
		case "env":
			err = setList(&c.Env, section[name])
		default:
			return nil, fmt.Errorf("%.100q: there is no such key", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, errors.New("command is missing")
	}
	for _, s := range slices.Concat(c.Command, c.Wrap, c.Env) {
		if len(s) > maxCheck || strings.ContainsRune(s, 0) {
			return nil, fmt.Errorf("too long: want at most %d bytes", maxCheck)
		}
	}
	return c, nil
}
