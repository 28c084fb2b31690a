package land

import (
	"cmp"
	"context"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// maxSharing is how many moves of the target, since some work landed, are looked at for tasks with the same work.
const maxSharing = 200

// sharing returns the other tasks whose work the target had already when they landed, because another task had landed just that with a
// commit: taking that back takes out theirs, too. before is the commit of the target before it.
func (t *target) sharing(ctx context.Context, b intentBoard, id board.ID, before, landed string) (list []board.ID, err error) {
	intents, err := b.Intents(ctx, board.IntentFilter{Project: id.Project, State: board.IntentLanded, Limit: maxSharing})
	if err != nil {
		return nil, err
	}
	gone, err := t.repo.ChangedTo(ctx, before, landed)
	if err != nil {
		return nil, err
	}
	for _, i := range onBranch(intents, t.at) { // the newest first
		own := map[string]bool{} // the tasks with a commit of their own
		if i.Old != i.New && len(i.Items) > 1 {
			log, err := t.repo.Log(ctx, i.Old, i.New, taskTrailer)
			if err != nil {
				return nil, err
			}
			for _, c := range log {
				for _, task := range c.Values {
					own[task] = true
				}
			}
		}
		last := false
		for _, item := range i.Items {
			last = last || item.Task == id
			if item.Task == id || own[item.Task.String()] || i.Old != i.New && len(i.Items) == 1 || slices.Contains(list, item.Task) {
				continue
			}
			if same, err := t.sharesFile(ctx, item.Tip, before, gone); err != nil {
				return nil, err
			} else if same {
				list = append(list, item.Task)
			}
		}
		if last {
			break
		}
	}
	slices.SortFunc(list, func(a, b board.ID) int { return cmp.Compare(a.No, b.No) })
	return list, nil
}

// sharesFile reports whether work has changed a file to what would be taken out of the target.
func (t *target) sharesFile(ctx context.Context, tip, before string, gone map[string]string) (bool, error) {
	base, err := t.repo.MergeBase(ctx, before, tip)
	if err != nil {
		return false, nil // it is not in this clone
	}
	work, err := t.repo.ChangedTo(ctx, base, tip)
	for path, object := range work {
		if other, ok := gone[path]; ok && other == object {
			return true, err
		}
	}
	return false, err
}
