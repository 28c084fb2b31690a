package config

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
)

// A Trust is what a person has accepted of a repository's own configuration. It is
// stored outside the repository, and it is the accepted text that is in force, whatever
// the repository's file says later.
type Trust struct {
	// Repository is the directory that all worktrees of the repository share.
	Repository string `json:"repository"`
	// Project identifies the project, as projectID does: another one may be in its place later.
	Project string `json:"project,omitzero"`
	// Check is the accepted check, nil if none is.
	Check *Check `json:"check,omitzero"`
	// Setup is the accepted setup, nil if none is.
	Setup *Setup `json:"setup,omitzero"`
	// Filters are accepted commands of the clone's own configuration of git, as
	// git.Repo.Filters and RemoteCommands list them.
	Filters []string `json:"filters,omitzero"`
	// By and At are who accepted it, and when.
	By string    `json:"by,omitzero"`
	At time.Time `json:"at,omitzero"`

	path     string
	marks    [2]mark // of the project: acceptedCheck and ownCheck
	replaced bool    // what was accepted is about another project, which was at this path
}

// StateDir is the directory for what the program remembers about the user's work, empty
// if there is no place for it.
func StateDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bossman")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "bossman")
	}
	return ""
}

// readTrust reads what was accepted of a repository. Nothing is not an error.
func readTrust(getenv func(string) string, repository string) (*Trust, error) {
	dir := StateDir(getenv)
	if dir == "" || repository == "" {
		return &Trust{Repository: repository}, nil
	}
	path := filepath.Join(dir, "trust", hashName(repository)+".json")
	t, err := readTrustFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Trust{Repository: repository, path: path}, nil
	}
	if err == nil && t.Repository != repository {
		err = fmt.Errorf("%q is about %q", path, t.Repository)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was trusted: %w", err)
	}
	if t.Project == "" || t.Project != projectID(repository) {
		return &Trust{Repository: repository, path: path, replaced: true}, nil
	}
	return t, nil
}

// projectID tells a project of which something was accepted from another one that is at its path
// later: by a random text that was written into it then. An archive of it may have that text, and
// outside git this is how projects are passed on, so there the directory itself counts, too.
func projectID(repository string) string {
	dir, inGit := ownDir(repository)
	text, _ := readPlain(filepath.Join(dir, acceptedID), maxPath)
	id := strings.TrimSpace(string(text))
	if !inGit {
		id += " " + directoryID(dir)
	}
	return id
}

// acceptedID is the file with the random text.
const acceptedID = "accepted"

// ownDir is where Bossman keeps files of a project, and whether that is in git.
func ownDir(repository string) (dir string, inGit bool) {
	if _, ok := git.Main(repository); ok {
		return filepath.Join(repository, "bossman"), true
	}
	return filepath.Join(repository, ".bossman"), false
}

func readTrustFile(path string) (*Trust, error) {
	text, err := readOwn(path)
	if err != nil {
		return nil, err
	}
	t := &Trust{}
	if err := json.Unmarshal(text, t, jsonv1.FormatDurationAsNano(true)); err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	t.path = path
	return t, nil
}

// Accept stores the check as accepted; nil withdraws what was accepted.
func (t *Trust) Accept(c *Check, by string, at time.Time) error {
	if t.path == "" {
		return errors.New("there is no place to remember it: set HOME or XDG_STATE_HOME")
	}
	t.Check, t.By, t.At = c, by, at.UTC()
	dir, _ := ownDir(t.Repository)
	if err := keepFile(filepath.Join(dir, acceptedID), rand.Text()+"\n"); err != nil {
		return err
	}
	t.Project, t.replaced = projectID(t.Repository), false
	text, err := json.Marshal(t, jsontext.WithIndent("  "), jsonv1.FormatDurationAsNano(true))
	if err != nil {
		return err
	}
	if err := replaceFile(t.path, string(text)+"\n"); err != nil {
		return err
	}
	if c == nil {
		for _, m := range t.marks {
			m.remove()
		}
		return nil
	}
	return t.marks[0].write(trustName(t.path))
}

// trustName is the name of a Trust's file, which says which repository it is about.
func trustName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".json") }

