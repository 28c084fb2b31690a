package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Review is the section [review] of the configuration files: what those who review work are shown.
type Review struct {
	// NoDiff keeps what was changed off the board: a report does not bring it along.
	NoDiff bool
}

// setReview takes the section [review]. Whichever file keeps diffs off the board, it holds.
func (s *Settings) setReview(path string, v any) error {
	section, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("wrong type: want a section with diff, got %.100q", fmt.Sprint(v))
	}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		if name != "diff" {
			s.Ignored = append(s.Ignored, fmt.Sprintf("%.80q in [review] of %q: there is no such key", name, path))
			continue
		}
		diff, ok := section[name].(bool)
		if !ok {
			return errors.New("diff: want true or false")
		}
		if !s.Review.NoDiff {
			s.Review.NoDiff, s.Origin["review.diff"] = !diff, path
		}
	}
	return nil
}
