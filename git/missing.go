package git

import (
	"context"
	"maps"
	"slices"
)

// missing returns the files of a candidate that are otherwise in the tree of its merge than what it was shown to change would make them, on
// top of the target, whatever history says: the target had that in another form, and has taken it out since. Files are not among them that
// both have changed at the same place, and those that the other form never changed either.
func (m *merger) missing(ctx context.Context, c Candidate, had []string, tree string) (paths []string, err error) {
	if c.Shown == "" || c.Target == "" {
		return nil, nil
	}
	if len(had) == 0 && c.Base == "" {
		if c.Base, err = m.MergeBase(ctx, c.Target, c.Tip); err != nil {
			return nil, nil // the merge itself says why
		}
	}
	if len(had) == 0 && c.Base == c.Shown { // then it was merged just so
		return nil, nil
	}
	root, err := m.graft(ctx, c.Shown)
	if err != nil {
		return nil, err
	}
	ours, err := m.graft(ctx, c.Target, root)
	if err != nil {
		return nil, err
	}
	theirs, err := m.graft(ctx, c.Tip, root)
	if err != nil {
		return nil, err
	}
	plain, conflicts, err := m.merge(ctx, ours, theirs)
	if err != nil || plain == tree {
		return nil, err
	}
	differ, err := m.ChangedTo(ctx, plain, tree)
	if err != nil {
		return nil, err
	}
	shown, err := m.ChangedTo(ctx, c.Shown, c.Tip)
	if err != nil {
		return nil, err
	}
	var pairs [][2]string
	for _, path := range slices.Sorted(maps.Keys(differ)) {
		if tip, ok := shown[path]; !ok || tip == differ[path] || slices.Contains(conflicts, path) {
			continue
		}
		paths = append(paths, path)
		for _, in := range append([]string{c.Shown}, had...) {
			pairs = append(pairs, [2]string{in, path})
		}
	}
	if len(paths) == 0 || len(had) == 0 {
		return paths, nil
	}
	objects, err := m.Objects(ctx, pairs)
	if err != nil {
		return nil, err
	}
	n := 0
	return slices.DeleteFunc(paths, func(string) bool {
		o := objects[n : n+1+len(had)]
		n += 1 + len(had)
		return !slices.ContainsFunc(o[1:], func(object string) bool { return object != o[0] })
	}), nil
}