// Accepts reports whether a filter of the clone's own configuration of git may run.
func (t *Trust) Accepts(filter string) bool { return slices.Contains(t.Filters, filter) }

// moved returns what was accepted of this repository when it was elsewhere, nil if nothing
// was: it was moved or copied. It is not in force, because anybody can write a mark into an
// archive, and a person has to say so again.
func (t *Trust) moved() *Trust {
	name := t.marks[0].read()
	if name == "" || t.path == "" || name == trustName(t.path) {
		return nil
	}
	old, err := readTrustFile(filepath.Join(filepath.Dir(t.path), name+".json"))
	if err != nil || old.Check == nil {
		return nil
	}
	return old
}

// A CheckState is where the check of a project stands.
type CheckState struct {
	// InForce is the check that decides whether work is done, nil if there is none.
	InForce *Check
	// Origin is where it comes from: the user's file, or "accepted by …".
	Origin string
	// Proposed is the check in the project's file, if it is not the accepted one. File
	// is that file.
	Proposed *Check
	File     string
	// NewSetup is the setup in the project's file, if it is not the accepted one. NoSetup is set
	// if that file has none any more, and the accepted one still runs.
	NewSetup *Setup
	NoSetup  bool
	// Withdrawn is set if the project's file has no check any more, and the accepted one
	// is still in force.
	Withdrawn bool
	// Broken is why the project's file cannot be read, while a check is accepted.
	Broken error
	// Trust is what a person accepted of this repository, and Moved what was accepted when
	// it was in another place, if nothing is here.
	Trust, Moved *Trust
	// Unseen says that the project is marked for a check of which this process sees nothing.
	// Without it, a client that does not pass XDG_STATE_HOME or XDG_CONFIG_HOME on would run
	// no check, and nobody would know.
	Unseen error
}

// Check reads which check is in force in the board's project. It reads the files again, so
// a person's decision holds at once in a process that runs.
func (s *Settings) Check() (CheckState, error) {
	if s.noBoard != nil {
		return s.checkIn(Location{})
	}
	return s.checkIn(s.location)
}

// CheckAt reads which check is in force for work in a directory: that of the project where
// the work is. It is an error if the board belongs to another project that has a check of its
// own: that one is for other files, and an agent could avoid it by working elsewhere.
func (s *Settings) CheckAt(dir string) (CheckState, error) { return s.checkAt(dir, true) }

// CheckOutside is CheckAt for a directory that was in no repository when the process started. One
// that was made since does not count.
func (s *Settings) CheckOutside(dir string) (CheckState, error) { return s.checkAt(dir, false) }

func (s *Settings) checkAt(dir string, inGit bool) (CheckState, error) {
	at, err := locateAs(dir, "the directory of the work", s.getenv("HOME"), inGit)
	if _, none := errors.AsType[*NoBoardError](err); err != nil && !none {
		return CheckState{}, err
	}
	if s.location.Root != "" && at.Repository != s.location.Repository {
		own, err := s.Check()
		if err != nil {
			return CheckState{}, err
		}
		if own.Unseen != nil {
			return CheckState{}, own.Unseen
		}
		if own.Proposed != nil || own.Trust.Check != nil {
			return CheckState{}, console.Errorf(console.Denied, fmt.Sprintf("work in a worktree of %q, and report from there", s.location.Root),
				"the board belongs to %q, whose check is not for work in another repository, %q", s.location.Root, dir)
		}
	}
	state, err := s.checkIn(at)
	if err == nil && state.Unseen != nil {
		return CheckState{}, state.Unseen
	}
	if err == nil && state.Moved != nil {
		return CheckState{}, console.Errorf(console.Denied, "a person runs bossman trust there, to accept it again, or bossman trust --revoke",
			"a check was accepted for this repository when it was %q, and it is %q now", state.Moved.Repository, at.Repository)
	}
	return state, err
}

