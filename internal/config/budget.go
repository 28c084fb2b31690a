package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// A Budget is the section [budget] of the configuration files: what agents may cost, in US dollars.
// 0 is no limit.
type Budget struct {
	// Task is what an attempt at a task may cost, Day what all runs of the project may cost on a day
	// in UTC.
	Task, Day float64
}

// setBudget takes the section [budget]. A project's file may lower what the user's own says, and not
// raise it: a clone does not decide what its user spends.
func (s *Settings) setBudget(path string, v any, inProject bool) error {
	section, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("wrong type: want a section with task or day, got %.100q", fmt.Sprint(v))
	}
	var first error
	for _, name := range slices.Sorted(maps.Keys(section)) {
		to := map[string]*float64{"task": &s.Budget.Task, "day": &s.Budget.Day}[name]
		if to == nil {
			s.Ignored = append(s.Ignored, fmt.Sprintf("%.80q in [budget] of %q: there is no such key", name, path))
			continue
		}
		sum, err := dollars(section[name])
		switch {
		case err != nil && first == nil:
			first = fmt.Errorf("%s: %w", name, err)
		case err != nil:
		case inProject && *to > 0 && sum > *to:
			s.Ignored = append(s.Ignored, fmt.Sprintf("%s in [budget] of %q: a project's file may lower what your own says, not raise it", name, path))
		default:
			*to = sum
			s.Origin["budget."+name] = path
		}
	}
	return first
}

// dollars reads a sum of money.
func dollars(v any) (sum float64, err error) {
	switch v := v.(type) {
	case float64:
		sum = v
	case int64:
		sum = float64(v)
	default:
		return 0, fmt.Errorf("wrong type: want a number of dollars, got %.100q", fmt.Sprint(v))
	}
	if !(sum > 0) || sum > maxDollars {
		return 0, errors.New("want a number of dollars above 0, such as 5 or 2.50, and at most " + strconv.Itoa(maxDollars))
	}
	return math.Ceil(sum*1e6) / 1e6, nil
}

// maxDollars bounds a budget.
const maxDollars = 1_000_000_000
