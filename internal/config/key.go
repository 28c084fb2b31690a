package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// A Key is one setting.
type Key struct {
	Name string
	// Env is the variable that sets it, empty if there is none.
	Env string
	// inProject is set if a project's file may set it: a file that comes with a repository
	// must not run anything.
	inProject bool
	// runs is set for a command. It is ignored in a file that everybody may write.
	runs bool
	set  func(s *Settings, v any) error
	get  func(s *Settings) any
}

// Keys are all settings, in the order in which people are shown them.
func Keys() []Key { return slices.Clone(keys) }

// Value is the value of a key in s, without passwords.
func (k Key) Value(s *Settings) any { return k.get(s) }

var keys = []Key{
	{
		Name: "board", Env: "BOSSMAN_BOARD", inProject: true,
		set: func(s *Settings, v any) error { return setText(&s.Board, v) },
		get: func(s *Settings) any { return s.Board },
	},
	{
		Name: "db", Env: "BOSSMAN_DB",
		set: func(s *Settings, v any) error { return setSecret(&s.DB, v) },
		get: func(s *Settings) any { return HidePassword(s.DB) },
	},
	{
		Name: "project", Env: "BOSSMAN_PROJECT", inProject: true,
		set: func(s *Settings, v any) error {
			var slug string
			if err := setText(&slug, v); err != nil {
				return err
			}
			slug = strings.ToLower(slug)
			if slug != "" && !board.ValidSlug(slug) {
				return fmt.Errorf("%q cannot be a project's name: a lower-case letter, then at most 15 letters and digits", slug)
			}
			s.Project = slug
			return nil
		},
		get: func(s *Settings) any { return s.Project },
	},
	{
		Name: "policy", Env: "BOSSMAN_POLICY", inProject: true,
		set: func(s *Settings, v any) error {
			var policy string
			if err := setText(&policy, v); err != nil {
				return err
			}
			if !slices.Contains(board.Policies, board.Policy(policy)) {
				return fmt.Errorf("invalid policy %q: want evidence, trust, review or person", policy)
			}
			s.Policy = policy
			return nil
		},
		get: func(s *Settings) any { return s.Policy },
	},
	{
		Name: "areas", Env: "BOSSMAN_AREAS", inProject: true,
		set: func(s *Settings, v any) error { return setLines(&s.Areas, v) },
		get: func(s *Settings) any { return s.Areas },
	},
	{
		Name: "skills", Env: "BOSSMAN_SKILLS", inProject: true,
		set: func(s *Settings, v any) error { return setLines(&s.Skills, v) },
		get: func(s *Settings) any { return s.Skills },
	},
	{
		Name: "lease", Env: "BOSSMAN_LEASE", inProject: true,
		set: func(s *Settings, v any) error { return setDuration(&s.Lease, v) },
		get: func(s *Settings) any {
			if s.Lease == 0 {
				return ""
			}
			return s.Lease.String()
		},
	},
	{
		Name: "notify", runs: true,
		set: func(s *Settings, v any) error { return setWords(&s.Notify, v) },
		get: func(s *Settings) any { return s.Notify },
	},
}

// setLines is setList for texts that are printed among our own words.
func setLines(to *[]string, v any) error {
	if err := setList(to, v); err != nil {
		return err
	}
	for _, s := range *to {
		if console.OneLine(s) != s {
			return fmt.Errorf("%.100q is not a name: it has line breaks or hidden characters", s)
		}
	}
	return nil
}

func setText(to *string, v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("wrong type: want string, got %.100q", fmt.Sprint(v))
	}
	*to = strings.TrimSpace(text)
	return nil
}

// setSecret takes a text, and does not repeat what is none.
func setSecret(to *auth.Secret, v any) error {
	if _, ok := v.(string); !ok {
		return errors.New("wrong type: want string")
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
		return fmt.Errorf("wrong type: want list of strings, got %.100q", fmt.Sprint(v))
	}
	*to = nil
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return fmt.Errorf("wrong type: want string, got %.100q", fmt.Sprint(item))
		}
		*to = append(*to, text)
	}
	return nil
}

func setDuration(to *time.Duration, v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf(`wrong type: want a duration such as "10m", got %.100q`, fmt.Sprint(v))
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 24*time.Hour {
		return fmt.Errorf(`invalid duration %q: want one such as "10m", at most 24h`, text)
	}
	*to = d
	return nil
}