// checkIn reads which check is in force in a project. The zero Location is none.
func (s *Settings) checkIn(at Location) (CheckState, error) {
	file := userFile(s.getenv)
	fresh, err := userSettings(s.getenv)
	if err != nil {
		return CheckState{}, err
	}
	state := CheckState{InForce: fresh.check, Origin: fresh.Origin["check"]}
	if at.Root == "" {
		state.Trust = &Trust{}
		return state, nil
	}
	if state.Trust, err = readTrust(s.getenv, at.Repository); err != nil {
		return CheckState{}, err
	}
	state.Trust.marks = [...]mark{at.mark(acceptedCheck), at.mark(ownCheck)}
	if fresh.check != nil {
		s.markOwn(at)
	}
	if state.Trust.Check == nil {
		state.Moved = state.Trust.moved()
		state.Unseen = s.unseen(at, state, file)
	}
	state.File = projectFile(at.Root)
	project := newSettings()
	broken := project.readFile(state.File, true)
	accepted, err := s.accepted(at, state.Trust)
	if err != nil {
		return CheckState{}, err
	}
	if accepted.Check != nil {
		state.InForce, state.Origin = accepted.Check, "accepted by "+accepted.By
		if accepted != state.Trust {
			state.Origin += " in " + accepted.Repository
		}
	}
	if broken == nil && !project.setup.Equal(state.Trust.Setup) {
		state.NewSetup, state.NoSetup = project.setup, project.setup == nil
	}
	switch {
	case broken != nil && accepted.Check == nil:
		return CheckState{}, broken
	case broken != nil: // an agent that breaks the file changes nothing
		state.Broken = broken
	case project.proposed == nil && state.Moved != nil:
		state.Proposed, state.File = state.Moved.Check, state.Moved.path
	case project.proposed == nil:
		state.Withdrawn = state.Trust.Check != nil
	case !project.proposed.Equal(accepted.Check):
		state.Proposed = project.proposed
	}
	return state, nil
}

// unseen is the error for a project that is marked for a check, if this process sees none. file is
// the user's own. It does not say where the check would be, because only the mark could know.
func (s *Settings) unseen(at Location, state CheckState, file string) error {
	const unset = "no place: neither HOME nor XDG_%s_HOME is set"
	switch {
	case state.Trust.replaced && state.Moved == nil && state.Trust.marks[0].read() != "":
		return console.Errorf(console.Denied, "a person runs bossman trust, to accept it again, or bossman trust --revoke",
			"a check was accepted for another project that was at %q, or for this one before it was copied or restored, or by an older version", at.Root)
	case state.Moved == nil && state.Trust.marks[0].read() != "":
		return console.Errorf(console.Denied,
			"a person sets XDG_STATE_HOME for this client as in the shell where they ran bossman trust; if they have accepted nothing here, bossman trust --revoke removes the mark",
			"a mark in this project says that a check was accepted for it, and this process finds none in %q", cmp.Or(StateDir(s.getenv), fmt.Sprintf(unset, "STATE")))
	case state.InForce == nil && checkElsewhere(at, file):
		return console.Errorf(console.Denied,
			"a person sets XDG_CONFIG_HOME for this client as in their own shell; if they have no check in a file of their own, bossman trust --revoke removes the mark",
			"a mark in this project says that its work is judged by the check in a person's own file, and this process reads %q, which has none", cmp.Or(file, fmt.Sprintf(unset, "CONFIG")))
	}
	return nil
}

// accepted returns what was accepted for work at a place: of its own repository, else of the
// clone whose board it uses, so that no check is avoided by working in another clone.
func (s *Settings) accepted(at Location, own *Trust) (*Trust, error) {
	if own.Check != nil || at.repo == nil {
		return own, nil
	}
	target, err := s.readLink(at.repo.Common)
	if err != nil || target == "" {
		return own, err
	}
	shared, err := readTrust(s.getenv, target)
	if err != nil || shared.Check == nil {
		return own, err
	}
	return shared, nil
}

// ShownCheck is the check that is in force, and where it comes from; empty if there is none.
func (s *Settings) ShownCheck() (check, from string) {
	state, err := s.Check()
	switch {
	case err != nil:
		return "", ""
	case state.InForce != nil:
		return strings.Join(state.InForce.Lines(), ", "), state.Origin
	case state.Proposed != nil:
		return "(not accepted: bossman trust)", state.File
	}
	return "", ""
}
