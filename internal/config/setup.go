package config

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Setup is what the section [work] of a project's file says about a worktree in which an agent is
// going to work: the command that prepares it.
type Setup struct {
	// Command is the program and its arguments.
	Command []string `json:"command"`
	// Line is set if the command was written as one line for a shell.
	Line bool `json:"line,omitzero"`
	// When are the paths, relative to the top of the repository, whose changes make it run again.
	When []string `json:"when,omitzero"`
}

// Equal reports whether two setups are the same; nil is none.
func (s *Setup) Equal(o *Setup) bool {
	if s == nil || o == nil {
		return s == o
	}
	return slices.Equal(s.Command, o.Command) && s.Line == o.Line && slices.Equal(s.When, o.When)
}

// Lines describes the setup for people, one line per setting, as its file would have it; nil has none.
func (s *Setup) Lines() []string {
	if s == nil {
		return nil
	}
	out := []string{"setup = " + tomlList(s.Command)}
	if s.Line {
		out[0] = fmt.Sprintf("setup = %q", s.Command[0])
	}
	if len(s.When) > 0 {
		out = append(out, "setup_when = "+tomlList(s.When))
	}
	return out
}

// maxWhen bounds how many paths a setup has.
const maxWhen = 100

// readSetup reads the section [work] of a project's file.
func readSetup(v any) (*Setup, error) {
	section, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("wrong type: want a section with a setup, got %.100q", fmt.Sprint(v))
	}
	s := &Setup{}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		var err error
		switch name {
		case "setup":
			if line, ok := section[name].(string); ok {
				s.Command, s.Line = []string{strings.TrimSpace(line)}, true
			} else {
				err = setWords(&s.Command, section[name])
			}
		case "setup_when":
			err = setWords(&s.When, section[name])
		default:
			return nil, fmt.Errorf("%.100q: there is no such key", name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		return nil, errors.New("setup is missing")
	}
	if len(s.When) > maxWhen {
		return nil, fmt.Errorf("setup_when: want at most %d paths", maxWhen)
	}
	for _, text := range slices.Concat(s.Command, s.When) {
		if len(text) > maxCheck || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("too long: want at most %d bytes", maxCheck)
		}
	}
	for i, p := range s.When {
		if s.When[i] = path.Clean(p); !filepath.IsLocal(p) || s.When[i] == "." {
			return nil, fmt.Errorf("setup_when: %.100q is no path in the repository", p)
		}
	}
	return s, nil
}

// SetupAt returns the setup that a person has accepted for the project of a directory: the words of
// its command, none if there is no setup, and the paths whose changes make it run again. The files are
// read again each time. untrusted is set if the project's file has another one.
func (s *Settings) SetupAt(dir string) (command, when []string, untrusted bool, err error) {
	at, err := locate(dir, "the directory of the work", s.getenv("HOME"))
	if _, none := errors.AsType[*NoBoardError](err); none {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	trust, err := readTrust(s.getenv, at.Repository)
	if err != nil {
		return nil, nil, false, err
	}
	project := newSettings()
	broken := project.readFile(projectFile(at.Root), true) // an agent that breaks the file changes nothing
	untrusted = broken == nil && project.setup != nil && !project.setup.Equal(trust.Setup)
	if trust.Setup == nil {
		return nil, nil, untrusted, nil
	}
	command = trust.Setup.Command
	if trust.Setup.Line {
		command = []string{"sh", "-c", command[0]}
	}
	return command, trust.Setup.When, untrusted, nil
}
