package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Land is the section [land] of the configuration files: how work is landed.
type Land struct {
	// Style is squash, rebase or merge.
	Style string
	// Batch is how many tasks land at once, at most.
	Batch int
	// Checkout is update, or leave if a checkout of the target is not touched.
	Checkout string
	// CloseIssues: the issue of a task is closed when its work has landed.
	CloseIssues bool
}

const (
	defaultBatch = 8
	maxBatch     = 100
	leave        = "leave"
)

// defaultLand is what holds if no file says anything.
var defaultLand = Land{Style: "squash", Batch: defaultBatch, Checkout: "update"}

// setLand takes the section [land]. If the user's own file says that a checkout is to be left alone,
// a project's file cannot change that.
func (s *Settings) setLand(path string, v any, inProject bool) error {
	section, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("wrong type: want a section with style, batch, checkout or close_issues, got %.100q", fmt.Sprint(v))
	}
	var first error
	for _, name := range slices.Sorted(maps.Keys(section)) {
		var err error
		switch name {
		case "style":
			err = oneOf(&s.Land.Style, section[name], "squash", "rebase", "merge")
		case "batch":
			n, ok := section[name].(int64)
			if !ok || n < 1 || n > maxBatch {
				err = fmt.Errorf("want a number from 1 to %d", maxBatch)
				break
			}
			s.Land.Batch = int(n)
		case "checkout":
			if inProject && s.Land.Checkout == leave && section[name] != leave {
				s.Ignored = append(s.Ignored, fmt.Sprintf("checkout in [land] of %q: your own file says that it is left alone", path))
				continue
			}
			err = oneOf(&s.Land.Checkout, section[name], "update", leave)
		case "close_issues":
			if s.Land.CloseIssues, ok = section[name].(bool); !ok {
				err = errors.New("want true or false")
			}
		default:
			s.Ignored = append(s.Ignored, fmt.Sprintf("%.80q in [land] of %q: there is no such key", name, path))
			continue
		}
		if err == nil {
			s.Origin["land."+name] = path
		} else if first == nil {
			first = fmt.Errorf("%s: %w", name, err)
		}
	}
	return first
}

// oneOf takes a value that is one of some words.
func oneOf(to *string, v any, words ...string) error {
	text, ok := v.(string)
	if !ok || !slices.Contains(words, text) {
		return errors.New("want one of " + tomlList(words))
	}
	*to = text
	return nil
}

// Leaves reports whether a checkout of the target is left alone.
func (l Land) Leaves() bool { return l.Checkout == leave }
